// Sets of time on the simulated clock: unions, lengths, overlaps. Times in picoseconds, half open.
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::trace {

struct Interval {
  uint64_t start_ps;
  uint64_t end_ps;
};

// Built once from slices in any order; slices may overlap.
class IntervalSet {
 public:
  IntervalSet() = default;
  explicit IntervalSet(std::vector<Interval> slices);

  uint64_t length_ps() const { return before_.empty() ? 0 : before_.back(); }
  // Disjoint, not touching, ascending.
  const std::vector<Interval>& intervals() const { return intervals_; }
  uint64_t OverlapPs(Interval with) const;
  uint64_t OverlapPs(const IntervalSet& with) const;

 private:
  uint64_t LengthBefore(uint64_t time_ps) const;

  std::vector<Interval> intervals_;
  std::vector<uint64_t> before_;  // length of intervals_[0..i]
};

}  // namespace spyre::trace
