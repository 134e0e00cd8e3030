// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim opt`: one compiler pass over JSON lines. docs/compiler.md has the passes. Single
// thread. Errors: Error(kBadInput) for the pass's name and the file; a wrong line is answered with
// an error object in its place.
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

// Writes one line for each line of input that is not blank. Returns exit status 0.
int RunOptCommand(const OptOptions& options, std::istream& standard_input, std::ostream& out);

}  // namespace spyre::cosim
