// SPDX-License-Identifier: Apache-2.0
// What --help prints. Pure function, any thread.
#pragma once

#include <string>

#include "base/command_line/command_line.h"
#include "base/terminal.h"

namespace spyre::command_line {

std::string Help(const Command& command, const TextStyle& style = {});

// "spyre-cosim run CONFIG [OPTIONS]"
std::string UsageOf(const Command& command);
// "-o, --output FILE"; an argument: "FILE..."
std::string SynopsisOf(const Option& option);
// What it is for, with its choices and its default.
std::string DescriptionOf(const Option& option);

}  // namespace spyre::command_line
