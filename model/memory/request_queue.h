// SPDX-License-Identifier: Apache-2.0
// The queues of a channel controller. ArrivalQueue: requests that have not come yet, by arrival.
// RequestQueue: the bounded queue that the scheduler chooses from, with a list of all and
// one a bank, in order of age. No allocation once they have reached their size. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace spyre::model {

struct MemoryRequest {
  uint64_t id;
  uint64_t arrival_ps;
  uint64_t address;  // channel-local bytes
  uint32_t bytes;    // inside one row
  bool write;
  uint16_t requester = 0;  // of requests that arrive at the same time the lowest goes first
};

// Sorted by arrival, then by requester, then in order of submission. Requests may be told in any
// order: who is first does not depend on who was first to tell.
template <class Request>
class ArrivalQueue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  const Request& front() const { return ring_[first_].request; }
  const Request& operator[](size_t index) const { return ring_[(first_ + index) & mask_].request; }
  void Pop() {
    first_ = (first_ + 1) & mask_;
    --size_;
  }
  // exact_ps: the arrival that decides the order; the request may have it rounded up.
  void Push(const Request& request, uint64_t exact_ps, uint16_t requester) {
    if (size_ > mask_) Grow();
    // Requests come nearly in order, so the place is found from the back.
    size_t at = size_++;
    for (; at > 0 && IsBefore(exact_ps, requester, At(at - 1)); --at) At(at) = At(at - 1);
    Arrival& place = At(at);
    place.request = request;
    place.exact_ps = exact_ps;
    place.requester = requester;
  }

 private:
  struct Arrival {
    Request request;
    uint64_t exact_ps;
    uint16_t requester;
  };

  static bool IsBefore(uint64_t exact_ps, uint16_t requester, const Arrival& other) {
    if (exact_ps != other.exact_ps) return exact_ps < other.exact_ps;
    return requester < other.requester;
  }
  Arrival& At(size_t index) { return ring_[(first_ + index) & mask_]; }
  void Grow() {
    std::vector<Arrival> larger(ring_.size() * 2);
    for (size_t i = 0; i < size_; ++i) larger[i] = At(i);
    ring_ = std::move(larger);
    mask_ = ring_.size() - 1;
    first_ = 0;
  }

  std::vector<Arrival> ring_ = std::vector<Arrival>(64);  // a power of two
  size_t mask_ = 63;                                      // of a place in it
  size_t first_ = 0;
  size_t size_ = 0;
};

struct QueuedRequest {
  uint64_t id;
  uint64_t arrival_ps;   // on the channel's clock
  uint64_t admitted_ps;  // set with its age by the controller
  uint64_t age;          // order of admission
  uint32_t bank;
  uint32_t row;
  uint32_t column;  // byte of the row's data
  uint32_t bytes;
  uint16_t data_bursts, check_bursts;
  bool reads_check_first;  // a write of part of an ECC granule
};

class RequestQueue {
 public:
  static constexpr uint16_t kNone = UINT16_MAX;
  enum class Overlap { kNone, kPart, kAll };

  RequestQueue(size_t capacity, size_t banks)
      : slots_(capacity), heads_(banks, kNone), tails_(banks, kNone) {
    for (size_t i = 0; i < capacity; ++i)
      slots_[i].next = i + 1 < capacity ? static_cast<uint16_t>(i + 1) : kNone;
    free_ = 0;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return free_ == kNone; }
  // Oldest of a bank, and the next younger one; kNone: no more.
  uint16_t Head(uint32_t bank) const { return heads_[bank]; }
  uint16_t Next(uint16_t index) const { return slots_[index].next; }
  // Oldest of all, and the next younger one; kNone: no more.
  uint16_t Oldest() const { return oldest_; }
  uint16_t Younger(uint16_t index) const { return slots_[index].younger; }
  // Bit a bank: it has requests.
  uint64_t waiting_banks() const { return waiting_banks_; }
  const QueuedRequest& operator[](uint16_t index) const { return slots_[index].request; }

  uint16_t Push(const QueuedRequest& request, uint64_t now_ps, uint64_t age) {  // must not be full
    const uint16_t index = free_;
    Slot& slot = slots_[index];
    free_ = slot.next;
    slot.request = request;
    slot.request.admitted_ps = now_ps;
    slot.request.age = age;
    slot.next = kNone;
    slot.previous = tails_[request.bank];
    (slot.previous == kNone ? heads_[request.bank] : slots_[slot.previous].next) = index;
    tails_[request.bank] = index;
    slot.younger = kNone;
    slot.older = youngest_;
    (youngest_ == kNone ? oldest_ : slots_[youngest_].younger) = index;
    youngest_ = index;
    waiting_banks_ |= uint64_t{1} << request.bank;
    ++size_;
    return index;
  }

  void Remove(uint16_t index) {
    Slot& slot = slots_[index];
    const uint32_t bank = slot.request.bank;
    (slot.previous == kNone ? heads_[bank] : slots_[slot.previous].next) = slot.next;
    (slot.next == kNone ? tails_[bank] : slots_[slot.next].previous) = slot.previous;
    (slot.older == kNone ? oldest_ : slots_[slot.older].younger) = slot.younger;
    (slot.younger == kNone ? youngest_ : slots_[slot.younger].older) = slot.older;
    slot.next = free_;
    free_ = index;
    if (heads_[bank] == kNone) waiting_banks_ &= ~(uint64_t{1} << bank);
    --size_;
  }

  // Whether one queued request has all of these bytes, or some have part of them.
  Overlap Find(uint32_t bank, uint32_t row, uint32_t column, uint32_t bytes) const {
    Overlap found = Overlap::kNone;
    for (uint16_t i = heads_[bank]; i != kNone; i = slots_[i].next) {
      const QueuedRequest& held = slots_[i].request;
      if (held.row != row || held.column >= column + bytes || column >= held.column + held.bytes)
        continue;
      // The youngest one counts: it may cover in part what an older one covers whole.
      const bool all = held.column <= column && column + bytes <= held.column + held.bytes;
      found = all ? Overlap::kAll : Overlap::kPart;
    }
    return found;
  }

 private:
  struct Slot {
    QueuedRequest request;
    uint16_t next, previous;  // of its bank; or the next free one
    uint16_t younger, older;  // of all
  };
  std::vector<Slot> slots_;
  std::vector<uint16_t> heads_, tails_;  // a bank each
  uint64_t waiting_banks_ = 0;
  uint16_t free_ = kNone;
  uint16_t oldest_ = kNone, youngest_ = kNone;
  size_t size_ = 0;
};

}  // namespace spyre::model
