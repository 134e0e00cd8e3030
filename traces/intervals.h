// SPDX-License-Identifier: Apache-2.0
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

  uint64_t length_ps() const { return length_ps_; }
  // Disjoint, not touching, ascending.
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  std::vector<Interval> intervals_;
  uint64_t length_ps_ = 0;
};

// How many of several sets hold each moment.
class Occupancy {
 public:
  Occupancy() = default;
  explicit Occupancy(const std::vector<const IntervalSet*>& sets);

  // The sum of each set's overlap with `during`. Takes time by the intervals of `during`, whatever
  // the sets are.
  uint64_t OverlapPs(const IntervalSet& during) const;

 private:
  struct Step {
    uint64_t start_ps;
    uint64_t sets;       // that hold the time from here to the next step
    uint64_t before_ps;  // length of all sets before it
  };
  uint64_t LengthBefore(uint64_t time_ps) const;

  std::vector<Step> steps_;
};

}  // namespace spyre::trace
