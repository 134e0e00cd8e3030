// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim opt`: one compiler pass over JSON lines, or passes of the front end over a graph.
// docs/compiler-passes.md has the passes. Single thread. Errors: Error(kBadInput) for the pass's
// name and the file, and for a graph that a pass refuses; a wrong line is answered with an error
// object in its place.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

struct OptOptions {
  std::string pass;
  std::string file = "-";  // "-": standard input
};

void AddOptCommand(command_line::Command& root);

// Writes one line for each line of input that is not blank; of passes over a graph that is written
// over several lines, the graph as lines for people. Returns the exit status.
int RunOptCommand(const OptOptions& options, std::istream& standard_input, std::ostream& out);

}  // namespace spyre::cosim
