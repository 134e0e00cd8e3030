// SPDX-License-Identifier: Apache-2.0
// What the compiler had to say, for the user's eyes. Any thread.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace spyre::cosim {

// One line each on standard error, which belongs to messages: standard output may be data.
inline void PrintWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& line : warnings) std::fprintf(stderr, "spyre-cosim: %s\n", line.c_str());
}

}  // namespace spyre::cosim
