// SPDX-License-Identifier: Apache-2.0
// Why two runs differ: what was configured otherwise, what their critical paths spent more time on,
// and which kernels took it. Part of `trace diff`. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/run_results.h"
#include "traces/trace_file.h"

namespace spyre::trace {

// A key of the metadata that differs: "config.card.memory.channels"; "" where a run has none.
struct KeyChange {
  std::string key, a, b;
};

// The n-th execution of a kernel of that name, in both runs; 0 in a run that has fewer.
struct KernelChange {
  std::string name;
  size_t number_a = 0, number_b = 0;  // as `trace summary --kernel` counts
  uint64_t time_a_ps = 0, time_b_ps = 0;
  std::string bound_a, bound_b;  // resources; "none": not known
};

struct Explanation {
  RunResults a, b;  // the launches as the runs have measured them
  std::vector<KeyChange> keys;
  std::vector<KernelChange> kernels;  // those whose time differs, the largest change first
  size_t same_kernels = 0;
};

Explanation Explain(const Trace& a, const Trace& b);

// tolerance: changes of a time up to this share of it are left out.
std::string ToText(const Explanation& explanation, double tolerance);
nlohmann::json ToJson(const Explanation& explanation);

// The launches, or without them a kernel, take longer or shorter by more than `tolerance` of A's
// time.
bool DiffersBy(const Explanation& explanation, double tolerance);

}  // namespace spyre::trace
