// SPDX-License-Identifier: Apache-2.0
// A window of transfers in flight: a fixed number of slots that are used in turn, so that the next
// transfer waits for the oldest. One SystemC thread sends and waits; answers come from the memory
// side. Kernel thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <systemc>
#include <vector>

#include "model/common/transfer.h"

namespace spyre::model {

// The part of a slot that the window knows.
struct WindowSlot : TransferClient {
  TransferPayload payload;
  bool waiting = false;  // an answer has yet to come
  uint64_t done_ps = 0;  // when the last transfer was complete; may be in the future

 protected:
  ~WindowSlot() = default;
};

template <typename Slot>  // derived from WindowSlot
class Window {
 public:
  explicit Window(size_t size) : slots_(size) {}

  // The slot whose turn it is; it may still be in use.
  Slot& Next() {
    Slot& slot = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    return slot;
  }

  // Until the answer has come; wait(event) is the caller's way to wait.
  template <typename Wait>
  void Await(const Slot& slot, const Wait& wait) {
    awaited_ = &slot;
    while (slot.waiting) wait(answered_);
    awaited_ = nullptr;
  }

  // Wakes who awaits the slot, at its done_ps. Must be called when `waiting` has become false.
  void Wake(const Slot& slot) {
    if (awaited_ == &slot) answered_.notify(Ps(slot.done_ps - std::min(slot.done_ps, NowPs())));
  }

  // Calls function(slot) for the slots of the last `count` calls of Next, by their place.
  template <typename Function>
  void ForLast(size_t count, const Function& function) {
    const size_t size = slots_.size();
    const size_t first = count < size ? (next_ + size - count) % size : next_;
    const bool wraps = count > 0 && first >= next_;
    for (size_t i = wraps ? 0 : first; i < next_; ++i) function(slots_[i]);
    for (size_t i = first; wraps && i < size; ++i) function(slots_[i]);
  }

  auto begin() { return slots_.begin(); }
  auto end() { return slots_.end(); }

 private:
  std::vector<Slot> slots_;
  size_t next_ = 0;
  const Slot* awaited_ = nullptr;
  sc_core::sc_event answered_;
};

}  // namespace spyre::model
