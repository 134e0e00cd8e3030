// SPDX-License-Identifier: Apache-2.0
// Declared faults while a card runs: which of them strike, when and where, and what came of each.
//
// A block that knows a kind of fault asks Strike at each of its places (FaultSite) and, when one
// strikes, does what that fault does; it says Corrected or Detected when its own means have found
// it, never because a fault was declared. What the host finds, and what is never found, is settled
// after the run (cosim/session). A block of a card without faults has no FaultPort, and asks
// nobody. Kernel thread only; times are simulated picoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/common/hardware_error.h"
#include "model/fault/fault_kind.h"

namespace spyre::model {

// Something that happens at a site, and may be struck.
struct FaultEvent {
  std::optional<uint64_t> channel, bank, row, core, function, stream, operation;
  uint64_t address = 0;
  uint64_t bytes = 0;  // 0: it has no address
  std::string_view link;
};

// A fault that has struck.
struct Injection {
  size_t number = 0;  // of the [[fault]], from 0
  const FaultSpec* fault = nullptr;
  uint64_t time_ps = 0;
  std::string place;
  FaultOutcome outcome = FaultOutcome::kPending;
  std::string by;  // who corrected or detected it
  uint64_t outcome_ps = 0;

  FaultKind kind() const { return fault->kind; }
  std::string Text() const;  // "memory_double_bit at channel 3, bank 1, row 7, at 123.456 us"
};

class FaultInjector {
 public:
  explicit FaultInjector(std::vector<FaultSpec> faults);

  const std::vector<FaultSpec>& faults() const { return *faults_; }
  bool Has(FaultSite site) const;
  // The first fault that strikes `event`, or null. It lives as long as this. only_addressed: only
  // one that names its address can. Of a site where each fault has a time (kTime): see StrikeAt.
  Injection* Strike(FaultSite site, const FaultEvent& event, uint64_t now_ps,
                    bool only_addressed = false);
  // The moment of fault `number` has come.
  Injection& StrikeAt(size_t number, const std::string& place, uint64_t now_ps);
  // The first outcome counts, but for Recovered: what was detected is right in the end.
  static void Recovered(Injection& injection, std::string_view by, uint64_t now_ps);
  static void Masked(Injection& injection, std::string_view why, uint64_t now_ps);
  static void Corrected(Injection& injection, std::string_view by, uint64_t now_ps);
  static void Detected(Injection& injection, std::string_view by, uint64_t now_ps);

  // In the order of their times.
  std::deque<Injection>& injections() { return injections_; }
  const std::deque<Injection>& injections() const { return injections_; }

 private:
  struct State {
    FaultSite site;
    uint64_t events = 0;
    uint64_t struck = 0;
  };

  std::shared_ptr<const std::vector<FaultSpec>> faults_;  // of copies too: injections refer to it
  std::vector<State> states_;
  std::deque<Injection> injections_;
};

// What a block needs to be struck, and to say what it has found.
struct FaultPort {
  FaultInjector* injector = nullptr;
  HardwareErrorSink* errors = nullptr;
};

// A number from 0 to 2^64 - 1 that two others choose, evenly and always the same (SplitMix64).
uint64_t FaultHash(uint64_t seed, uint64_t number);

}  // namespace spyre::model
