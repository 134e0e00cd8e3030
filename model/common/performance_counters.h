// SPDX-License-Identifier: Apache-2.0
// The card's performance counters: of each function, and of the whole card. The blocks add where
// things happen; registers (block counters, block card_counters) and monitors read.
//
// Counters of a function start again when somebody else uses it; work of the user before, which may
// still be on its way then, counts for the card alone. Those of the card start again when the card
// is reset. Kernel thread only; times are simulated picoseconds.
#pragma once

#include <contract/registers.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/common/work_done.h"

namespace spyre::model {

// In the order of their registers, PERF_TIME_LO and on.
enum class PerformanceCounter : uint8_t {
  kTime,  // of the reading
  kDeviceRead,
  kDeviceWritten,
  kPcieReceived,
  kPcieSent,
  kPeerRead,
  kPeerWritten,
  kDeviceReads,
  kDeviceWrites,
  kPcieReads,
  kPcieWrites,
  kPeerReads,
  kPeerWrites,
  kOperations,
  kBusy,
  kPtActive,
  kMacs,
  kMemory,
  kMemoryPeak,
  kEnd,  // no counter
};
inline constexpr auto kPerformanceCounters = static_cast<size_t>(PerformanceCounter::kEnd);
static_assert((regs::PERF_MEMORY_PEAK_LO - regs::PERF_TIME_LO) / 8 + 1 == kPerformanceCounters &&
                  (regs::CARD_MEMORY_PEAK_LO - regs::CARD_TIME_LO) / 8 + 1 == kPerformanceCounters,
              "name the last registers here");

// All at one moment. Units as in registers.toml.
class CounterValues {
 public:
  uint64_t& operator[](PerformanceCounter counter) { return of_[static_cast<size_t>(counter)]; }
  uint64_t operator[](PerformanceCounter counter) const {
    return of_[static_cast<size_t>(counter)];
  }
  uint64_t at(size_t index) const { return of_[index]; }

 private:
  std::array<uint64_t, kPerformanceCounters> of_{};
};

class PerformanceCounters {
 public:
  // macs_per_cycle: of fp16, of the PT arrays of one core.
  PerformanceCounters(unsigned functions, uint64_t macs_per_cycle);

  // --- the blocks ---
  void CountMemory(unsigned function, bool write) {
    Both(function, write ? PerformanceCounter::kDeviceWrites : PerformanceCounter::kDeviceReads, 1);
  }
  // A read or write of the card over PCIe; peer: another card has answered it.
  void CountPcie(unsigned function, bool write, uint64_t bytes, bool peer) {
    using Counter = PerformanceCounter;
    Both(function, write ? Counter::kPcieSent : Counter::kPcieReceived, bytes);
    Both(function, write ? Counter::kPcieWrites : Counter::kPcieReads, 1);
    if (!peer) return;
    Both(function, write ? Counter::kPeerWritten : Counter::kPeerRead, bytes);
    Both(function, write ? Counter::kPeerWrites : Counter::kPeerReads, 1);
  }
  // An operation begins to run on an engine, and has ended. `work` is its own until then, and is
  // read meanwhile.
  void Begin(unsigned function, const WorkDone& work, uint64_t now_ps);
  void End(const WorkDone& work, uint64_t now_ps);
  // Told at each Begin, before it.
  void OnBegin(std::function<void()> hook) { on_begin_ = std::move(hook); }

  // --- the card ---
  void Restart(unsigned function, uint64_t now_ps);  // somebody else uses it from now on
  void RestartAll(uint64_t now_ps);

  // --- readers; kMemory and kMemoryPeak are for the caller to fill in ---
  CounterValues Read(unsigned function, uint64_t now_ps) const;
  CounterValues ReadCard(uint64_t now_ps) const { return ReadGroup(card_, now_ps); }
  // Of the card, with what running operations have done so far: exact where kPtActive is in whole
  // cycles.
  WorkDone ReadCardWork() const { return WorkOf(card_); }
  bool busy() const { return !running_.empty(); }

 private:
  struct Running {
    unsigned function;
    const WorkDone* work;
    WorkDone counted;  // before the counters of the card started again
    bool orphan;       // its function has another user now
  };
  // Of a function, or of the card.
  struct Group {
    CounterValues values;
    uint64_t operations_running = 0;
    uint64_t busy_since_ps = 0;
    WorkDone work;  // of operations that have ended
  };

  void Both(unsigned function, PerformanceCounter counter, uint64_t amount) {
    functions_[function].values[counter] += amount;
    card_.values[counter] += amount;
  }
  static void BeginIn(Group& group, uint64_t now_ps);
  static void EndIn(Group& group, uint64_t now_ps);
  static void Add(WorkDone& sum, const WorkDone& more);
  WorkDone WorkOf(const Group& group) const;
  CounterValues ReadGroup(const Group& group, uint64_t now_ps) const;

  const uint64_t macs_per_cycle_;
  std::vector<Group> functions_;
  Group card_;
  std::vector<Running> running_;  // one for each engine at most
  std::function<void()> on_begin_;
};

}  // namespace spyre::model
