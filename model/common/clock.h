// SPDX-License-Identifier: Apache-2.0
// A clock as exact time: when its cycles start, in picoseconds, without drift. 1100 MHz has a cycle
// of 909.09... ps; a sum of rounded cycles would run away from the clock, edges here are rounded
// one by one. Also for anything else that passes at a rational rate, such as the bytes of a link.
//
// Used by every timed block to go from cycles to times. Crossing into a clock's domain is CycleAt:
// what arrives between two edges is seen at the next. Any thread, constant after construction but
// for SetPace, which is for a clock of the kernel's thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "model/common/divisor.h"

namespace spyre::model {

class Clock {
 public:
  // `cycles` cycles in every `microseconds`: Clock(1100) is 1100 MHz. Must be Representable.
  explicit constexpr Clock(uint64_t cycles, uint64_t microseconds = 1)
      : nominal_cycles_(cycles),
        nominal_us_(microseconds),
        cycles_(cycles / std::gcd(cycles, microseconds)),
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

  // From the first edge at or after `ps` on, cycles come at so many percent (1 to 100) of the
  // nominal rate. Their numbers go on, so that what is counted in cycles, such as when a resource
  // is free, needs no change. Edges before that one are where the new rate would have had them.
  constexpr void SetPace(uint64_t ps, uint64_t percent) {
    const uint64_t cycle = CycleAt(ps);
    const uint64_t edge = Edge(cycle);
    *this = percent == 100 ? Clock(nominal_cycles_, nominal_us_)
                           : Clock(nominal_cycles_ * percent, nominal_us_ * 100, *this);
    origin_cycle_ = cycle;
    origin_ps_ = edge;
  }

  // When cycle `cycle`, counted from time 0, starts; rounded up.
  constexpr uint64_t Edge(uint64_t cycle) const {
    if (cycle >= origin_cycle_) return origin_ps_ + Span(cycle - origin_cycle_);
    return origin_ps_ - std::min(origin_ps_, Span(origin_cycle_ - cycle));
  }
  // How long so many cycles take; rounded up.
  constexpr uint64_t Span(uint64_t cycles) const {
    const Divisor::Result span = by_cycles_.Divide(cycles);
    return span.quotient * span_ps_ + by_cycles_.RoundedUp(span.rest * span_ps_);
  }
  // The first cycle that starts at or after `ps`.
  constexpr uint64_t CycleAt(uint64_t ps) const {
    if (ps < origin_ps_) {
      const Divisor::Result span = by_span_.Divide(origin_ps_ - ps);
      const uint64_t back = span.quotient * cycles_ + by_span_.Quotient(span.rest * cycles_);
      return origin_cycle_ - std::min(origin_cycle_, back);
    }
    const Divisor::Result span = by_span_.Divide(ps - origin_ps_);
    return origin_cycle_ + span.quotient * cycles_ + CyclesBefore(span.rest);
  }
  // `cycles` cycles after the first edge at or after `ps`.
  constexpr uint64_t After(uint64_t ps, uint64_t cycles) const {
    return Edge(CycleAt(ps) + cycles);
  }

 private:
  friend class ClockCursor;
  static constexpr uint64_t kPsPerUs = 1000000;
  // How many cycles of a span start before `ps` of it.
  constexpr uint64_t CyclesBefore(uint64_t ps) const {
    return ps == 0 ? 0 : by_span_.Quotient((ps - 1) * cycles_) + 1;
  }
  // Another rate of the same clock.
  constexpr Clock(uint64_t cycles, uint64_t microseconds, const Clock& nominal)
      : Clock(cycles, microseconds) {
    nominal_cycles_ = nominal.nominal_cycles_;
    nominal_us_ = nominal.nominal_us_;
  }

  uint64_t nominal_cycles_, nominal_us_;
  // cycles_ cycles take exactly span_ps_.
  uint64_t cycles_;
  uint64_t span_ps_;
  Divisor by_cycles_, by_span_;
  // Since when the clock has this rate.
  uint64_t origin_cycle_ = 0, origin_ps_ = 0;
};

// A place on a clock that moves forward: the same times as Clock::After at a quarter of the price,
// for who goes cycle by cycle.
class ClockCursor {
 public:
  explicit constexpr ClockCursor(const Clock& clock) : clock_(clock) {}

  constexpr uint64_t ps() const { return ps_; }
  // Moves to the first edge at or after `ps`, which is not before the clock's last change of pace.
  constexpr void MoveTo(uint64_t ps) {
    Find(ps);
    Place();
  }
  // To `cycles` cycles after the first edge at or after `ps`: cheaper if the place is at `ps`.
  constexpr void MoveBehind(uint64_t ps, uint64_t cycles) {
    if (ps != ps_) Find(ps);
    Advance(cycles);
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
  // As of Clock. The place stays, as far as the clock still has an edge there.
  constexpr void SetPace(uint64_t ps, uint64_t percent) {
    clock_.SetPace(ps, percent);
    MoveTo(ps_);
  }

 private:
  constexpr void Find(uint64_t ps) {
    const Divisor::Result span =
        clock_.by_span_.Divide(std::max(ps, clock_.origin_ps_) - clock_.origin_ps_);
    span_start_ps_ = clock_.origin_ps_ + span.quotient * clock_.span_ps_;
    cycle_in_span_ = clock_.CyclesBefore(span.rest);
  }
  constexpr void Place() {
    ps_ = span_start_ps_ + clock_.by_cycles_.RoundedUp(cycle_in_span_ * clock_.span_ps_);
  }

  Clock clock_;
  uint64_t span_start_ps_ = 0;
  uint64_t cycle_in_span_ = 0;
  uint64_t ps_ = 0;
};

}  // namespace spyre::model
