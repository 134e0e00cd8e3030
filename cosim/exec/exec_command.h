// SPDX-License-Identifier: Apache-2.0
// The command `exec`: a program of PyTorch, as it is, on the modelled card (docs/torch.md). Main
// thread. Errors: Error(kBadInput).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

// What the commands of the program have in common, from where they are.
struct ExecHelpers {
  void (*add_sets)(command_line::Command& command, std::vector<std::string>& sets);
  // Throws Error(kBadInput) for a card that cannot be: before the program runs.
  void (*check)(const std::string& config, const std::vector<std::string>& sets);
  int wrong, fault;  // exit statuses of --strict
};
void AddExecCommand(command_line::Command& root, const ExecHelpers& helpers);

}  // namespace spyre::cosim
