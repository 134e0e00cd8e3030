// SPDX-License-Identifier: Apache-2.0
// The bursts that a load or store unit has under way: as many as their bytes have room for. They
// leave their room in turn. Kernel thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace spyre::model {

// What is kept of a burst, from being sent until its room is used again.
// Place: has a number, `waiting` while the answer has yet to come, and then done_ps, when the burst
// leaves its room; now or later.
template <typename Place>
class BurstWindow {
 public:
  explicit BurstWindow(uint64_t bytes) : room_(bytes) {}

  // For a burst of so many bytes, at most those of the window. The done_ps that the place has is
  // when there is room. Null: that waits for an answer.
  Place* Take(uint64_t bytes) {
    while (room_ < bytes) {
      const auto [oldest, its_bytes] = under_way_.front();
      if (oldest->waiting) return nullptr;
      under_way_.pop_front();
      room_ += its_bytes;
      // The one that leaves last is the next to be used.
      free_.push_back(oldest);
      const size_t last = free_.size() - 1;
      if (last > 0 && free_[last - 1]->done_ps > oldest->done_ps)
        std::swap(free_[last - 1], free_[last]);
    }
    if (free_.empty()) {
      free_.push_back(&places_.emplace_back());
      free_.back()->number = static_cast<uint32_t>(places_.size() - 1);
    }
    Place* const place = free_.back();
    free_.pop_back();
    room_ -= bytes;
    under_way_.emplace_back(place, bytes);
    return place;
  }

  Place& at(uint32_t number) { return places_[number]; }

 private:
  uint64_t room_;
  std::deque<Place> places_;
  std::vector<Place*> free_;
  std::deque<std::pair<Place*, uint64_t>> under_way_;  // the oldest first
};

}  // namespace spyre::model
