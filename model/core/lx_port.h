// SPDX-License-Identifier: Apache-2.0
// The one port of a core's LX. Bursts of the ring go first; the streams of the PT array and of the
// vector unit pass in the cycles that bursts leave, one stream at a time. A burst that comes while
// a stream runs is charged to the next one, so that the port never passes more than its width.
// Kernel thread only; nothing blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

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

  // All return when the last byte is through, in picoseconds.
  uint64_t Burst(uint64_t earliest_ps, uint64_t bytes) {
    const uint64_t cycles = Cycles(bytes);
    passed_cycles_ += cycles;
    const uint64_t end = bursts_.Reserve(earliest_ps, cycles, bytes);
    if (contended_) {
      uncharged_.push_back({end, cycles});
      uncharged_cycles_ += cycles;
      // Without streams nobody charges them; streams do not look back further than this.
      if (uncharged_.size() > kRemembered) Forget();
    }
    return end;
  }
  // A burst that passes on as it comes, its last byte at last_ps.
  uint64_t BurstThrough(uint64_t last_ps, uint64_t bytes) {
    const uint64_t took = clock_.Edge(Cycles(bytes));
    return std::max(last_ps, Burst(last_ps - std::min(took, last_ps), bytes));
  }
  uint64_t Stream(uint64_t earliest_ps, uint64_t bytes) {
    // Bursts outside this stream and the one before took nothing from either.
    while (!uncharged_.empty() && uncharged_.front().end_ps <= earliest_ps &&
           (uncharged_.front().end_ps <= stream_from_ps_ ||
            uncharged_.front().end_ps > stream_until_ps_)) {
      Forget();
    }
    const uint64_t cycles = Cycles(bytes) + uncharged_cycles_;
    passed_cycles_ += Cycles(bytes);
    uncharged_.clear();
    uncharged_cycles_ = 0;
    stream_from_ps_ = earliest_ps;
    stream_until_ps_ = streams_.Reserve(earliest_ps, cycles, bytes);
    return stream_until_ps_;
  }

  UnitStatistics statistics() const {
    UnitStatistics all = bursts_.statistics();
    all.bytes += streams_.statistics().bytes;
    all.requests += streams_.statistics().requests;
    all.waited_ps += streams_.statistics().waited_ps;
    all.busy_ps = clock_.Edge(passed_cycles_);
    return all;
  }

 private:
  static constexpr size_t kRemembered = 256;
  struct Passed {
    uint64_t end_ps;
    uint64_t cycles;
  };

  uint64_t Cycles(uint64_t bytes) const { return by_width_.RoundedUp(bytes); }
  void Forget() {
    uncharged_cycles_ -= uncharged_.front().cycles;
    uncharged_.pop_front();
  }

  const Clock& clock_;
  const Divisor by_width_;
  const bool contended_;
  Resource bursts_;
  Resource streams_;
  std::deque<Passed> uncharged_;  // bursts that no stream has made room for
  uint64_t uncharged_cycles_ = 0;
  uint64_t stream_from_ps_ = 0, stream_until_ps_ = 0;  // the last stream
  uint64_t passed_cycles_ = 0;
};

}  // namespace spyre::model
