// SPDX-License-Identifier: Apache-2.0
// Where the Scheduler keeps operations from enqueueing to completion: they stay in one place, and
// are found by the sequence number of their response without a search.
//
// Owner and caller: Scheduler, under the runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/flex/control_block_request.h"

namespace spyre::flex {

struct PendingOperation {
  ControlBlockRequest request;
  uint32_t stream = 0;
  uint64_t arrival = 0;
  uint64_t sequence = 0;  // once it is in the ring
};

// What is to be said of it without a response: no times.
CompletedOperation DescribeOutcome(const PendingOperation& operation, Status status);

// Takes and gives back operations; memory grows to the most there ever were at once.
class OperationPool {
 public:
  PendingOperation* Take() {
    if (free_.empty()) return &operations_.emplace_back();
    PendingOperation* operation = free_.back();
    free_.pop_back();
    return operation;
  }
  void Give(PendingOperation* operation) { free_.push_back(operation); }

 private:
  std::deque<PendingOperation> operations_;
  std::vector<PendingOperation*> free_;
};

// The operations in the ring by sequence number. Sequence numbers of operations in the ring at one
// time lie close together: the place is the number modulo a power of two, which grows when two
// meet.
class RunningOperations {
 public:
  bool empty() const { return size_ == 0; }
  void Insert(PendingOperation* operation) {
    while (Place(operation->sequence) != nullptr) Grow();
    Place(operation->sequence) = operation;
    ++size_;
  }
  bool Has(uint64_t sequence) const {
    const PendingOperation* operation = places_[sequence & (places_.size() - 1)];
    return operation != nullptr && operation->sequence == sequence;
  }
  // Removes it; nullptr if there is none of that number.
  PendingOperation* Take(uint64_t sequence) {
    PendingOperation*& place = Place(sequence);
    if (place == nullptr || place->sequence != sequence) return nullptr;
    PendingOperation* operation = place;
    place = nullptr;
    --size_;
    return operation;
  }
  void Clear() {
    places_.assign(places_.size(), nullptr);
    size_ = 0;
  }

 private:
  PendingOperation*& Place(uint64_t sequence) { return places_[sequence & (places_.size() - 1)]; }
  void Grow() {
    std::vector<PendingOperation*> old(places_.size() * 2);
    old.swap(places_);
    for (PendingOperation* operation : old) {
      if (operation != nullptr) Place(operation->sequence) = operation;
    }
  }

  std::vector<PendingOperation*> places_ = std::vector<PendingOperation*>(256);
  size_t size_ = 0;
};

}  // namespace spyre::flex
