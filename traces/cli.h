// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim trace report | summary | query | diff`; export/export_command.h has `export`.
#pragma once

#include <ostream>

#include "base/command_line/command_line.h"

namespace spyre::trace {

// Adds the commands to `trace`. Results go to `out`, which must outlive them, or to the file that
// -o names. An action returns the exit status: 0 done; `diff --exit-code` returns 1 when the runs
// differ. It throws Error for a bad file.
void AddTraceCommands(command_line::Command& trace, std::ostream& out);

}  // namespace spyre::trace
