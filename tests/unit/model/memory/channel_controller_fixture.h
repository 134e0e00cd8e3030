// SPDX-License-Identifier: Apache-2.0
// A channel alone, with requests at chosen times; for the tests of its timing and of its rules.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "model/memory/channel_controller.h"

namespace spyre::model::test {

// Times in picoseconds, LPDDR5-6400: tCK 1250, a burst of 32 bytes fills the bus for 2500. Refresh
// and ECC are off, and banks follow the row, unless a test is about them.
inline constexpr uint64_t kRcd = 18'750, kRp = 18'750, kRas = 42'500, kRl = 21'250, kWl = 11'250;
inline constexpr uint64_t kCcdS = 2'500, kCcdL = 5'000, kRrd = 5'000, kWtrS = 6'250, kWtrL = 12'500;
inline constexpr uint64_t kWr = 35'000, kRtp = 10'000;
inline constexpr uint64_t kReadHit = kRl + kCcdL;       // column command to last beat
inline constexpr uint64_t kReadMiss = kRcd + kReadHit;  // the bank has no open row
inline constexpr uint64_t kLater = 10'000'000;

class ChannelControllerTest : public ::testing::Test {
 protected:
  ChannelControllerTest() {
    config_.ecc = model::Ecc::kNone;
    config_.refresh = model::RefreshKind::kNone;
    config_.bank_mapping = model::BankMapping::kRowBankColumn;
    config_.write_idle_ns = 0;
  }
  // Bank b is in group b % 4.
  uint64_t Address(uint64_t bank, uint64_t row = 0, uint64_t column = 0) const {
    return (row * 16 + bank) * config_.page_bytes + column;
  }
  ChannelController& Channel() {
    if (channel_ == nullptr) channel_ = std::make_unique<ChannelController>(config_);
    return *channel_;
  }
  void Read(uint64_t id, uint64_t address, uint64_t arrival = 0, uint32_t bytes = 32) {
    Channel().Submit({id, arrival, address, bytes, false});
  }
  void Write(uint64_t id, uint64_t address, uint64_t arrival = 0, uint32_t bytes = 32) {
    Channel().Submit({id, arrival, address, bytes, true});
  }
  // Goes on until nothing is left to do; done_[id] is when it was done.
  void Finish() {
    std::vector<MemoryCompletion> done;
    while (Channel().NextDecisionPs() != UINT64_MAX) {
      const uint64_t next = Channel().NextDecisionPs();
      ASSERT_GE(next, now_) << "time goes forward";
      now_ = next;
      Channel().Advance(now_, done);
    }
    for (const MemoryCompletion& completion : done) {
      EXPECT_TRUE(done_.emplace(completion.id, completion.done_ps).second)
          << completion.id << " completed twice";
      order_.push_back(completion.id);
    }
  }

  MemoryConfig config_;
  std::unique_ptr<ChannelController> channel_;
  std::map<uint64_t, uint64_t> done_;
  std::vector<uint64_t> order_;
  uint64_t now_ = 0;
};

}  // namespace spyre::model::test
