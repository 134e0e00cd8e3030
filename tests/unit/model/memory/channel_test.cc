#include "model/memory/channel.h"

#include <gtest/gtest.h>

namespace spyre::model {
namespace {

// Times in picoseconds. 12.8 GB/s: 128 bytes take 10,000 ps. Refresh is put out of the way unless a
// test is about it.
class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() { config_.memory.t_rfc_ab_ps = 0; }
  CardConfig config_;
  const uint64_t kData = 10'000;
  const uint64_t kLatency = 21'250;
  const uint64_t kActivate = 18'750;
  const uint64_t kPrecharge = 18'750;
};

TEST_F(ChannelTest, AFirstAccessActivatesARowHitDoesNotAConflictPrechargesToo) {
  MemoryChannel channel(0, config_, nullptr);
  EXPECT_EQ(channel.Access(0, 128, false, 0, 0), kActivate + kLatency + kData);
  const uint64_t later = 1'000'000;
  EXPECT_EQ(channel.Access(128, 128, false, later, 0), later + kLatency + kData);
  const uint64_t conflict = config_.memory.page_bytes * 16;  // same bank, next row
  EXPECT_EQ(channel.Access(conflict, 128, false, 2 * later, 0),
            2 * later + kPrecharge + kActivate + kLatency + kData);
  EXPECT_EQ(channel.row_hits(), 1u);
  EXPECT_EQ(channel.row_misses(), 2u);
}

TEST_F(ChannelTest, RowHitsFollowEachOtherAtBusSpeed) {
  MemoryChannel channel(0, config_, nullptr);
  const uint64_t first = channel.Access(0, 128, false, 0, 0);
  EXPECT_EQ(channel.Access(128, 128, false, 0, 0), first + kData);
  EXPECT_EQ(channel.Access(256, 128, false, 0, 0), first + 2 * kData);
  EXPECT_GT(channel.statistics().waited_ps, 0u);
}

TEST_F(ChannelTest, BanksPrepareTheirRowsSideBySide) {
  MemoryChannel channel(0, config_, nullptr);
  const uint64_t first = channel.Access(0, 128, false, 0, 0);
  EXPECT_EQ(channel.Access(config_.memory.page_bytes, 128, false, 0, 0), first + kData)
      << "only the bus is shared";
}

TEST_F(ChannelTest, WritesGatherAndTurnTheBusRoundOnceForAll) {
  config_.memory.write_buffer_bytes = 512;
  MemoryChannel channel(0, config_, nullptr);
  const uint64_t read = channel.Access(0, 128, false, 0, 0);
  for (uint64_t i = 1; i < 4; ++i)
    EXPECT_EQ(channel.Access(i * 128, 128, true, 7, 0), 7u) << "taken by the buffer";
  EXPECT_EQ(channel.statistics().bytes, 4u * 128) << "held bytes count";
  const uint64_t drained = channel.Access(512, 128, true, 7, 0);
  EXPECT_EQ(drained, read + ReadToWritePs(config_.memory) + 4 * kData);
  EXPECT_EQ(channel.Access(640, 128, false, 7, 0), drained + WriteToReadPs(config_.memory) + kData);
}

TEST_F(ChannelTest, TurningTheBusRoundCosts) {
  config_.memory.write_buffer_bytes = 0;
  MemoryChannel channel(0, config_, nullptr);
  const uint64_t read = channel.Access(0, 128, false, 0, 0);
  const uint64_t write = channel.Access(128, 128, true, 0, 0);
  EXPECT_EQ(write, read + ReadToWritePs(config_.memory) + kData);
  EXPECT_EQ(channel.Access(256, 128, false, 0, 0), write + WriteToReadPs(config_.memory) + kData);
}

TEST_F(ChannelTest, RefreshHoldsTheBus) {
  config_.memory.t_rfc_ab_ps = 280'000;
  MemoryChannel channel(0, config_, nullptr);
  EXPECT_EQ(channel.Access(0, 128, false, 0, 0), 280'000 + kData)
      << "the interval starts with a refresh";
}

TEST_F(ChannelTest, FunctionalFidelityHasLatencyButNoQueue) {
  config_.fidelity = "functional";
  MemoryChannel channel(0, config_, nullptr);
  channel.Access(0, 128, false, 0, 0);
  EXPECT_EQ(channel.Access(128, 128, false, 0, 0), kLatency + kData);
  EXPECT_EQ(channel.Access(256, 128, true, 0, 0), kLatency + kData);
}

}  // namespace
}  // namespace spyre::model
