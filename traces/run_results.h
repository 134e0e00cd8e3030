// SPDX-License-Identifier: Apache-2.0
// What a run has measured and its records do not show: when its launches were, how host and card
// shared that time, the critical paths by cause of the launches and of each kernel, and what the
// kernels keep in the scratchpads. The last block of a trace file has it as JSON. Plain data and
// pure functions, any thread; picoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/path_causes.h"

namespace spyre::trace {

// A part of every core's scratchpad (LX) that a kernel keeps something in, from the first to the
// last of these steps, both included. Bytes.
struct LxBuffer {
  std::string name;
  uint64_t address = 0, bytes = 0;
  uint64_t first_step = 0, last_step = 0;
  uint32_t cores = 0;  // bit c: core c
};
struct LxProgram {
  std::string program;             // "matmul": its whole name, of which a record has 31 bytes
  std::vector<std::string> steps;  // as its records of steps name them; none: it is one step
  std::vector<LxBuffer> buffers;
};

struct RunResults {
  // From the first launch operation queued to the last one finished; 0, 0: not known.
  uint64_t launch_begin_ps = 0, launch_end_ps = 0;
  // How that time divides: an operation ran on the card; none did and the host worked; neither.
  uint64_t card_ps = 0, host_ps = 0, idle_ps = 0;
  PathTimes path{};
  std::map<uint64_t, PathTimes> kernels;  // by correlation
  std::map<uint64_t, uint64_t> macs;      // the same: multiply-accumulates of the PT arrays
  // The same: which part of a launch it is, "tile 1 of 4 (m=1024..2047)"; none: the whole.
  std::map<uint64_t, std::string> labels;
  std::map<uint64_t, std::string> programs;  // the same: those of `lx`, by name
  uint64_t lx_bytes = 0;                     // of one core; 0: not known
  std::vector<LxProgram> lx;

  bool known() const { return launch_end_ps > launch_begin_ps; }
};

std::string EncodeRunResults(const RunResults& results);
// text: a JSON object; of an older or foreign one, what it does not say is not known.
RunResults ParseRunResults(const std::string& text);

// {"bound_by": "ring", "share": 0.43, "causes_ns": {"ring": 34712.5, ...}}
nlohmann::json ToJson(const PathTimes& path);
nlohmann::json ToJson(const std::vector<LxProgram>& programs);
// Two columns of a table's rows: "  ring's links ..." of every cause with time, largest first.
std::string CausesText(const PathTimes& path, const std::string& indent);

}  // namespace spyre::trace
