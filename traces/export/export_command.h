// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim trace export`.
#pragma once

#include <ostream>

#include "base/command_line/command_line.h"

namespace spyre::trace {

// Adds the command to `trace`. Results go to the file that -o names, or beside the trace; `out`,
// which must outlive the tree, gets their paths, or for "-o -" the result. Throws Error for a bad
// file.
void AddExportCommand(command_line::Command& trace, std::ostream& out);

}  // namespace spyre::trace
