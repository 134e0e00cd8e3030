// A clock as exact time: when its cycles start, in picoseconds, without drift. 1100 MHz has a cycle
// of 909.09... ps; a sum of rounded cycles would run away from the clock, edges here are rounded
// one by one. Also for anything else that passes at a rational rate, such as the bytes of a link.
//
// Used by every timed block to go from cycles to times. Crossing into a clock's domain is CycleAt:
// what arrives between two edges is seen at the next. Any thread, constant after construction.
#pragma once

#include <cstdint>
#include <numeric>

namespace spyre::model {

class Clock {
 public:
  // `cycles` cycles in every `microseconds`: Clock(1100) is 1100 MHz. Must be Representable.
  explicit constexpr Clock(uint64_t cycles, uint64_t microseconds = 1)
      : cycles_(cycles / std::gcd(cycles, microseconds)),
        span_ps_(microseconds / std::gcd(cycles, microseconds) * kPsPerUs) {}

  // Every edge has its own picosecond, and no sum below overflows.
  static constexpr bool Representable(uint64_t cycles, uint64_t microseconds = 1) {
    if (cycles == 0 || microseconds == 0 || microseconds > UINT64_MAX / kPsPerUs) return false;
    const uint64_t divisor = std::gcd(cycles, microseconds);
    const uint64_t span_ps = microseconds / divisor * kPsPerUs;
    return cycles / divisor <= span_ps && cycles / divisor <= UINT64_MAX / 2 / span_ps;
  }

  // When cycle `cycle`, counted from time 0, starts; rounded up.
  constexpr uint64_t Edge(uint64_t cycle) const {
    return cycle / cycles_ * span_ps_ + (cycle % cycles_ * span_ps_ + cycles_ - 1) / cycles_;
  }
  // The first cycle that starts at or after `ps`.
  constexpr uint64_t CycleAt(uint64_t ps) const {
    const uint64_t rest = ps % span_ps_;
    return ps / span_ps_ * cycles_ + (rest == 0 ? 0 : (rest - 1) * cycles_ / span_ps_ + 1);
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
};

// A place on a clock that moves forward: the same times as Clock::After at a quarter of the price,
// for who goes cycle by cycle.
class ClockCursor {
 public:
  explicit constexpr ClockCursor(const Clock& clock) : clock_(clock) {}

  constexpr uint64_t ps() const { return ps_; }
  // To the first edge at or after `ps`.
  constexpr void MoveTo(uint64_t ps) {
    const uint64_t cycle = clock_.CycleAt(ps);
    span_start_ps_ = cycle / clock_.cycles_ * clock_.span_ps_;
    cycle_in_span_ = cycle % clock_.cycles_;
    Place();
  }
  constexpr void Advance(uint64_t cycles) {
    cycle_in_span_ += cycles;
    if (cycle_in_span_ >= clock_.cycles_) {
      span_start_ps_ += cycle_in_span_ / clock_.cycles_ * clock_.span_ps_;
      cycle_in_span_ %= clock_.cycles_;
    }
    Place();
  }

 private:
  constexpr void Place() {
    ps_ = span_start_ps_ + (cycle_in_span_ * clock_.span_ps_ + clock_.cycles_ - 1) / clock_.cycles_;
  }

  Clock clock_;
  uint64_t span_start_ps_ = 0;
  uint64_t cycle_in_span_ = 0;
  uint64_t ps_ = 0;
};

}  // namespace spyre::model
