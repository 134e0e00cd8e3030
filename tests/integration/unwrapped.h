// SPDX-License-Identifier: Apache-2.0
// What a program printed, as if no line of a paragraph had been broken: where that happens depends
// on the length of the paths that it names.
#pragma once

#include <string>

namespace spyre {

// A line that begins with spaces continues the one before.
inline std::string Unwrapped(const std::string& printed) {
  std::string text;
  for (size_t i = 0; i < printed.size(); ++i) {
    if (printed[i] != '\n' || i + 1 == printed.size() || printed[i + 1] != ' ') {
      text += printed[i];
      continue;
    }
    text += ' ';
    while (i + 1 < printed.size() && printed[i + 1] == ' ') ++i;
  }
  return text;
}

}  // namespace spyre
