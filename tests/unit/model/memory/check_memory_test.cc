// SPDX-License-Identifier: Apache-2.0
// What contradictory memory parameters are told.
#include "model/memory/check_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace spyre::model::check_memory_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckMemoryTest : public ::testing::Test {
 protected:
  std::string Message() const {
    try {
      CheckMemory(memory_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "no error";
  }
  MemoryConfig memory_;
};

TEST_F(CheckMemoryTest, TheDefaultsAreFine) { EXPECT_EQ(Message(), "no error"); }

TEST_F(CheckMemoryTest, ARowIsOpenAtLeastUntilItsFirstColumnCommand) {
  memory_.t_ras_ps = 10'000;
  EXPECT_THAT(Message(), AllOf(HasSubstr("card.memory.t_ras_ps = 10000"),
                               HasSubstr("card.memory.t_rcd_ps = 18750")));
}

TEST_F(CheckMemoryTest, ThereIsAChannel) {
  memory_.channels = 0;
  EXPECT_THAT(Message(), HasSubstr("card.memory.channels = 0"));
}

TEST_F(CheckMemoryTest, ABurstIsAWholeNumberOfClockPeriods) {
  memory_.clock_ps = 1'000;
  EXPECT_THAT(Message(), AllOf(HasSubstr("takes 2500 ps"), HasSubstr("card.memory.clock_ps = 1000"),
                               HasSubstr("card.memory.transfer_mts = 6400")));
}

TEST_F(CheckMemoryTest, BurstsOfAGroupAreOneOrTwoBurstsApart) {
  memory_.t_ccd_l_ps = 7'500;
  EXPECT_THAT(Message(), HasSubstr("card.memory.t_ccd_l_ps = 7500 must be one burst (2500 ps"));
}

TEST_F(CheckMemoryTest, TheHighThresholdIsAboveTheLowOneAndInsideTheQueue) {
  memory_.write_low = memory_.write_high;
  EXPECT_THAT(Message(), HasSubstr("is not above card.memory.write_low"));
  memory_ = {};
  memory_.write_high = memory_.write_queue + 1;
  EXPECT_THAT(Message(), HasSubstr("is above card.memory.write_queue"));
}

TEST_F(CheckMemoryTest, RefreshLeavesTime) {
  memory_.t_refi_ps = 280'000;
  EXPECT_THAT(Message(), AllOf(HasSubstr("card.memory.t_rfc_ab_ps = 280000"),
                               HasSubstr("card.memory.t_refi_ps = 280000")));
  memory_ = {};
  memory_.refresh = model::RefreshKind::kPerBank;
  memory_.t_rfc_pb_ps = 488'000;
  EXPECT_THAT(Message(), HasSubstr("a per-bank refresh every 488250 ps"));
  memory_.t_rfc_pb_ps = 140'000;
  memory_.t_pbr2act_ps = 488'000;
  EXPECT_THAT(Message(), HasSubstr("card.memory.t_pbr2act_ps = 488000"))
      << "no row could be opened";
  memory_.t_pbr2act_ps = 7'500;
  memory_.t_faw_ps = 400'000;
  EXPECT_THAT(Message(), HasSubstr("nothing would ever be read"));
  memory_ = {};
  memory_.t_faw_ps = 1'000'000;
  EXPECT_THAT(Message(), HasSubstr("nothing would ever be read"));
  memory_.refresh = model::RefreshKind::kNone;
  EXPECT_EQ(Message(), "no error") << "without refresh its times do not matter";
}

TEST_F(CheckMemoryTest, APageHoldsWholeBurstsAndInterleaveBlocks) {
  memory_.page_bytes = 2'000;
  EXPECT_THAT(Message(), HasSubstr("card.memory.page_bytes = 2000 is not a multiple of a burst"));
  memory_ = {};
  memory_.interleave_bytes = 100;
  EXPECT_THAT(Message(), HasSubstr("card.memory.interleave_bytes = 100 is not a multiple of 32"));
  for (const uint64_t bytes : {512, 4096}) {
    memory_.interleave_bytes = bytes;
    EXPECT_THAT(Message(), HasSubstr("does not divide the 1792 bytes of data in a row"));
  }
  memory_ = {};
  memory_.page_bytes = 256;
  EXPECT_THAT(Message(), HasSubstr("does not hold card.memory.ecc_granule_bytes = 256"));
}

TEST_F(CheckMemoryTest, InLineEccNeedsItsShareOfTheCapacity) {
  memory_.ecc_gib = 8;
  EXPECT_THAT(Message(), AllOf(HasSubstr("card.memory.ecc_gib = 8"),
                               HasSubstr("takes 256 of the 2048 bytes of a row")));
  memory_.ecc = model::Ecc::kNone;
  EXPECT_EQ(Message(), "no error");
  memory_.ecc_gib = 128;
  EXPECT_THAT(Message(), HasSubstr("leaves nothing of card.memory.capacity_gib = 128"));
}

TEST_F(CheckMemoryTest, AnEccWordIsPartOfItsGranule) {
  memory_.ecc_word_bytes = 96;
  EXPECT_THAT(Message(), AllOf(HasSubstr("card.memory.ecc_word_bytes = 96"),
                               HasSubstr("card.memory.ecc_granule_bytes = 256")));
}

TEST_F(CheckMemoryTest, BanksComeInPowersOfTwo) {
  memory_.bank_groups = 3;
  EXPECT_THAT(Message(), HasSubstr("card.memory.bank_groups = 3 must be 1, 2, 4 or 8"));
}

}  // namespace
}  // namespace spyre::model::check_memory_test
