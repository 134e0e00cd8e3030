// SPDX-License-Identifier: Apache-2.0
// How busy a run kept its card over time: rates and loads as counters, worked out from the slices.
// Viewers draw them as curves, `export --format sqlite` has them as rows. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/trace_file.h"

namespace spyre::trace {

struct Counter {
  std::string name;            // "memory"
  std::string unit;            // "GB/s" (10^9 bytes a second), "%", "GMAC/s", "operations"
  std::vector<double> values;  // the mean of each period
};

struct Counters {
  uint64_t from_ps = 0;
  uint64_t period_ps = 1;
  std::vector<Counter> counters;  // without those that are 0 all the time
};

constexpr size_t kCounterPeriods = 1000;

// Of [from_ps, to_ps], in `periods` equal periods, or as many as there are nanoseconds:
// memory, pcie upstream, pcie downstream: what passes the data buses and the link;
// memory read, memory write: the part of each direction, of traces whose slices say it;
// loads, stores, lx: bytes through the load and the store units and the LX ports of all cores;
// ring, pt, vector: busy share, the mean of the units that the trace has;
// macs: of kernels whose MACs the run has measured, spread over the time of their PT slices;
// queue depth: control blocks that were submitted and had not ended.
Counters CountersOf(const Trace& trace, uint64_t from_ps, uint64_t to_ps,
                    size_t periods = kCounterPeriods);
// The same from the first to the last moment at which the card was at work, because set-up takes
// long.
Counters CountersOf(const Trace& trace, size_t periods = kCounterPeriods);

}  // namespace spyre::trace
