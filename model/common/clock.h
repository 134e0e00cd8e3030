// SPDX-License-Identifier: Apache-2.0
// A clock as exact time: when its cycles start, in picoseconds, without drift. 1100 MHz has a cycle
// of 909.09... ps; a sum of rounded cycles would run away from the clock, edges here are rounded
// one by one. Also for anything else that passes at a rational rate, such as the bytes of a link.
//
// Used by every timed block to go from cycles to times. Crossing into a clock's domain is CycleAt:
// what arrives between two edges is seen at the next. Any thread, constant after construction.
#pragma once

#include <cstdint>
#include <numeric>

#include "model/common/divisor.h"

namespace spyre::model {

class Clock {
 public:
  // `cycles` cycles in every `microseconds`: Clock(1100) is 1100 MHz. Must be Representable.
  explicit constexpr Clock(uint64_t cycles, uint64_t microseconds = 1)
      : cycles_(cycles / std::gcd(cycles, microseconds)),
        span_ps_(microseconds / std::gcd(cycles, microseconds) * kPsPerUs),
        by_cycles_(cycles_),
        by_span_(span_ps_) {}

  // Every edge has its own picosecond, and no sum below overflows.
  static constexpr bool Representable(uint64_t cycles, uint64_t microseconds = 1) {
    if (cycles == 0 || microseconds == 0 || microseconds > UINT64_MAX / kPsPerUs) return false;
    const uint64_t divisor = std::gcd(cycles, microseconds);
    const uint64_t span_ps = microseconds / divisor * kPsPerUs;
    return cycles / divisor <= span_ps && cycles / divisor <= UINT64_MAX / 2 / span_ps;
  }

  // When cycle `cycle`, counted from time 0, starts; rounded up.
  constexpr uint64_t Edge(uint64_t cycle) const {
    const Divisor::Result span = by_cycles_.Divide(cycle);
    return span.quotient * span_ps_ + by_cycles_.RoundedUp(span.rest * span_ps_);
  }
  // The first cycle that starts at or after `ps`.
  constexpr uint64_t CycleAt(uint64_t ps) const {
    const Divisor::Result span = by_span_.Divide(ps);
    const uint64_t before = span.rest == 0 ? 0 : by_span_.Quotient((span.rest - 1) * cycles_) + 1;
    return span.quotient * cycles_ + before;
  }
  // `cycles` cycles after the first edge at or after `ps`.
  constexpr uint64_t After(uint64_t ps, uint64_t cycles) const {
    return Edge(CycleAt(ps) + cycles);
  }

 private:
  friend class ClockCursor;
  static constexpr uint64_t kPsPerUs = 1000000;
  // cycles_ cycles take exactly span_ps_.
  uint64_t cycles_;
  uint64_t span_ps_;
  Divisor by_cycles_, by_span_;
};

// A place on a clock that moves forward: the same times as Clock::After at a quarter of the price,
// for who goes cycle by cycle.
class ClockCursor {
 public:
  explicit constexpr ClockCursor(const Clock& clock) : clock_(clock) {}

  constexpr uint64_t ps() const { return ps_; }
  // Moves to the first edge at or after `ps`.
  constexpr void MoveTo(uint64_t ps) {
    const Divisor::Result span = clock_.by_cycles_.Divide(clock_.CycleAt(ps));
    span_start_ps_ = span.quotient * clock_.span_ps_;
    cycle_in_span_ = span.rest;
    Place();
  }
  constexpr void Advance(uint64_t cycles) {
    cycle_in_span_ += cycles;
    if (cycle_in_span_ >= clock_.cycles_) {
      const Divisor::Result span = clock_.by_cycles_.Divide(cycle_in_span_);
      span_start_ps_ += span.quotient * clock_.span_ps_;
      cycle_in_span_ = span.rest;
    }
    Place();
  }

 private:
  constexpr void Place() {
    ps_ = span_start_ps_ + clock_.by_cycles_.RoundedUp(cycle_in_span_ * clock_.span_ps_);
  }

  Clock clock_;
  uint64_t span_start_ps_ = 0;
  uint64_t cycle_in_span_ = 0;
  uint64_t ps_ = 0;
};

}  // namespace spyre::model
