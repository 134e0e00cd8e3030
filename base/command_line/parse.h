// SPDX-License-Identifier: Apache-2.0
// The words of a command line against its declaration. Single thread.
#pragma once

#include <string>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::command_line {

// What the words ask for: to run a command's action, to print its help, or to print the version.
struct Request {
  enum class Kind { kRun, kHelp, kVersion } kind;
  const Command* command;
};

// Stores the values that `words` (without the program's name) give. With --help and --version only
// the options of the root are stored, and nothing else needs to be there.
//
// Errors: Error(kBadInput), before anything is stored, for an unknown command or option (naming the
// nearest one), for what is missing, given twice or excluded, and for an argument that is empty;
// for a value of the wrong kind when the values before it are stored.
Request Parse(const Command& root, const std::vector<std::string>& words);

}  // namespace spyre::command_line
