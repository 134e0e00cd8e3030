// SPDX-License-Identifier: Apache-2.0
// main of every test program: ::testing::TempDir() is a directory of this process alone, so that
// the same tests may run twice at the same time on one machine.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "tests/registration.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  spyre::test::EnterParameterizedTests();
  std::string scratch = (std::filesystem::temp_directory_path() / "spyre_test_XXXXXX").string();
  if (mkdtemp(scratch.data()) == nullptr) {
    std::perror(scratch.c_str());
    return 1;
  }
  setenv("TEST_TMPDIR", (scratch + "/").c_str(), 1);
  const int result = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
  return result;
}
