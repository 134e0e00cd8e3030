// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim trace check FILE RULES.toml`.
#pragma once

#include <ostream>

#include "base/command_line/command_line.h"

namespace spyre::trace {

// Adds the command to `trace`; its result goes to `out`, which must outlive the tree. The exit
// status is 0 if all rules are kept and 1 if not. Throws Error for a bad file.
void AddCheckCommand(command_line::Command& trace, std::ostream& out);

}  // namespace spyre::trace
