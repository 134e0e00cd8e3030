// SPDX-License-Identifier: Apache-2.0
// When a channel may activate a row: activates are tRRD apart and at most four lie in tFAW. Planned
// activates may lie in the future and in any order, so that a bank that must wait does not hold up
// the others. Used by the channel controller.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace spyre::model {

class ActivateWindow {
 public:
  ActivateWindow(uint64_t rrd, uint64_t faw) : rrd_(rrd), faw_(faw) {}

  // Plans an activate at the first time from `earliest` on that is allowed. `now`: no later call
  // asks for anything before it.
  uint64_t Plan(uint64_t earliest, uint64_t now) {
    Forget(now);
    uint64_t at = earliest;
    size_t before = 0;  // planned activates not after `at`
    for (;;) {
      while (before < count_ && times_[before] <= at) ++before;
      if (before > 0 && times_[before - 1] + rrd_ > at) {
        at = times_[before - 1] + rrd_;
        continue;
      }
      if (before < count_ && at + rrd_ > times_[before]) {
        at = times_[before] + rrd_;
        continue;
      }
      const uint64_t allowed = AfterFour(at, before);
      if (allowed == at) break;
      at = allowed;
    }
    if (count_ == times_.size()) {  // more banks than this are never planned ahead
      std::copy(times_.begin() + 1, times_.end(), times_.begin());
      --count_;
      before -= before > 0 ? 1 : 0;
    }
    std::copy_backward(times_.begin() + static_cast<std::ptrdiff_t>(before),
                       times_.begin() + static_cast<std::ptrdiff_t>(count_),
                       times_.begin() + static_cast<std::ptrdiff_t>(count_) + 1);
    times_[before] = at;
    ++count_;
    return at;
  }

  // A refresh took the place of everything planned after `now`.
  void CancelAfter(uint64_t now) {
    while (count_ > 0 && times_[count_ - 1] > now) --count_;
  }

  // Whether both allow the same from `now` on.
  bool SameFuture(const ActivateWindow& other, uint64_t now) const {
    const size_t old = Old(now), other_old = other.Old(now);
    return std::equal(times_.begin() + static_cast<std::ptrdiff_t>(old),
                      times_.begin() + static_cast<std::ptrdiff_t>(count_),
                      other.times_.begin() + static_cast<std::ptrdiff_t>(other_old),
                      other.times_.begin() + static_cast<std::ptrdiff_t>(other.count_));
  }

 private:
  static constexpr size_t kFour = 4;

  // Drops activates that do not matter from `now` on.
  size_t Old(uint64_t now) const {
    size_t old = 0;
    while (old < count_ && times_[old] + std::max(faw_, rrd_) <= now) ++old;
    return old;
  }

  void Forget(uint64_t now) {
    const size_t old = Old(now);
    if (old == 0) return;
    std::copy(times_.begin() + static_cast<std::ptrdiff_t>(old),
              times_.begin() + static_cast<std::ptrdiff_t>(count_), times_.begin());
    count_ -= old;
  }

  // The first time not before `at` (between times_[before - 1] and times_[before]) at which a fifth
  // activate within tFAW is not yet excluded.
  uint64_t AfterFour(uint64_t at, size_t before) const {
    for (size_t first = before > kFour ? before - kFour : 0; first <= before; ++first) {
      const size_t last = first + kFour - 1;  // with `at`, five activates from first to last
      if (last >= count_) break;
      const uint64_t begin = first == before ? at : times_[first];
      const uint64_t end = last < before ? at : times_[last];
      if (begin + faw_ > end) return last < before ? begin + faw_ : times_[before] + rrd_;
    }
    return at;
  }

  uint64_t rrd_;
  uint64_t faw_;
  std::array<uint64_t, 128> times_{};  // sorted; those that still matter
  size_t count_ = 0;
};

}  // namespace spyre::model
