// SPDX-License-Identifier: Apache-2.0
// Where the time of one run went: per control block, per stream, per unit. `trace summary`, the
// HTML report, `trace diff` and report.json print these numbers.
//
// Reads the recording conventions of docs/trace-format.md: control blocks are kControl records on
// tracks "stream N" of process "card", the steps of their programs kStep records there; every other
// track is a unit, busy but for its kWait records. Pure functions of a Trace, any thread.
//
// Of a trace that dropped records, all figures are of its window: the time from which on nothing is
// missing. What ended before is not counted. A unit is busy for the part of a slice that is in the
// window, and has moved that share of its bytes; control blocks and steps have their whole time.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/run_results.h"
#include "traces/trace_file.h"

namespace spyre::trace {

// One track that is a resource: a DMA channel, a link, a memory channel, a unit of a core, ...
struct UnitSummary {
  std::string name;     // "process/track": "core 03/pt"
  uint64_t slices = 0;  // that end in the window
  uint64_t bytes = 0;
  uint64_t busy_ps = 0;   // union of its slices: overlapping slices count once
  uint64_t first_ps = 0;  // active window: from its first start to its last end
  uint64_t last_ps = 0;
};

// Units whose names differ only in trailing numbers: "core */pt". A single unit keeps its name.
struct GroupSummary {
  std::string name;
  std::vector<size_t> units;  // indices into Summary::units
  uint64_t slices = 0;        // of all together
  uint64_t bytes = 0;         // of all together
  uint64_t busy_sum_ps = 0;
  uint64_t busy_min_ps = 0;
  uint64_t busy_max_ps = 0;
  uint64_t busy_any_ps = 0;  // at least one is busy
  uint64_t first_ps = 0;
  uint64_t last_ps = 0;

  double BusyMeanPs() const {
    return static_cast<double>(busy_sum_ps) / static_cast<double>(units.size());
  }
};

struct GroupShare {
  std::string group;
  double utilization;  // mean over the units of the group
};

// All control blocks of one name: "COMPUTE matmul", "DMA_IN", ...
struct OperationSummary {
  std::string name;
  bool is_kernel = false;  // a compute control block
  uint64_t count = 0;
  uint64_t total_ps = 0;
  uint64_t min_ps = 0;
  uint64_t max_ps = 0;
  uint64_t bytes = 0;
  std::vector<GroupShare> units;  // how busy the card's units were during it, busiest first

  double MeanPs() const { return static_cast<double>(total_ps) / static_cast<double>(count); }
};

struct StreamOperation {
  std::string name;
  uint64_t start_ps;
  uint64_t end_ps;
  uint64_t gap_ps;  // since the end of the operations before it, 0 when they overlap
  uint64_t flow;
  uint64_t bytes;
};

struct StreamSummary {
  std::string name;                         // "stream 0"
  std::vector<StreamOperation> operations;  // by start
  std::vector<StreamOperation> steps;       // of programs, by start; gap_ps is 0
  uint64_t busy_ps = 0;
  uint64_t gap_total_ps = 0;
  uint64_t gap_largest_ps = 0;
};

struct Summary {
  std::string metadata;
  uint64_t records = 0;
  uint64_t dropped = 0;
  uint64_t digest = 0;
  // The run is from time 0 to the last end; the window begins later.
  uint64_t begin_ps = 0;
  uint64_t end_ps = 0;
  bool is_interrupted = false;  // the run was killed, or goes on: what the file has so far
  RunResults results;           // what the run itself has measured
  std::vector<OperationSummary> operations;  // kernels first, then by total time
  std::vector<OperationSummary> steps;       // that programs mark, by first start
  std::vector<StreamSummary> streams;        // by track
  std::vector<UnitSummary> units;            // by track, those without records left out
  std::vector<GroupSummary> groups;          // busiest first, the host's last

  uint64_t run_ps() const { return end_ps - begin_ps; }
};

// from_ps: the window begins there, or where that of the trace does.
Summary Summarize(const Trace& trace, uint64_t from_ps = 0);

// bytes per ps of busy time as 10^9 bytes a second; 0 when there is no time.
double GigabytesPerSecond(uint64_t bytes, uint64_t time_ps);
double Ratio(double part, double whole);  // 0 when whole is 0

struct SummaryOptions {
  bool per_core = false;          // a row for every unit, not only for every group
  size_t stream_operations = 16;  // rows per stream
};
std::string ToText(const Summary& summary, const SummaryOptions& options = {});
// Times in ns as numbers with ps digits; the same keys as `units` and `kernels` of report.json
// where they mean the same.
nlohmann::json ToJson(const Summary& summary);

}  // namespace spyre::trace
