// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/read_rules.h"

#include <contract/registers.h>
#include <gtest/gtest.h>

namespace spyre::cosim::read_rules_test {
namespace {

bool Allowed(uint32_t offset, uint32_t recorded, uint32_t replayed) {
  return Allows(RuleOf(0, offset), recorded, replayed);
}

TEST(ReadRules, ClocksAreNotCompared) {
  EXPECT_TRUE(Allowed(regs::TIME_LO, 1, 2));
  EXPECT_TRUE(Allowed(regs::TIME_HI, 1, 2));
}

TEST(ReadRules, WhatTheCardIsMustBeTheSameAtOnce) {
  EXPECT_FALSE(Allowed(regs::CAPABILITIES, 1, 2));
  EXPECT_FALSE(MayChange(RuleOf(0, regs::CAPABILITIES)));
  EXPECT_FALSE(Allowed(regs::SCRATCH, 1, 2));
}

TEST(ReadRules, CountsReachTheRecordedOneAlsoWhenTheyWrap) {
  EXPECT_TRUE(Allowed(regs::SQ_HEAD, 5, 6));
  EXPECT_FALSE(Allowed(regs::SQ_HEAD, 6, 5));
  EXPECT_TRUE(Allowed(regs::RQ_TAIL, 0xFFFFFFFF, 1));
  EXPECT_FALSE(Allowed(regs::RQ_TAIL, 1, 0xFFFFFFFF));
}

TEST(ReadRules, BusyMayEndEarlierButNotLater) {
  const uint32_t ready = regs::STATUS_READY_MASK;
  const uint32_t busy = ready | regs::STATUS_BUSY_MASK;
  EXPECT_TRUE(Allowed(regs::STATUS, busy, ready));
  EXPECT_FALSE(Allowed(regs::STATUS, ready, busy));
  EXPECT_FALSE(Allowed(regs::STATUS, ready, ready | regs::STATUS_ERROR_MASK));
}

TEST(ReadRules, MoreCausesThanRecordedAreAllowedFewerAreNot) {
  EXPECT_TRUE(Allowed(regs::INT_STATUS, 1, 3));
  EXPECT_FALSE(Allowed(regs::INT_STATUS, 3, 1));
}

TEST(ReadRules, AnAnswerIsComparedWhenThereIsOne) {
  EXPECT_TRUE(Allowed(regs::ADMIN_STATUS, kAdminBusy, 0));
  EXPECT_FALSE(Allowed(regs::ADMIN_STATUS, 0, kAdminBusy));
  EXPECT_FALSE(Allowed(regs::MBOX_STATUS, 0, 2));
}

TEST(ReadRules, BeforeTheFirmwareHasBootedNothingIsCompared) {
  const auto boot = static_cast<uint32_t>(FirmwareState::BOOT);
  const auto ready = static_cast<uint32_t>(FirmwareState::READY);
  EXPECT_TRUE(Allowed(regs::MGMT_STATE, boot, ready));
  EXPECT_FALSE(Allowed(regs::MGMT_STATE, ready, boot));
  EXPECT_TRUE(Allowed(regs::MGMT_VERSION, 0, 0x10000));
  EXPECT_FALSE(Allowed(regs::MGMT_VERSION, 0x10000, 0));
}

TEST(ReadRules, OtherBarsAreMemory) { EXPECT_EQ(RuleOf(2, regs::TIME_LO), ReadRule::kEqual); }

TEST(ReadRules, NamesAndFieldsAreThoseOfTheContract) {
  EXPECT_EQ(RegisterName(0, regs::STATUS), "STATUS (BAR0 0x0014)");
  EXPECT_EQ(RegisterName(2, 0x1000), "BAR2 0x1000");
  EXPECT_EQ(RegisterValue(0, regs::STATUS, 5), "0x00000005 (READY 1, BUSY 0, ERROR 1)");
  EXPECT_EQ(RegisterValue(0, regs::SCRATCH, 5), "0x00000005");
}

}  // namespace
}  // namespace spyre::cosim::read_rules_test
