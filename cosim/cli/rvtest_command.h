// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim rvtest`: RISC-V test programs on the management controller alone. A program reports
// through the word at its symbol `tohost`: 1 is a pass, any other odd value the number of the
// failed test times two plus one, as the public riscv-tests do. Nothing is on the controller's bus.
// Single thread.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::cosim {

struct RvtestOptions {
  std::vector<std::string> files;
  uint64_t max_cycles = 10'000'000;  // per program
  bool json = false;
};

void AddRvtestCommand(command_line::Command& root);

// Runs and prints one line a program; returns the exit status: 0 if all passed, 1 if not. Before
// anything runs, throws Error(kBadInput) for a file that cannot be read or has no `tohost`,
// Error(kDeviceFault) for what is not an executable that fits the controller.
int RunRvtestCommand(const RvtestOptions& options, std::ostream& out);

}  // namespace spyre::cosim
