// SPDX-License-Identifier: Apache-2.0
// What the launches of a program amount to: kernels by name, and copies. Pure functions; times in
// picoseconds, sizes in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/session/run_result.h"
#include "traces/path_causes.h"

namespace spyre::cosim {

// All launches of one name.
struct ProgramKernel {
  std::string name;
  uint64_t launches = 0;
  uint64_t device_ps = 0;
  uint64_t first_ps = 0;  // of its first launch, which a kept bundle repeats
  uint64_t macs = 0;
  uint64_t read = 0, written = 0;  // of device memory
  trace::PathTimes path{};         // the critical paths of all its launches
};
// In order of their first launch.
std::vector<ProgramKernel> KernelsOf(const RunResult& result);

struct ProgramCopies {
  uint64_t count = 0;
  uint64_t to_card = 0, from_card = 0;  // bytes
};
ProgramCopies CopiesOf(const RunResult& result);

}  // namespace spyre::cosim
