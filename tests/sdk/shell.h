// SPDX-License-Identifier: Apache-2.0
// Programs as a shell calls them: what they print, on both streams, and their exit status.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace spyre::sdk_test {

struct Output {
  int status = 0;
  std::string text;
};

inline Output Shell(const std::string& command) {
  Output output;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) output.text += buffer.data();
  output.status = WEXITSTATUS(pclose(pipe));
  return output;
}

}  // namespace spyre::sdk_test
