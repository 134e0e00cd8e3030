// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: `trace diff A B`. Of traces that dropped records, the figures of both are
// of the time at which both are whole. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/summary.h"

namespace spyre::trace {

// One kernel, control block kind or unit in both runs. Absent in one: all its figures are zero.
struct Change {
  std::string name;
  uint64_t count_a = 0, count_b = 0;      // control blocks or slices
  uint64_t time_a_ps = 0, time_b_ps = 0;  // total time of control blocks, busy time of units
  uint64_t bytes_a = 0, bytes_b = 0;

  bool IsChange() const {
    return count_a != count_b || time_a_ps != time_b_ps || bytes_a != bytes_b;
  }
};

struct Diff {
  bool is_identical = false;  // by digest: every record was the same, also the dropped ones
  std::string workload_a, workload_b;  // as the traces' metadata name it; "": they do not
  uint64_t run_a_ps = 0, run_b_ps = 0;
  uint64_t launch_a_ps = 0, launch_b_ps = 0;  // of the launches (window.h); 0: there is none
  uint64_t digest_a = 0, digest_b = 0;
  uint64_t dropped_a = 0, dropped_b = 0;                    // records missing from the figures
  uint64_t from_ps = 0;                                     // figures are of the time from here on
  bool is_interrupted_a = false, is_interrupted_b = false;  // compared up to where the files end
  // Largest change of time first, then by name.
  std::vector<Change> operations;
  std::vector<Change> groups;  // busy time is the sum over the group
  std::vector<Change> units;
};

Diff Compare(const Trace& a, const Trace& b);

// per_core: units one by one instead of by group.
std::string ToText(const Diff& diff, bool per_core);
nlohmann::json ToJson(const Diff& diff);

}  // namespace spyre::trace
