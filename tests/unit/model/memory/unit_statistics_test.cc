// SPDX-License-Identifier: Apache-2.0
#include "model/memory/unit_statistics.h"

#include <gtest/gtest.h>

namespace spyre::model::unit_statistics_test {
namespace {

TEST(UnitStatistics, OfAChannelNameEveryCauseOfLostBusTime) {
  ChannelStatistics channel;
  channel.reads = 3;
  channel.writes = 4;
  channel.read_bytes = 300;
  channel.write_bytes = 400;
  channel.busy_ps = 1000;
  channel.check_ps = 100;
  channel.lost_row_ps = 1;
  channel.lost_bank_group_ps = 2;
  channel.lost_turnaround_ps = 3;
  channel.lost_refresh_ps = 4;
  const UnitStatistics unit = UnitOf("memory.channel03", channel);
  EXPECT_EQ(unit.name, "memory.channel03");
  EXPECT_EQ(unit.requests, 7u);
  EXPECT_EQ(unit.bytes, 700u);
  EXPECT_EQ(unit.busy_ps, 1000u);
  EXPECT_EQ(unit.lost(Loss::kRowMiss), 1u);
  EXPECT_EQ(unit.lost(Loss::kBankGroup), 2u);
  EXPECT_EQ(unit.lost(Loss::kTurnaround), 3u);
  EXPECT_EQ(unit.lost(Loss::kRefresh), 4u);
  EXPECT_EQ(unit.lost(Loss::kEccCheck), 100u);
}

}  // namespace
}  // namespace spyre::model::unit_statistics_test
