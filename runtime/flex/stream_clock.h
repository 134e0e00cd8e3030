// SPDX-License-Identifier: Apache-2.0
// What is ordered before some place in a program of many streams: for each stream, how far. A
// vector clock, whose times are correlations of operations; they rise along every stream.
//
// Plain data, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/flex/stream_set.h"

namespace spyre::flex {

class StreamClock {
 public:
  // The operation is before the place.
  bool Covers(uint32_t stream, uint64_t correlation) const { return time_[stream] >= correlation; }
  // The operation, and so all that is earlier in its stream, is before the place.
  void Advance(uint32_t stream, uint64_t correlation) {
    time_[stream] = std::max(time_[stream], correlation);
  }
  // All that is before the other place is before this one too.
  void Join(const StreamClock& other) {
    for (size_t i = 0; i < kStreams; ++i) time_[i] = std::max(time_[i], other.time_[i]);
  }

 private:
  std::array<uint64_t, kStreams> time_{};
};

}  // namespace spyre::flex
