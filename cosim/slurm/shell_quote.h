// SPDX-License-Identifier: Apache-2.0
// Words of a command line of bash. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

namespace spyre::cosim {

// One word that bash reads as exactly this text, on one line whatever is in it. Words of letters,
// digits and a few harmless signs stay as they are.
std::string ShellQuote(const std::string& text);

// Several words, quoted, with a space between two of them.
std::string ShellLine(const std::vector<std::string>& words);

}  // namespace spyre::cosim
