// SPDX-License-Identifier: Apache-2.0
// Generators of sources, run as the build runs them. A broken specification says in its first line
// what the message must contain.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace spyre::test {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string message;
};

inline Outcome RunGenerator(const std::string& script, const fs::path& specification,
                            const fs::path& out) {
  const std::string command = "'" SPYRE_PYTHON "' -B -W error '" + script + "' '" +
                              specification.string() + "' '" + out.string() + "' 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 256> buffer{};
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) outcome.message += buffer.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

// A directory of the test's own, gone at its end.
class OutputDirectory {
 public:
  OutputDirectory() {
    std::string pattern = (fs::temp_directory_path() / "generator_XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~OutputDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Names without their extension.
inline std::vector<std::string> SpecificationsIn(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline void ExpectRefused(const std::string& script, const fs::path& specification) {
  std::ifstream file(specification);
  std::string first;
  std::getline(file, first);
  const std::string marker = "# expect: ";
  ASSERT_EQ(first.rfind(marker, 0), 0u) << specification << " must begin with '" << marker << "'";
  const std::string expected = first.substr(marker.size());

  const OutputDirectory out;
  const Outcome outcome = RunGenerator(script, specification, out.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.message.find(expected), std::string::npos)
      << "expected: " << expected << "\nmessage: " << outcome.message;
  EXPECT_TRUE(fs::is_empty(out.path()));
}

}  // namespace spyre::test
