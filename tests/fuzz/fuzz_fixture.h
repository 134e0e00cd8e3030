// SPDX-License-Identifier: Apache-2.0
// What every fuzz test stands on: a card with two virtual functions at whose memory the test throws
// random work, canaries around everything that the work must not reach, and the promises that are
// checked after each round. Seeds are fixed: a failure repeats.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/ranges.h"
#include "bringup/ladder/raw_queue.h"
#include "bringup/ladder/rung.h"
#include "tests/fuzz/chaos.h"

namespace spyre::fuzz {

using bringup::RawQueue;

class Fuzz : public bringup::Rung {
 protected:
  static constexpr uint64_t kRegionBytes = 256 << 10;    // of each of two regions of a VF
  static constexpr uint64_t kPhysicalBase = 8ull << 30;  // what the PF may touch
  static constexpr uint8_t kCanary = 0xC3;
  static constexpr size_t kHostBytes = 64 << 10;

  // A function under fire: its queue and its host buffer, both between canaries.
  struct Target {
    driver::FunctionId function;
    std::unique_ptr<RawQueue> queue;
    std::vector<uint8_t> host;
    driver::IoAddress io = 0;
  };

  void SetUp() override {
    EnableVfs(kRegionBytes, 2);
    driver::PhysicalFunction(Physical())
        .MapRange(kPhysicalBase, kRegionBytes,
                  kPermissionRead | kPermissionWrite | kPermissionExecute);
    Physical().Close();
    EnableBars(1);
    EnableBars(2);
    for (const uint64_t address : CanaryAddresses()) Poke(address, kCanaryWord);
  }

  Target Aim(driver::FunctionId function, uint32_t entries = 16) {
    Target target{function, std::make_unique<RawQueue>(card(), function, entries, entries),
                  std::vector<uint8_t>(kHostBytes)};
    target.io = card().MapHost(function, target.host.data(), target.host.size());
    return target;
  }
  // Host memory of another function: must never change.
  void GuardHost(driver::FunctionId owner) {
    guard_.assign(kHostBytes, kCanary);
    guard_io_ = card().MapHost(owner, guard_.data(), guard_.size());
  }
  driver::IoAddress guard_io() const { return guard_io_; }

  // The promises. `victim`: the function whose memory may have changed.
  void ExpectNothingElseTouched(driver::FunctionId victim) {
    for (const uint64_t address : CanaryAddresses()) {
      const bool own = victim == 0
                           ? address >= kPhysicalBase && address < kPhysicalBase + kRegionBytes
                           : InRegionOf(victim, address);
      if (own) continue;
      ASSERT_EQ(Peek(address), kCanaryWord) << "device memory at " << address;
    }
    ASSERT_TRUE(AllFit(guard_, [](uint8_t b) { return b == kCanary; }))
        << "host memory of another function";
  }
  // Every entry that was taken is answered, or the queue has stopped with a reason, or somebody is
  // named who waits.
  void ExpectAnsweredOrExplained(Target& target) {
    if (!MissesAnswers(target)) return;
    auto& registers = target.queue->registers();
    if (registers.ReadErrorCode() != 0 || !card().Diagnose().empty()) return;
    // Nobody works or waits any more: what is done is on its way.
    target.queue->Settle(bringup::kMillisecondPs);
    if (!MissesAnswers(target)) return;
    // The test has moved or resized the response ring: answers are not where the queue looks for
    // them, and the card's own count says whether they are all there.
    const uint32_t told = registers.ReadSqTail(), taken = registers.ReadSqHead();
    const uint32_t answered = registers.ReadRqTail();
    if (!target.queue->HasItsResponseRing() && told == taken && taken == answered) return;
    FAIL() << "function " << target.function << ": "
           << target.queue->submitted() - target.queue->answered()
           << " entries without answer and no reason; SQ_TAIL " << told << ", SQ_HEAD " << taken
           << ", RQ_TAIL " << answered << ", RQ_HEAD " << registers.ReadRqHead();
  }
  // A tail rung at random can make the card take old entries again, and answer more than there are.
  static bool MissesAnswers(const Target& target) {
    return static_cast<int32_t>(target.queue->submitted() - target.queue->answered()) > 0;
  }
  void ExpectNopWorksAfterReset(Target& target) {
    target.queue->Start();
    if (target.function == 0) {
      target.queue->Put(target.queue->Make<ControlBlock>(Opcode::NOP));
    } else {
      target.queue->Put(target.queue->Make<Message>(Opcode::NOP));
    }
    target.queue->Ring();
    // An instruction that runs when the reset comes is finished first: at most some milliseconds.
    for (int i = 0; i < 50 && target.queue->answered() == 0; ++i) last_ = target.queue->Settle();
    ASSERT_EQ(last_, (std::map<uint64_t, Status>{{1, Status::OK}}))
        << "a NOP after reset, function " << target.function << "\n"
        << card().Diagnose();
  }

  uint32_t Peek(uint64_t address) {
    Window(address);
    return card().Read32(0, 2, address % kBar2Bytes);
  }
  void Poke(uint64_t address, uint32_t value) {
    Window(address);
    card().Write32(0, 2, address % kBar2Bytes, value);
  }

 private:
  static constexpr uint32_t kCanaryWord = 0xC3C3C3C3;

  void Window(uint64_t address) { Registers(0).WriteWindowBase(address - address % kBar2Bytes); }
  static bool InRegionOf(driver::FunctionId vf, uint64_t address) {
    for (int region = 0; region < 2; ++region) {
      const uint64_t base = RegionBase(vf, region);
      if (address >= base && address < base + kRegionBytes) return true;
    }
    return false;
  }
  // First, middle and last word of every region, and the words just outside.
  static std::vector<uint64_t> CanaryAddresses() {
    std::vector<uint64_t> addresses;
    std::vector<uint64_t> bases = {kPhysicalBase};
    for (driver::FunctionId vf : {1, 2}) {
      for (int region = 0; region < 3; ++region) bases.push_back(RegionBase(vf, region));
    }
    for (const uint64_t base : bases) {
      if (base != 0) addresses.push_back(base - 4);
      for (const uint64_t offset : {uint64_t{0}, kRegionBytes / 2, kRegionBytes - 4, kRegionBytes})
        addresses.push_back(base + offset);
    }
    return addresses;
  }

  std::vector<uint8_t> guard_;
  driver::IoAddress guard_io_ = 0;
  std::map<uint64_t, Status> last_;
};

}  // namespace spyre::fuzz
