// SPDX-License-Identifier: Apache-2.0
// Options that several commands take, worded alike.
#pragma once

#include <string>
#include <vector>

#include "base/command_line/command_line.h"
#include "cosim/cli/run_command.h"

namespace spyre::cosim {

// --set KEY=VALUE; a shell offers the keys.
void AddSets(command_line::Command& command, std::vector<std::string>& sets);
// --shape: of a bundle.
void AddShapes(command_line::Command& command, BundleArguments& bundle);

}  // namespace spyre::cosim
