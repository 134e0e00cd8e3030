// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim completion` and `spyre-cosim man`: what a shell and man(1) want to know about the
// command line, and --version. Pure functions of the declaration.
#pragma once

#include <string>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

// What --version prints.
std::string VersionText();

// The scripts are of all commands of `root`, also of those that are added later.
void AddShellCommands(command_line::Command& root);

}  // namespace spyre::cosim
