// SPDX-License-Identifier: Apache-2.0
// What the scratchpads of the cores (LX) held, over time: the buffers of each kernel's program
// (run_results.h) during the steps that it recorded, or during all of it if it recorded none.
// `trace lx` prints it. Pure functions of a Trace, any thread. Bytes and picoseconds.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/run_results.h"
#include "traces/trace_file.h"

namespace spyre::trace {

// A time in which a kernel, or a step of it, ran.
struct LxMoment {
  uint64_t start_ps = 0, end_ps = 0;
  size_t kernel = 0;  // its number
  std::string program;
  std::string step;    // "": the kernel has none, or did not record them
  uint64_t bytes = 0;  // held on the core that holds most; what buffers share counts once
  uint64_t buffers = 0;
};

struct LxOccupancy {
  uint64_t core_bytes = 0;  // of one core's LX; 0: not known
  std::vector<LxProgram> programs;
  std::vector<LxMoment> moments;  // in order of start; of kernels whose buffers are known

  const LxMoment* Peak() const;  // null without moments
};

// Bytes that the program holds in this step, on the core that holds most.
uint64_t BytesHeld(const LxProgram& program, uint64_t step);

LxOccupancy LxOverTime(const Trace& trace);

// Times from zero_ps on; at most `rows` moments, and as many buffers of each program.
std::string ToText(const LxOccupancy& occupancy, uint64_t zero_ps, size_t rows);
nlohmann::json ToJson(const LxOccupancy& occupancy);

}  // namespace spyre::trace
