// SPDX-License-Identifier: Apache-2.0
// The trace as the public tools of the real card read it: Chrome events with the names and fields
// of the card's profiling library, for aiu-trace-analyzer (github.com/IBM/aiu-trace-analyzer).
//
// The hybrid form of its two dialects: `deviceProperties` with one entry, one file a rank; kernels
// and copies with `correlation`, `queued` and `submitted`, and with the time stamps TS1 to TS5 of
// control blocks, strings of 32-bit cycles of a SoC clock of 1000 MHz. Host calls have the names of
// the profiling library; what the real card cannot show (LX, stalls, ring, memory) stands beside as
// counters. Times are whole nanoseconds, so that they agree with the time stamps.
//
// The correction of a program is the preparation of the kernel behind it ("Cmpt Prep"). Kernels
// share a correlation while no program comes twice; docs/trace-viewers.md says why.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "traces/trace_file.h"

namespace spyre::trace {

struct AiuOptions {
  uint32_t rank = 0, world_size = 1;
};

// The caller checks the stream's state afterwards.
void ExportAiu(const Trace& trace, const AiuOptions& options, std::ostream& out);

// Ideal cycles of a kernel: its multiply-accumulates by those of all PT arrays of the card in one
// cycle at the rate of fp16. 0 of a kernel without any, or of a run that does not say.
struct IdealCycles {
  std::string kernel;            // as its events are named, without their suffix
  std::vector<uint64_t> cycles;  // of each execution that shares a correlation
  std::string category;          // "matmul": the PT arrays work; "vector": they do not
};
std::vector<IdealCycles> IdealCyclesOf(const Trace& trace);
// Writes them beside `path` where the tool looks for them (its option -c takes that directory):
// inductor-spyre/KERNEL/perf/ideal_cycles.json. Returns the files' paths.
std::vector<std::string> WriteIdealCycles(const Trace& trace, const std::string& path);

}  // namespace spyre::trace
