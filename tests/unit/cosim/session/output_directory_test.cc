// SPDX-License-Identifier: Apache-2.0
// The directory of a run: one run at a time, and nothing is lost that no run wrote.
#include "cosim/session/output_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"

namespace spyre::cosim::output_directory_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Scratch(const std::string& name) {
  const std::string path = fmt::format("out/tmp/output_directory_test_{}_{}", getpid(), name);
  fs::remove_all(path);
  return path;
}

TEST(OutputDirectory, ASecondRunIsRefusedUntilTheFirstHasEnded) {
  const std::string path = Scratch("lock");
  {
    const OutputDirectory first(path);
    try {
      const OutputDirectory second(path);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      EXPECT_THAT(error.what(), HasSubstr("another run"));
    }
  }
  EXPECT_NO_THROW(const OutputDirectory third(path));
}

TEST(OutputDirectory, ClearsWhatAnEarlierRunLeftAndNothingElse) {
  const std::string path = Scratch("clear");
  const OutputDirectory directory(path);
  fs::create_directories(path + "/spyrecode/kernel");
  for (const char* name : {"report.json", "notes.txt", "spyrecode/init_binary.bin",
                           "spyrecode/kernel/hcm.json", "spyrecode/mine.txt"})
    WriteFile(path + "/" + name, "x", "text");
  directory.Clear({"report.json", "spyrecode"}, {});
  EXPECT_FALSE(fs::exists(path + "/report.json"));
  EXPECT_FALSE(fs::exists(path + "/spyrecode/init_binary.bin"));
  EXPECT_FALSE(fs::exists(path + "/spyrecode/kernel"));
  EXPECT_TRUE(fs::exists(path + "/notes.txt"));
  EXPECT_TRUE(fs::exists(path + "/spyrecode/mine.txt"));
}

TEST(OutputDirectory, RefusesToRemoveItsOwnInput) {
  const std::string path = Scratch("input");
  const OutputDirectory directory(path);
  fs::create_directories(path + "/spyrecode");
  WriteFile(path + "/a.npy", "x", "text");
  WriteFile(path + "/report.json", "x", "text");
  EXPECT_THROW(directory.Clear({"report.json", "a.npy"}, {path + "/./a.npy"}), Error);
  EXPECT_TRUE(fs::exists(path + "/report.json")) << "refused before anything is removed";
  EXPECT_THROW(directory.Clear({"spyrecode"}, {path + "/spyrecode"}), Error);
  EXPECT_TRUE(fs::exists(path + "/a.npy"));
}

}  // namespace
}  // namespace spyre::cosim::output_directory_test
