#include "traces/intervals.h"

#include <algorithm>

namespace spyre::trace {

IntervalSet::IntervalSet(std::vector<Interval> slices) {
  std::sort(slices.begin(), slices.end(),
            [](const Interval& a, const Interval& b) { return a.start_ps < b.start_ps; });
  for (const Interval& slice : slices) {
    if (slice.start_ps == slice.end_ps) continue;
    if (!intervals_.empty() && slice.start_ps <= intervals_.back().end_ps) {
      intervals_.back().end_ps = std::max(intervals_.back().end_ps, slice.end_ps);
    } else {
      intervals_.push_back(slice);
    }
  }
  uint64_t total = 0;
  before_.reserve(intervals_.size());
  for (const Interval& interval : intervals_) {
    total += interval.end_ps - interval.start_ps;
    before_.push_back(total);
  }
}

uint64_t IntervalSet::LengthBefore(uint64_t time_ps) const {
  const auto next = std::partition_point(intervals_.begin(), intervals_.end(),
                                         [&](const Interval& i) { return i.end_ps <= time_ps; });
  const auto index = static_cast<size_t>(next - intervals_.begin());
  uint64_t length = index == 0 ? 0 : before_[index - 1];
  if (next != intervals_.end() && next->start_ps < time_ps) length += time_ps - next->start_ps;
  return length;
}

uint64_t IntervalSet::OverlapPs(Interval with) const {
  return LengthBefore(with.end_ps) - LengthBefore(with.start_ps);
}

uint64_t IntervalSet::OverlapPs(const IntervalSet& with) const {
  uint64_t total = 0;
  for (const Interval& interval : with.intervals_) total += OverlapPs(interval);
  return total;
}

}  // namespace spyre::trace
