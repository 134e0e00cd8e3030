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
  ActivateWindow(uint64_t rrd, uint64_t faw)
      : rrd_(rrd), faw_(faw), four_bind_(faw > kFour * rrd) {}

  // Plans an activate at the first time from `earliest` on that is allowed. `now`: no later call
  // asks for anything before it.
  uint64_t Plan(uint64_t earliest, uint64_t now) {
    begin_ = Old(now);
    uint64_t at = earliest;
    size_t place = end_;  // those before it are planned not after `at`
    while (place > begin_ && times_[place - 1] > at) --place;
    if (place > begin_) at = std::max(at, times_[place - 1] + rrd_);
    for (;;) {
      while (place < end_ && (times_[place] <= at || times_[place] < at + rrd_))
        at = std::max(at, times_[place++] + rrd_);
      if (!four_bind_) break;
      const uint64_t allowed = AfterFour(at, place);
      if (allowed == at) break;
      at = allowed;
    }
    Insert(place, at);
    return at;
  }

  // A refresh took the place of everything planned after `now`.
  void CancelAfter(uint64_t now) {
    while (end_ > begin_ && times_[end_ - 1] > now) --end_;
  }

  // Whether both allow the same from `now` on.
  bool SameFuture(const ActivateWindow& other, uint64_t now) const {
    const auto at = [](const ActivateWindow& window, size_t index) {
      return window.times_.begin() + static_cast<std::ptrdiff_t>(index);
    };
    return std::equal(at(*this, Old(now)), at(*this, end_), at(other, other.Old(now)),
                      at(other, other.end_));
  }

 private:
  static constexpr size_t kFour = 4;
  static constexpr size_t kMost = 128;  // more banks than this are never planned ahead

  // Behind the activates that do not matter from `now` on.
  size_t Old(uint64_t now) const {
    size_t old = begin_;
    while (old < end_ && times_[old] + std::max(faw_, rrd_) <= now) ++old;
    return old;
  }

  void Insert(size_t place, uint64_t at) {
    if (end_ == times_.size()) {
      const size_t first = std::max(begin_, end_ - kMost + 1);
      std::copy(times_.begin() + static_cast<std::ptrdiff_t>(first), times_.end(), times_.begin());
      place -= std::min(place, first);
      begin_ = 0;
      end_ -= first;
    }
    for (size_t i = end_++; i > place; --i) times_[i] = times_[i - 1];
    times_[place] = at;
  }

  // The first time not before `at` (between times_[place - 1] and times_[place]) at which a fifth
  // activate within tFAW is not yet excluded.
  uint64_t AfterFour(uint64_t at, size_t place) const {
    for (size_t first = place > begin_ + kFour ? place - kFour : begin_; first <= place; ++first) {
      const size_t last = first + kFour - 1;  // with `at`, five activates from first to last
      if (last >= end_) break;
      const uint64_t begin = first == place ? at : times_[first];
      const uint64_t end = last < place ? at : times_[last];
      if (begin + faw_ > end) return last < place ? begin + faw_ : times_[place] + rrd_;
    }
    return at;
  }

  uint64_t rrd_;
  uint64_t faw_;
  bool four_bind_;  // else five activates that are tRRD apart span tFAW anyway
  // Sorted; those that still matter are [begin_, end_), with room to grow at the end.
  std::array<uint64_t, 2 * kMost> times_{};
  size_t begin_ = 0, end_ = 0;
};

}  // namespace spyre::model
