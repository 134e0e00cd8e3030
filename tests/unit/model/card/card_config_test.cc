#include "model/card/card_config.h"

#include <gmock/gmock.h>

#include "model/contract/error.h"

namespace spyre::model {
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

}  // namespace
}  // namespace spyre::model
