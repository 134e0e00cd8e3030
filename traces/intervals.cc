// SPDX-License-Identifier: Apache-2.0
#include "traces/intervals.h"

#include <algorithm>
#include <utility>

#include "base/ranges.h"

namespace spyre::trace {

IntervalSet::IntervalSet(std::vector<Interval> slices) {
  StableSort(slices, [](const Interval& a, const Interval& b) { return a.start_ps < b.start_ps; });
  for (const Interval& slice : slices) {
    if (slice.start_ps == slice.end_ps) continue;
    if (!intervals_.empty() && slice.start_ps <= intervals_.back().end_ps) {
      intervals_.back().end_ps = std::max(intervals_.back().end_ps, slice.end_ps);
    } else {
      intervals_.push_back(slice);
    }
  }
  for (const Interval& interval : intervals_) length_ps_ += interval.end_ps - interval.start_ps;
}

Occupancy::Occupancy(const std::vector<const IntervalSet*>& sets) {
  std::vector<std::pair<uint64_t, int>> edges;
  for (const IntervalSet* set : sets) {
    for (const Interval& interval : set->intervals()) {
      edges.emplace_back(interval.start_ps, 1);
      edges.emplace_back(interval.end_ps, -1);
    }
  }
  std::sort(edges.begin(), edges.end());
  Step now{0, 0, 0};
  for (const auto& [time_ps, change] : edges) {
    now.before_ps += now.sets * (time_ps - now.start_ps);
    now.start_ps = time_ps;
    now.sets = change > 0 ? now.sets + 1 : now.sets - 1;
    if (!steps_.empty() && steps_.back().start_ps == time_ps) steps_.pop_back();
    steps_.push_back(now);
  }
}

uint64_t Occupancy::LengthBefore(uint64_t time_ps) const {
  const auto next = std::partition_point(steps_.begin(), steps_.end(),
                                         [&](const Step& step) { return step.start_ps < time_ps; });
  if (next == steps_.begin()) return 0;
  const Step& step = *(next - 1);
  return step.before_ps + step.sets * (time_ps - step.start_ps);
}

uint64_t Occupancy::OverlapPs(const IntervalSet& during) const {
  uint64_t total = 0;
  for (const Interval& interval : during.intervals())
    total += LengthBefore(interval.end_ps) - LengthBefore(interval.start_ps);
  return total;
}

}  // namespace spyre::trace
