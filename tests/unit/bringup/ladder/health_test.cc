// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spyre::bringup::health_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> TextsOf(const std::vector<HealthFinding>& findings) {
  std::vector<std::string> texts;
  for (const HealthFinding& finding : findings) texts.push_back(finding.text);
  return texts;
}

TEST(Health, NothingNewIsNoFinding) {
  Health health;
  health.errors.corrected = 7;
  health.correctable = 1;
  health.operations = 100;
  EXPECT_THAT(CompareHealth(health, health, false, {}), IsEmpty());
}

TEST(Health, CorrectedWordsAreMarginalAndNameTheirChannels) {
  Health before, now;
  before.errors.channels.resize(4);
  now.errors.channels.resize(4);
  before.errors.corrected = before.errors.channels[1].corrected = 2;
  now.errors.corrected = 5;
  now.errors.channels[1].corrected = 4;
  now.errors.channels[3].corrected = 1;
  const std::vector<HealthFinding> findings = CompareHealth(before, now, false, {});
  EXPECT_THAT(
      TextsOf(findings),
      ElementsAre("3 words of device memory had to be corrected (channel 1: 2, channel 3: 1)"));
  EXPECT_FALSE(findings[0].is_failure);
  HealthLimits limits;
  limits.corrected_words = 3;
  EXPECT_THAT(CompareHealth(before, now, false, limits), IsEmpty()) << "the board may have them";
}

TEST(Health, WhatIsLostIsAFailure) {
  Health before, now;
  now.errors.uncorrected = 1;
  now.errors.ring_dead = 1;
  now.errors.lx_parity = 1;
  for (const HealthFinding& finding : CompareHealth(before, now, false, {}))
    EXPECT_TRUE(finding.is_failure) << finding.text;
  EXPECT_EQ(CompareHealth(before, now, false, {}).size(), 3u);
}

TEST(Health, ACardThatBeginsAgainByItselfFails) {
  Health before, now;
  before.operations = 10;
  before.errors.corrected = 4;
  now.operations = 2;
  now.errors.corrected = 1;  // since the reset
  EXPECT_THAT(TextsOf(CompareHealth(before, now, true, {})),
              ElementsAre("1 word of device memory had to be corrected"));
  EXPECT_THAT(CompareHealth(before, now, false, {}).back().text, HasSubstr("has begun again"));
}

TEST(Health, SlownessSaysWhy) {
  Health before, now;
  now.throttled_ps = 2'000'000'000;
  now.percent = 70;
  now.temperature = true;
  EXPECT_THAT(
      TextsOf(CompareHealth(before, now, false, {})),
      ElementsAre("the cores were slower than they can be for 2.000 ms; now they run at 70 %: "
                  "the temperature limit"));
}

TEST(Health, OnlyNewErrorsOfTheLinkCount) {
  Health before, now;
  before.uncorrectable = 1u << 12;
  now.uncorrectable = 1u << 12 | 1u << 18 | 1u << 20;  // an unsupported request is no link's
  now.correctable = 1u << 6;
  EXPECT_THAT(TextsOf(CompareHealth(before, now, false, {})),
              ElementsAre("the PCIe link has met a bad packet",
                          "the PCIe link has met a malformed packet"));
}

}  // namespace
}  // namespace spyre::bringup::health_test
