// SPDX-License-Identifier: Apache-2.0
// What the generator makes of card.toml, and what it refuses.
#include "model/parameters/parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/paths.h"
#include "tests/unit/generator_run.h"

namespace spyre::model::parameter_test {
namespace {

using ::testing::ElementsAre;

const Parameter& Find(const std::vector<Parameter>& parameters, const std::string& key) {
  for (const Parameter& parameter : parameters) {
    if (parameter.key == key) return parameter;
  }
  throw std::runtime_error("there is no " + key);
}

TEST(Parameters, AreMembersOfTheStructUnderTheirKeys) {
  CardParameters card;
  const std::vector<Parameter> parameters = ParametersOf(card);
  *std::get<uint64_t*>(Find(parameters, "card.cores").value) = 7;
  *std::get<uint64_t*>(Find(parameters, "card.memory.t_rc_ps").value) = 60000;
  *std::get<bool*>(Find(parameters, "card.memory.ecc_scrub").value) = false;
  *std::get<std::string*>(Find(parameters, "card.vpd.serial_number").value) = "S1";
  std::get<ChoiceRef>(Find(parameters, "card.memory.bank_mapping").value).Set(1);
  EXPECT_EQ(card.cores, 7u);
  EXPECT_EQ(card.memory.t_rc_ps, 60000u);
  EXPECT_FALSE(card.memory.ecc_scrub);
  EXPECT_EQ(card.vpd.serial_number, "S1");
  EXPECT_EQ(card.memory.bank_mapping, BankMapping::kGroupInterleave);
}

TEST(Parameters, CarryWhatTheSpecificationSays) {
  CardParameters card;
  const std::vector<Parameter> parameters = ParametersOf(card);
  const Parameter& lx = Find(parameters, "card.core.lx_bytes");
  EXPECT_STREQ(lx.unit, "bytes");
  EXPECT_STREQ(lx.source, "public");
  EXPECT_STREQ(lx.meaning, "LX scratchpad of a core; programs can address 2 MiB");
  EXPECT_EQ(lx.least, 128u << 10);
  EXPECT_EQ(lx.most, 2u << 20);
  const Parameter& refresh = Find(parameters, "card.memory.refresh");
  EXPECT_THAT(std::vector<std::string>(refresh.choices.begin(), refresh.choices.end()),
              ElementsAre("all_bank", "per_bank", "none"));
  EXPECT_EQ(std::get<ChoiceRef>(refresh.value).index(), 0u);
  EXPECT_TRUE(Find(parameters, "card.management.flash").is_path);
  EXPECT_FALSE(Find(parameters, "card.vpd.part_number").is_path);
}

TEST(Parameters, HaveDefaultsInTheirRanges) {
  CardParameters card;
  SwitchConfig pcie_switch;
  std::vector<Parameter> parameters = ParametersOf(card);
  for (const Parameter& parameter : ParametersOf(pcie_switch)) parameters.push_back(parameter);
  std::set<std::string> keys;
  for (const Parameter& parameter : parameters) {
    EXPECT_TRUE(keys.insert(parameter.key).second) << parameter.key;
    if (const auto* number = std::get_if<uint64_t*>(&parameter.value)) {
      EXPECT_LE(parameter.least, **number) << parameter.key;
      EXPECT_LE(**number, parameter.most) << parameter.key;
    }
  }
}

const std::filesystem::path kBroken = SPYRE_SOURCE_DIR "/tests/data/parameters";

class BrokenParameters : public testing::TestWithParam<std::string> {};

TEST_P(BrokenParameters, AreRefusedNamingTheKeyAndLeaveNoOutput) {
  test::ExpectRefused(SPYRE_SOURCE_DIR "/model/parameters/generate.py",
                      kBroken / (GetParam() + ".toml"));
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenParameters,
                         testing::ValuesIn(test::SpecificationsIn(kBroken)),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace spyre::model::parameter_test
