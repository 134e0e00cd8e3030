// SPDX-License-Identifier: Apache-2.0
// Where the time up to an event went, along the chain of events that it depended on: its critical
// path, summed up by the resource that the time was spent on or that it was waited for.
//
// Every unit of a core carries the PathTime of its local time, every burst, token and barrier that
// of its end. What waits for several things takes over the PathTime of the one that came last, and
// adds the time since. So the PathTime of the last event of a kernel is that of its critical path:
// exact, with no memory of single events. Plain data; kernel thread only; picoseconds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "traces/path_causes.h"

namespace spyre::model {

using trace::Cause;

struct PathTime {
  std::array<uint64_t, trace::kKernelCauses> spent{};  // by Cause
  uint64_t at_ps = 0;                                  // of the event

  uint64_t& of(Cause cause) { return spent[static_cast<size_t>(cause)]; }
  uint64_t of(Cause cause) const { return spent[static_cast<size_t>(cause)]; }

  // The time up to `ps`, if that is later, was spent on `cause`.
  void Until(uint64_t ps, Cause cause) {
    if (ps <= at_ps) return;
    of(cause) += ps - at_ps;
    at_ps = ps;
  }
  // The next `ps` of it, as far as they lie before `end_ps`.
  void For(uint64_t ps, uint64_t end_ps, Cause cause) {
    Until(std::min(at_ps + ps, end_ps), cause);
  }
  // The path from `before`, an earlier event of it, to here.
  PathTime Since(const PathTime& before) const {
    PathTime part = *this;
    for (size_t i = 0; i < trace::kKernelCauses; ++i)
      part.spent[i] -= std::min(spent[i], before.spent[i]);
    return part;
  }
  // Scales all times, as if everything had taken `factor` times as long.
  void Scale(double factor) {
    for (uint64_t& ps : spent) ps = static_cast<uint64_t>(static_cast<double>(ps) * factor);
  }
  void Add(const PathTime& more) {
    for (size_t i = 0; i < trace::kKernelCauses; ++i) spent[i] += more.spent[i];
  }
};
static_assert(sizeof(PathTime) == 128);  // two lines of the host's cache: it is copied often

// What the ring and memory say about a burst, for whoever waits for it.
struct BurstTimes {
  uint64_t at_memory_ps = 0;  // its request, or its data, are at the memory stop
  uint64_t turn_ps = 0;       // so long it waited there for its turn before
  uint64_t memory_ps = 0;     // memory has done its part
  uint64_t unloaded_ps = 0;   // what memory takes for it alone
  uint64_t hops_ps = 0;       // the way of the data between memory and the core, alone
  double stretched = 0;  // the part of its time on links that those of a unicast would not take
};

// A read that was asked for at path.at_ps, until memory has its data.
inline void SpendToMemory(PathTime& path, const BurstTimes& times) {
  const uint64_t at_memory_ps = std::min(times.at_memory_ps, times.memory_ps);
  path.Until(at_memory_ps - std::min(times.turn_ps, at_memory_ps), Cause::kRingHops);
  path.Until(at_memory_ps, Cause::kMulticast);
  path.For(times.unloaded_ps, times.memory_ps, Cause::kMemoryLatency);
  path.Until(times.memory_ps, Cause::kMemoryRead);
}
// And from there to its core.
inline void SpendFromMemory(PathTime& path, const BurstTimes& times, uint64_t done_ps) {
  path.For(times.hops_ps, done_ps, Cause::kRingHops);
  if (times.stretched > 0 && done_ps > path.at_ps) {
    const auto on_links = static_cast<double>(done_ps - path.at_ps);
    path.For(static_cast<uint64_t>(on_links * times.stretched), done_ps, Cause::kMulticast);
  }
  path.Until(done_ps, Cause::kRing);
}

// A write whose data were ready for the ring at path.at_ps and that is acknowledged at done_ps.
inline void SpendWrite(PathTime& path, const BurstTimes& times, uint64_t done_ps) {
  const uint64_t at_memory_ps = std::min(times.at_memory_ps, done_ps);
  path.For(times.hops_ps, at_memory_ps, Cause::kRingHops);
  path.Until(at_memory_ps, Cause::kRing);
  const uint64_t memory_ps = std::min(times.memory_ps, done_ps);
  path.For(times.unloaded_ps, memory_ps, Cause::kMemoryLatency);
  path.Until(memory_ps, Cause::kMemoryWrite);
  path.Until(done_ps, Cause::kRingHops);
}

}  // namespace spyre::model
