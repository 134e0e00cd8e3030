// SPDX-License-Identifier: Apache-2.0
// `faults`: the kinds of fault that a configuration can declare, and what each should end in.
#pragma once

#include <string>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

// The table of docs/faults.md, in Markdown.
std::string FaultTable();

void AddFaultsCommand(command_line::Command& root);

}  // namespace spyre::cosim
