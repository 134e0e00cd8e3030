// SPDX-License-Identifier: Apache-2.0
#include "model/card/check_card.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace spyre::model::check_card_test {
namespace {

std::string Refusal(const CardConfig& config) {
  try {
    CheckCard(config);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kBadInput ? error.what() : "not bad input";
  }
  return "accepted";
}

TEST(CardConfig, TheDefaultsAreAccepted) { EXPECT_EQ(Refusal(CardConfig{}), "accepted"); }

TEST(CardConfig, AClockThatDoesNotRunIsRefusedByItsKey) {
  CardConfig config;
  config.clock.core_mhz = 0;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.clock.core_mhz = 0 MHz"));
  config = {};
  config.clock.ring_mhz = 0;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.clock.ring_mhz = 0 MHz"));
}

TEST(CardConfig, AClockFasterThanPicosecondsIsRefusedByItsKey) {
  CardConfig config;
  config.clock.core_mhz = 1'000'001;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.clock.core_mhz = 1000001 MHz"));
}

TEST(CardConfig, ALinkThatPcieDoesNotHaveIsRefusedByItsKey) {
  const auto refusal = [](uint64_t PcieConfig::*field, uint64_t value) {
    CardConfig config;
    config.pcie.*field = value;
    return Refusal(config);
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal(&PcieConfig::lanes, 12), HasSubstr("card.pcie.lanes = 12 "));
  EXPECT_THAT(refusal(&PcieConfig::rate_mts, 5000), HasSubstr("card.pcie.rate_mts = 5000 "));
  EXPECT_THAT(refusal(&PcieConfig::max_payload_bytes, 300),
              HasSubstr("card.pcie.max_payload_bytes = 300 "));
  EXPECT_THAT(refusal(&PcieConfig::host_posted_data, 31),
              HasSubstr("card.pcie.host_posted_data = 31 x 16 bytes hold no packet"));
  EXPECT_THAT(refusal(&PcieConfig::completion_buffer_bytes, 2048),
              HasSubstr("card.pcie.completion_buffer_bytes = 2048 "));
  EXPECT_EQ(refusal(&PcieConfig::host_posted_data, 32), "accepted");
}

TEST(CardConfig, APowerLimitThatNoSlowerClockKeepsIsRefused) {
  CardConfig config;
  config.power.limit_mw = config.power.idle_mw + config.power.busy_mw;
  EXPECT_EQ(Refusal(config), "accepted") << "nothing throttles";
  config.power.throttle = Throttle::kClock;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.power.limit_mw = 26000"));
  ++config.power.limit_mw;
  EXPECT_EQ(Refusal(config), "accepted");
}

TEST(CardConfig, VitalProductDataAreShortPrintableText) {
  CardConfig config;
  for (const char* text : {"", "a\tb", "\xC3\xA4", "123456789012345678901234567890123"}) {
    config.vpd.serial_number = text;
    EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.vpd.serial_number"));
  }
  config.vpd.serial_number = "12345678901234567890123456789012";
  EXPECT_EQ(Refusal(config), "accepted");
  config.vpd.part_number = "";
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.vpd.part_number"));
}

TEST(CardConfig, AnRtlPtArrayHasOneSize) {
  CardConfig config;
  config.pt.fidelity = model::BlockFidelity::kRtl;
  EXPECT_EQ(Refusal(config), "accepted") << "the defaults are its size";
  config.core.pt_accumulate_cycles = 8;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.core.pt_accumulate_cycles = 8"));
  config.pt.fidelity = model::BlockFidelity::kTimed;
  EXPECT_EQ(Refusal(config), "accepted") << "a timed one has any";
}

TEST(CardConfig, PartitionsAreOfEqualSizeAndOfATimedCard) {
  CardConfig config;
  config.partitions = 3;
  EXPECT_EQ(Refusal(config), "accepted") << "of serial hardware nobody asks";
  config.concurrency = model::Concurrency::kConcurrent;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.partitions = 3"));
  config.partitions = 8;
  EXPECT_EQ(Refusal(config), "accepted");
  config.fidelity = model::Fidelity::kFast;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.fidelity = \"fast\""));
}

TEST(CardConfig, RtlPtArraysOfCoresThatAreNotThereAreRefused) {
  CardConfig config;
  config.cores = 4;
  config.pt.fidelity = model::BlockFidelity::kRtl;
  config.pt.rtl_cores = 0x30;
  EXPECT_THAT(Refusal(config), ::testing::HasSubstr("card.pt.rtl_cores = 0x30"));
  config.pt.rtl_cores = 0x18;
  EXPECT_EQ(Refusal(config), "accepted") << "core 3 is there";
}

}  // namespace
}  // namespace spyre::model::check_card_test
