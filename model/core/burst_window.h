// SPDX-License-Identifier: Apache-2.0
// The bursts that a load or store unit has under way: as many as their bytes have room for. They
// leave their room in turn. Kernel thread only.
#pragma once

#include <cstdint>
#include <deque>

namespace spyre::model {

// What is kept of a burst, from being sent until its room is used again, is a Place: it has a
// number, `waiting` while the answer has yet to come, and then done_ps, when the burst leaves its
// room; now or later.
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
    if (taken == free_) {
      free_ = taken->next;
    } else {
      taken->place.number = static_cast<uint32_t>(nodes_.size() - 1);
    }
    room_ -= bytes;
    taken->bytes = bytes;
    taken->next = nullptr;
    (oldest_ == nullptr ? oldest_ : newest_->next) = taken;
    newest_ = taken;
    return &taken->place;
  }

  Place& at(uint32_t number) { return nodes_[number].place; }

 private:
  struct Node {
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
