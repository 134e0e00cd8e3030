// SPDX-License-Identifier: Apache-2.0
// Commands and data of one channel, one clock after the other.
#include "tests/unit/model/memory/channel_controller_fixture.h"

namespace spyre::model::channel_controller_test {
namespace {

using namespace test;

TEST_F(ChannelControllerTest, AReadOfAClosedBankActivatesFirst) {
  Read(1, Address(0));
  Finish();
  EXPECT_EQ(done_[1], kReadMiss);
  EXPECT_EQ(Channel().statistics().row_misses, 1u);
}

TEST_F(ChannelControllerTest, ARowHitTakesOnlyTheReadLatency) {
  Read(1, Address(0));
  Read(2, Address(0, 0, 64), kLater);
  Finish();
  EXPECT_EQ(done_[2], kLater + kReadHit);
  EXPECT_EQ(Channel().statistics().row_hits, 1u);
}

TEST_F(ChannelControllerTest, AConflictPrechargesFirst) {
  Read(1, Address(0));
  Read(2, Address(0, 1), kLater);
  Finish();
  EXPECT_EQ(done_[2], kLater + kRp + kReadMiss);
  EXPECT_EQ(Channel().statistics().row_conflicts, 1u);
}

TEST_F(ChannelControllerTest, ARowStaysOpenForTRasAndForTRtpAfterItsLastRead) {
  Read(1, Address(0));
  Read(2, Address(0, 1));
  Finish();
  EXPECT_EQ(done_[2], kRas + kRp + kReadMiss) << "tRAS ends after tRCD + tRTP";
  Read(3, Address(1, 0, 0), kLater, 256);
  Read(4, Address(1, 1, 0), kLater);
  Finish();
  EXPECT_EQ(done_[4], kLater + kRcd + 7 * kCcdL + kRtp + kRp + kReadMiss) << "eight bursts";
}

TEST_F(ChannelControllerTest, AWrittenRowStaysOpenForTWrAfterItsLastData) {
  Write(1, Address(0), kLater);
  Read(2, Address(0, 1), kLater + kRcd + 1250);  // the write has its column command
  Finish();
  const uint64_t written = kLater + kRcd + kWl + kCcdL;
  EXPECT_EQ(done_[1], kLater) << "taken by the write queue";
  EXPECT_EQ(done_[2], written + kWr + kRp + kReadMiss);
}

TEST_F(ChannelControllerTest, ArrivalsAreTakenAtTheNextClock) {
  Read(1, Address(0), kLater + 1);
  Finish();
  EXPECT_EQ(done_[1], kLater + 1250 + kReadMiss);
}

TEST_F(ChannelControllerTest, BurstsOfOneBankGroupAreTCcdLApart) {
  Read(1, Address(0), 0, 256);
  Finish();
  EXPECT_EQ(done_[1], kReadMiss + 7 * kCcdL);
}

TEST_F(ChannelControllerTest, TwoBankGroupsShareTheBusBurstByBurst) {
  Read(1, Address(0));
  Read(2, Address(1));
  Finish();
  Read(3, Address(0), kLater, 256);
  Read(4, Address(1), kLater, 256);
  Finish();
  EXPECT_EQ(done_[3], kLater + kReadHit + 7 * kCcdL);
  EXPECT_EQ(done_[4], done_[3] + kCcdS) << "in the slots between the others";
}

TEST_F(ChannelControllerTest, BanksOfOneGroupTakeTurns) {
  Read(1, Address(0));
  Read(2, Address(4));
  Finish();
  Read(3, Address(0), kLater, 256);
  Read(4, Address(4), kLater, 256);
  Finish();
  EXPECT_EQ(done_[4], kLater + kReadHit + 15 * kCcdL);
  EXPECT_GT(Channel().statistics().lost_bank_group_ps, 0u);
}

TEST_F(ChannelControllerTest, ActivatesAreTRrdApart) {
  Read(1, Address(0));
  Read(2, Address(1));
  Finish();
  EXPECT_EQ(done_[2], kReadMiss + kRrd);
}

TEST_F(ChannelControllerTest, FourActivatesInTFaw) {
  config_.t_faw_ps = 40'000;
  for (uint64_t bank = 0; bank < 5; ++bank) Read(bank, Address(bank));
  Finish();
  EXPECT_EQ(done_[3], kReadMiss + 3 * kRrd);
  EXPECT_EQ(done_[4], kReadMiss + 40'000);
}

TEST_F(ChannelControllerTest, AnActivateThatMustWaitDoesNotHoldUpOthers) {
  Read(1, Address(0));
  Read(2, Address(0, 1));  // waits for tRAS and tRP
  Read(3, Address(1), 25'000);
  Finish();
  EXPECT_EQ(done_[3], 25'000 + kReadMiss);
  EXPECT_EQ(done_[2], kRas + kRp + kReadMiss);
}

TEST_F(ChannelControllerTest, AMissHidesBehindTheDataOfAnotherBank) {
  Read(1, Address(0), 0, 256);
  Read(2, Address(4, 0), 0, 256);  // the same group, so that it follows and does not interleave
  Finish();
  EXPECT_EQ(done_[2], done_[1] + 8 * kCcdL) << "no gap";
  EXPECT_EQ(Channel().statistics().lost_row_ps, (kRcd + kRcd + kRrd) / 2)
      << "only before the first, in both slots of the bus";
}

TEST_F(ChannelControllerTest, AWriteFollowsAReadByRlPlusBurstPlusGapMinusWl) {
  Read(1, Address(0));
  Read(2, Address(1));
  Finish();
  Read(3, Address(0), kLater);          // column command at kLater
  Write(4, Address(1, 0, 64), kLater);  // goes as soon as no read waits
  const uint64_t write_column = kLater + kRl + kCcdL + config_.t_rtw_gap_ps - kWl;
  Read(5, Address(1, 1), write_column + 1'250);  // must close the row that the write is in
  Finish();
  EXPECT_EQ(done_[5], write_column + kWl + kCcdL + kWr + kRp + kReadMiss);
}

TEST_F(ChannelControllerTest, AReadFollowsAWriteByTWtrOfItsBankGroup) {
  for (uint64_t bank = 0; bank < 2; ++bank) Read(bank, Address(bank));
  Finish();
  Write(2, Address(0, 0, 64), kLater);
  Read(3, Address(0), kLater + 1250);
  Read(4, Address(1), kLater + 1250);
  Finish();
  EXPECT_EQ(done_[3], kLater + kWl + kCcdL + kWtrL + kReadHit);
  EXPECT_EQ(done_[4], kLater + kWl + kCcdL + kWtrS + kReadHit);
}

}  // namespace
}  // namespace spyre::model::channel_controller_test
