// SPDX-License-Identifier: Apache-2.0
// The one port of a core's LX. Bursts of the ring go first; the streams of the PT array and of the
// vector unit pass in the cycles that bursts leave, one stream at a time. A burst that comes while
// a stream runs is charged to the next one, so that the port never passes more than its width.
// Kernel thread only; nothing blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "model/common/clock.h"
#include "model/common/resource.h"

namespace spyre::model {

class LxPort {
 public:
  LxPort(const std::string& name, const Clock& clock, uint64_t bytes_per_cycle, bool contended)
      : clock_(clock),
        by_width_(bytes_per_cycle),
        contended_(contended),
        bursts_(name, clock, contended),
        streams_(name, clock, contended) {}

  // Return when the last byte is through, in picoseconds.
  uint64_t Burst(uint64_t earliest_ps, uint64_t bytes) {
    const uint64_t cycles = Cycles(bytes);
    passed_cycles_ += cycles;
    const uint64_t end = bursts_.ReserveCycles(clock_.CycleAt(earliest_ps), cycles, bytes) + cycles;
    if (contended_) Remember({end, cycles});
    return clock_.Edge(end);
  }
  // A burst that passes on as it comes, its last byte at last_ps.
  uint64_t BurstThrough(uint64_t last_ps, uint64_t bytes) {
    // Mostly bursts of one size.
    if (bytes != through_bytes_) {
      through_bytes_ = bytes;
      through_ps_ = clock_.Span(Cycles(bytes));
    }
    return std::max(last_ps, Burst(last_ps - std::min(through_ps_, last_ps), bytes));
  }
  // Starts at a cycle of the clock and returns the cycle behind the last byte.
  uint64_t Stream(uint64_t earliest_cycle, uint64_t bytes) {
    // Bursts outside this stream and the one before took nothing from either.
    while (uncharged_ > 0 && Oldest().end <= earliest_cycle &&
           (Oldest().end <= stream_from_ || Oldest().end > stream_until_)) {
      Forget();
    }
    const uint64_t cycles = Cycles(bytes) + uncharged_cycles_;
    passed_cycles_ += Cycles(bytes);
    uncharged_ = 0;
    uncharged_cycles_ = 0;
    stream_from_ = earliest_cycle;
    stream_until_ = streams_.ReserveCycles(earliest_cycle, cycles, bytes) + cycles;
    return stream_until_;
  }

  // Before the core's clock changes its pace, at ps.
  void SetPace(uint64_t ps, uint64_t percent) {
    passed_ps_ += clock_.Span(std::exchange(passed_cycles_, 0));
    through_bytes_ = through_ps_ = 0;
    bursts_.SetPace(ps, percent);
    streams_.SetPace(ps, percent);
  }

  UnitStatistics statistics() const {
    UnitStatistics all = bursts_.statistics();
    const UnitStatistics streams = streams_.statistics();
    all.bytes += streams.bytes;
    all.requests += streams.requests;
    all.waited_ps += streams.waited_ps;
    // One after the other or side by side: at least the longer of the two.
    all.lost(Loss::kQueue) = std::max(all.lost(Loss::kQueue), streams.lost(Loss::kQueue));
    all.busy_ps = passed_ps_ + clock_.Span(passed_cycles_);
    return all;
  }

 private:
  static constexpr uint32_t kRemembered = 256;
  // In cycles.
  struct Passed {
    uint64_t end;
    uint64_t took;
  };

  uint64_t Cycles(uint64_t bytes) const { return by_width_.RoundedUp(bytes); }
  const Passed& Oldest() const { return passed_[oldest_]; }
  void Remember(const Passed& burst) {
    // Only streams charge bursts, and they do not look back further than this.
    if (uncharged_ == kRemembered) Forget();
    passed_[(oldest_ + uncharged_) % kRemembered] = burst;
    ++uncharged_;
    uncharged_cycles_ += burst.took;
  }
  void Forget() {
    uncharged_cycles_ -= Oldest().took;
    oldest_ = (oldest_ + 1) % kRemembered;
    --uncharged_;
  }

  const Clock& clock_;
  const Divisor by_width_;
  const bool contended_;
  // What each burst looks at is side by side in the host's cache.
  uint64_t through_bytes_ = 0, through_ps_ = 0;  // how long a burst of that size takes
  uint64_t passed_cycles_ = 0;
  // Bursts that no stream has made room for: so many, from the oldest on, and their cycles.
  uint32_t oldest_ = 0, uncharged_ = 0;
  uint64_t uncharged_cycles_ = 0;
  Resource bursts_;
  Resource streams_;
  uint64_t passed_ps_ = 0;                       // before the last change of pace
  uint64_t stream_from_ = 0, stream_until_ = 0;  // the last stream, in cycles
  std::array<Passed, kRemembered> passed_{};     // from oldest_ on
};

}  // namespace spyre::model
