// SPDX-License-Identifier: Apache-2.0
// What a kernel keeps in the scratchpads of its cores (LX), and during which of its steps: buffers
// that tiles pass through, and tensors that stay from step to step. For reports. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::compiler {

// A part of LX with something in it, on every one of `cores`. Uses may overlap: a step's result can
// take the place of an operand that dies there.
struct LxUse {
  std::string name;  // "a", "sums"; of what stays: the step that writes it, "sdsc_0.json exp"
  uint64_t address = 0;
  uint64_t bytes = 0;
  int first_step = 0, last_step = 0;  // both included; a kernel without steps is one step
  uint32_t cores = 0;                 // bit c: core c
};

// Of one kernel, in order of its steps and, within a step, of the addresses as they were given out.
struct KernelLx {
  std::vector<std::string> steps;  // their names, empty for a kernel without steps
  std::vector<LxUse> uses;
};

}  // namespace spyre::compiler
