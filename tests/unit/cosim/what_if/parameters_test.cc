// SPDX-License-Identifier: Apache-2.0
#include "cosim/what_if/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ranges.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::parameters_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Parameter Only(const std::string& key, const RunConfig& config = {}) {
  return ParametersOf(config, {key}).asked.at(0);
}

TEST(WhatIfParameters, EveryNumberIsAskedOrLeftOutWithAReason) {
  RunConfig config;
  const Parameters all = ParametersOf(config, {});
  size_t numbers = 0;
  for (const Field& field : Fields(config)) {
    const bool is_number = std::holds_alternative<uint64_t*>(field.value);
    const bool is_timed = field.key.rfind("card.", 0) == 0 || field.key.rfind("host.", 0) == 0;
    if (is_number && is_timed) ++numbers;
  }
  EXPECT_EQ(all.asked.size() + all.left_out.size(), numbers);
  for (const LeftOut& one : all.left_out) EXPECT_FALSE(one.reason.empty()) << one.key;
  EXPECT_GT(all.asked.size(), 60u);
}

TEST(WhatIfParameters, ARateIsFasterWhenItIsLargerAndALatencyWhenItIsSmaller) {
  EXPECT_THAT(Faster(Only("card.clock.core_mhz"), 2), Optional(2228u));
  EXPECT_THAT(Slower(Only("card.clock.core_mhz"), 2), Optional(557u));
  EXPECT_THAT(Faster(Only("card.memory.controller_ns"), 2), Optional(35u));
  EXPECT_THAT(Slower(Only("card.memory.controller_ns"), 2), Optional(140u));
  EXPECT_THAT(Faster(Only("card.core.vector_function_cost"), 4), Optional(1u));
  EXPECT_THAT(Faster(Only("card.core.vector_loop_unary_centicycles"), 2), Optional(205u));
  EXPECT_THAT(Faster(Only("card.memory.t_refi_ps"), 2), Optional(7812000u));  // less refresh
  EXPECT_THAT(Faster(Only("card.pcie.header_bytes"), 2), Optional(12u));      // at its least
}

TEST(WhatIfParameters, ValuesStayInTheRangeOfTheKey) {
  EXPECT_THAT(Faster(Only("card.ring.link_percent"), 2), Optional(100u));
  EXPECT_EQ(Faster(Only("card.core.vector_simple_cost"), 2), std::nullopt);  // one pass
  EXPECT_EQ(Faster(Only("card.pcie.rate_mts"), 2), std::nullopt);            // the fastest there is
}

TEST(WhatIfParameters, WhatIsDerivedFromAParameterChangesWithIt) {
  // A burst of 16 transfers; two of them at 6400 MT/s take 5000 ps, at twice the rate half of it.
  EXPECT_THAT(SetsOf(Only("card.memory.transfer_mts"), 12800),
              ElementsAre("card.memory.transfer_mts=12800", "card.memory.t_ccd_l_ps=2500"));
}

TEST(WhatIfParameters, ATableNamesAllItsKeys) {
  const Parameters ring = ParametersOf({}, {"card.ring"});
  EXPECT_GE(ring.asked.size(), 6u);
  for (const Parameter& parameter : ring.asked)
    EXPECT_THAT(parameter.key, ::testing::StartsWith("card.ring."));
}

TEST(WhatIfParameters, WhatAConfigurationDoesNotUseIsLeftOut) {
  const auto is_left_out = [](const RunConfig& config, const std::string& key) {
    const Parameters all = ParametersOf(config, {});
    return AnyFits(all.left_out, [&](const LeftOut& one) { return one.key == key; });
  };
  RunConfig config;
  EXPECT_TRUE(is_left_out(config, "card.memory.t_rfc_pb_ps"));
  EXPECT_FALSE(is_left_out(config, "card.memory.t_rfc_ab_ps"));
  config.card.memory.refresh = model::RefreshKind::kPerBank;
  EXPECT_FALSE(is_left_out(config, "card.memory.t_rfc_pb_ps"));
  EXPECT_TRUE(is_left_out(config, "card.memory.t_rfc_ab_ps"));
}

TEST(WhatIfParameters, PricesAreAskedAboutEnergyAlone) {
  const Parameters prices = ParametersOf({}, {"card.power"}, Effect::kEnergy);
  std::vector<std::string> keys;
  for (const Parameter& parameter : prices.asked) keys.push_back(parameter.key);
  EXPECT_THAT(keys, ElementsAre("card.power.idle_mw", "card.power.busy_mw", "card.power.mac_fj",
                                "card.power.vector_byte_fj", "card.power.lx_byte_fj",
                                "card.power.ring_byte_fj", "card.power.memory_byte_fj",
                                "card.power.pcie_byte_fj"));
  EXPECT_THAT(Faster(prices.asked[0], 2), Optional(9500u));  // cheaper
  EXPECT_THAT(Slower(prices.asked[2], 2), Optional(1600u));
  EXPECT_FALSE(prices.left_out.empty()) << "heat and throttling";
  for (const Parameter& parameter : ParametersOf({}, {}).asked)
    EXPECT_NE(parameter.key.rfind("card.power.", 0), 0u) << parameter.key;
  EXPECT_THAT(test::BadInputOf([] { ParametersOf({}, {"card.power.mac_fj"}); }),
              HasSubstr("--figure energy_uj"));
}

TEST(WhatIfParameters, RefusalsNameTheKey) {
  const auto refusal = [](const std::string& key) {
    return test::BadInputOf([&] { ParametersOf({}, {key}); });
  };
  EXPECT_THAT(refusal("card.ring.hops_cycles"), HasSubstr("card.ring.hop_cycles"));
  EXPECT_THAT(refusal("card.cores"), HasSubstr("the work is divided by it"));
  EXPECT_THAT(refusal("workload.m"), HasSubstr("workload.m"));
}

}  // namespace
}  // namespace spyre::cosim::parameters_test
