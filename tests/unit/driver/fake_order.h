// SPDX-License-Identifier: Apache-2.0
// What one function of the fake card holds: operations that were fetched and may not start yet, and
// the counters of its event slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "model/contract/control_block.h"

namespace spyre::test {

struct HeldEntry {
  uint64_t number = 0;  // its sequence number as it should be
  ControlBlock block;   // translated to physical addresses
  Status status = Status::OK;

  Opcode opcode() const { return static_cast<Opcode>(block.opcode); }
  bool barrier() const { return opcode() == Opcode::FENCE || (block.flags & kFlagBarrier) != 0; }
};

class FakeOrder {
 public:
  std::deque<HeldEntry> held;  // from the oldest
  std::set<uint32_t> failed_streams;

  // The oldest operation that may start, or held.size().
  size_t Next() const {
    size_t index = 0;
    while (index < held.size() && !MayStart(index)) ++index;
    return index;
  }
  // Any that may start; there must be one.
  size_t Any(std::mt19937& random) const {
    std::vector<size_t> may;
    for (size_t index = 0; index < held.size(); ++index)
      if (MayStart(index)) may.push_back(index);
    return may[random() % may.size()];
  }
  void Signal(uint64_t event) {
    uint64_t& counter = slots_[EventSlot(event)].counter;
    if (counter < EventCounter(event)) counter = EventCounter(event);
  }
  void Poison(uint64_t event) { slots_[EventSlot(event)].poisoned = true; }
  bool Reached(uint64_t event) const {
    const auto slot = slots_.find(EventSlot(event));
    return EventCounter(event) <= (slot == slots_.end() ? 0 : slot->second.counter);
  }

 private:
  struct Slot {
    uint64_t counter = 0;
    bool poisoned = false;
  };

  bool Poisoned(uint64_t event) const {
    const auto slot = slots_.find(EventSlot(event));
    return slot != slots_.end() && slot->second.poisoned;
  }
  bool MayStart(size_t index) const {
    const HeldEntry& entry = held[index];
    if (entry.barrier() && index > 0) return false;
    for (size_t older = 0; older < index; ++older)
      if (held[older].block.stream == entry.block.stream || held[older].barrier()) return false;
    const uint64_t event = entry.block.value;
    return entry.status != Status::OK || entry.opcode() != Opcode::EVENT_WAIT || Reached(event) ||
           Poisoned(event) || failed_streams.count(entry.block.stream) != 0;
  }

  std::map<uint32_t, Slot> slots_;
};

}  // namespace spyre::test
