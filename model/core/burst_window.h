// SPDX-License-Identifier: Apache-2.0
// The bursts that a load or store unit has under way: as many as their bytes have room for. They
// leave their room in turn. Kernel thread only.
#pragma once

#include <cstdint>
#include <deque>

namespace spyre::model {

// What is kept of a burst, from being sent until its room is used again, is a Place: it has
// `waiting` while the answer has yet to come, and then done_ps, when the burst leaves its room; now
// or later. Places stay where they are.
template <typename Place>
class BurstWindow {
 public:
  explicit BurstWindow(uint64_t bytes) : room_(bytes) {}

  // For a burst of so many bytes, at most those of the window. The done_ps that the place has is
  // when there is room. Null: that waits for an answer.
  Place* Take(uint64_t bytes) {
    while (room_ < bytes) {
      Node* const left = oldest_;
      if (left->place.waiting) return nullptr;
      oldest_ = left->next;
      room_ += left->bytes;
      Free(left);
    }
    Node* const taken = free_ != nullptr ? free_ : &nodes_.emplace_back();
    if (taken == free_) free_ = taken->next;
    room_ -= bytes;
    taken->bytes = bytes;
    taken->next = nullptr;
    (oldest_ == nullptr ? oldest_ : newest_->next) = taken;
    newest_ = taken;
    __builtin_prefetch(oldest_);  // which the next burst looks at
    return &taken->place;
  }

 private:
  // Small bursts are many, so a place that is small has one line of the host's cache.
  struct alignas(64) Node {
    Place place;
    uint64_t bytes;
    Node* next;  // younger, or free
  };
  // The next to be used is the one that leaves last.
  void Free(Node* node) {
    Node*& before =
        free_ != nullptr && free_->place.done_ps > node->place.done_ps ? free_->next : free_;
    node->next = before;
    before = node;
  }

  uint64_t room_;
  Node *oldest_ = nullptr, *newest_ = nullptr;  // under way
  Node* free_ = nullptr;
  std::deque<Node> nodes_;
};

}  // namespace spyre::model
