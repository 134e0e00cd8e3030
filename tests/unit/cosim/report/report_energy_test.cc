// SPDX-License-Identifier: Apache-2.0
// What launches cost, from counters that are written down here: arithmetic by hand.
#include "cosim/report/report_energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cosim/config/config.h"

namespace spyre::cosim::report_energy_test {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kUs = 1'000'000;  // ps

flex::CompletedOperation Operation(const std::string& name, uint64_t correlation, uint64_t macs) {
  flex::CompletedOperation operation;
  operation.name = name;
  operation.opcode = Opcode::COMPUTE;
  operation.correlation = correlation;
  operation.macs = macs;
  return operation;
}

// Two kernels and a copy in 100 us. Prices are whole picojoules, so that sums can be done by hand.
RunResult Example() {
  RunResult result;
  model::PowerConfig& power = result.config.card.power;
  power.idle_mw = 20'000;
  power.busy_mw = 5'000;
  power.mac_fj = 1'000;
  power.vector_byte_fj = 2'000;
  power.lx_byte_fj = 3'000;
  power.ring_byte_fj = 4'000;
  power.memory_byte_fj = 5'000;
  power.pcie_byte_fj = 6'000;
  result.launch_begin_ps = 7 * kUs;
  result.launch_end_ps = 107 * kUs;
  result.launch_activity = {30'000'000, 4'000'000, 5'000'000, 6'000'000,
                            7'000'000,  8'000'000, 80 * kUs};
  result.launches = {Operation("matmul", 1, 20'000'000), Operation("add", 2, 0)};
  result.kernel_numbers = {{1, 3}, {2, 4}};
  result.kernel_usages[1].activity = {30'000'000, 1'000'000, 2'000'000, 4'000'000,
                                      5'000'000,  0,         40 * kUs};
  result.kernel_usages[2].activity = {0, 3'000'000, 3'000'000, 2'000'000, 1'000'000, 0, 20 * kUs};
  return result;
}

double Sum(const Json& parts) {
  double sum = 0;
  for (const Json& part : parts) sum += part.get<double>();
  return sum;
}

TEST(ReportEnergy, IsPriceTimesCountAndPowerTimesTime) {
  const Json energy = EnergyJson(Example());
  const Json parts = energy["parts_uj"];
  EXPECT_NEAR(parts["idle"].get<double>(), 2000, 1e-9);  // 20 W for 100 us
  EXPECT_NEAR(parts["busy"].get<double>(), 400, 1e-9);   // 5 W for 80 us
  EXPECT_NEAR(parts["macs"].get<double>(), 30, 1e-9);
  EXPECT_NEAR(parts["vector"].get<double>(), 8, 1e-9);
  EXPECT_NEAR(parts["lx"].get<double>(), 15, 1e-9);
  EXPECT_NEAR(parts["ring"].get<double>(), 24, 1e-9);
  EXPECT_NEAR(parts["memory"].get<double>(), 35, 1e-9);
  EXPECT_NEAR(parts["pcie"].get<double>(), 48, 1e-9);
  EXPECT_NEAR(energy["total_uj"].get<double>(), 2560, 1e-9);
  EXPECT_NEAR(energy["power_w"].get<double>(), 25.6, 1e-9);
  EXPECT_EQ(energy["macs"], 20'000'000) << "those of a narrow format are more than those of fp16";
  EXPECT_NEAR(energy["pj_per_mac"].get<double>(), 128, 1e-9);
  EXPECT_EQ(energy["counted"]["memory_bytes"], 7'000'000);
  EXPECT_EQ(energy["estimated"], false);
}

TEST(ReportEnergy, KernelsAndTheRestAreTheWhole) {
  const Json energy = EnergyJson(Example());
  const Json kernels = energy["kernels"], rest = energy["outside_kernels"];
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0]["number"], 3);
  EXPECT_EQ(kernels[1]["name"], "add");
  // 200 busy, 30 macs, 2 vector, 6 lx, 16 ring, 25 memory
  EXPECT_NEAR(kernels[0]["total_uj"].get<double>(), 279, 1e-9);
  // 100 busy, 6 vector, 9 lx, 8 ring, 5 memory
  EXPECT_NEAR(kernels[1]["total_uj"].get<double>(), 128, 1e-9);
  EXPECT_FALSE(kernels[0]["parts_uj"].contains("idle"));
  EXPECT_FALSE(kernels[0]["parts_uj"].contains("pcie"));
  EXPECT_NEAR(Sum(kernels[0]["parts_uj"]), 279, 1e-9);
  // 2000 idle, 100 busy, 5 memory, 48 pcie
  EXPECT_NEAR(rest["total_uj"].get<double>(), 2153, 1e-9);
  EXPECT_NEAR(rest["parts_uj"]["memory"].get<double>(), 5, 1e-9);
  EXPECT_EQ(rest["parts_uj"]["macs"], 0.0);
}

TEST(ReportEnergy, APriceThatIsTwiceAsHighRaisesItsPartAlone) {
  const Json before = EnergyJson(Example())["parts_uj"];
  const std::vector<std::pair<std::string, uint64_t model::PowerConfig::*>> prices = {
      {"idle", &model::PowerConfig::idle_mw},
      {"busy", &model::PowerConfig::busy_mw},
      {"macs", &model::PowerConfig::mac_fj},
      {"vector", &model::PowerConfig::vector_byte_fj},
      {"lx", &model::PowerConfig::lx_byte_fj},
      {"ring", &model::PowerConfig::ring_byte_fj},
      {"memory", &model::PowerConfig::memory_byte_fj},
      {"pcie", &model::PowerConfig::pcie_byte_fj}};
  ASSERT_EQ(before.size(), prices.size());
  for (const auto& [name, price] : prices) {
    RunResult result = Example();
    result.config.card.power.*price *= 2;
    const Json after = EnergyJson(result)["parts_uj"];
    for (const auto& [part, value] : before.items()) {
      EXPECT_DOUBLE_EQ(after[part].get<double>(), value.get<double>() * (part == name ? 2 : 1))
          << name << " " << part;
    }
  }
}

TEST(ReportEnergy, StepsOfAKernelHaveTheirOwn) {
  RunResult result = Example();
  StepUsage step;
  step.step = 1;
  step.name = "sdsc_1.json";
  step.executions = 2;
  step.activity.fp16_macs = 10'000'000;
  step.activity.busy_ps = 8 * kUs;
  result.kernel_usages[1].steps = {step};
  const Json steps = EnergyJson(result)["kernels"][0]["steps"];
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0]["name"], "sdsc_1.json");
  EXPECT_NEAR(steps[0]["total_uj"].get<double>(), 50, 1e-9);  // 40 busy, 10 macs
  result.fast.emplace();
  EXPECT_FALSE(EnergyJson(result)["kernels"][0].contains("steps")) << "not known by step";
}

TEST(ReportEnergy, LaunchesOfAModelAreAddedUpByName) {
  RunResult result = Example();
  result.launches = {Operation("matmul", 1, 0), Operation("add", 2, 0), Operation("matmul", 3, 0)};
  result.kernel_usages[3] = result.kernel_usages[1];
  result.launch_activity->fp16_macs *= 2;
  result.model.emplace();
  result.model->batch = 2;
  result.model->sequence = 5;
  const Json energy = EnergyJson(result);
  ASSERT_EQ(energy["kernels"].size(), 2u);
  EXPECT_EQ(energy["kernels"][0]["launches"], 2);
  EXPECT_NEAR(energy["kernels"][0]["total_uj"].get<double>(), 2 * 279, 1e-9);
  EXPECT_EQ(energy["tokens"], 10);
  EXPECT_NEAR(energy["uj_per_token"].get<double>(), energy["total_uj"].get<double>() / 10, 1e-9);
}

TEST(ReportEnergy, TokensAreThoseOfTheConfiguration) {
  RunResult result = Example();
  EXPECT_TRUE(EnergyJson(result)["tokens"].is_null());
  EXPECT_TRUE(EnergyJson(result)["uj_per_token"].is_null());
  result.config.workload.tokens = 128;
  EXPECT_NEAR(EnergyJson(result)["uj_per_token"].get<double>(), 20, 1e-9);
}

TEST(ReportEnergy, OfSeveralCardsIsTheSum) {
  RunResult all;
  all.config.card.power = Example().config.card.power;
  all.cards.resize(2);
  for (CardResult& card : all.cards) card.run = Example();
  all.cards[1].run.launch_end_ps += 50 * kUs;  // 1000 uJ of idling
  const Json energy = EnergyJson(all);
  EXPECT_NEAR(energy["total_uj"].get<double>(), 2 * 2560 + 1000, 1e-9);
  EXPECT_NEAR(energy["power_w"].get<double>(), 25.6 + 3560.0 / 150, 1e-9);
  EXPECT_EQ(energy["macs"], 40'000'000);
  EXPECT_FALSE(energy.contains("kernels"));
  EXPECT_NEAR(CardEnergyJson(all, all.cards[1])["total_uj"].get<double>(), 3560, 1e-9);
}

TEST(ReportEnergy, CardsThatAddUpTheirOutputsMakeTheSameTokens) {
  RunResult all = Example();
  all.cards.resize(4);
  for (CardResult& card : all.cards) {
    card.run = Example();
    card.run.config.workload.tokens = 128;
  }
  all.config.cards.collective = runtime::Collective::kNone;
  EXPECT_EQ(EnergyJson(all)["tokens"], 512);
  all.config.cards.collective = runtime::Collective::kAllReduce;
  EXPECT_EQ(EnergyJson(all)["tokens"], 128);
}

TEST(ReportEnergy, OfACardInAnotherProcessIsNotThere) {
  RunResult result = Example();
  result.launch_activity.reset();
  EXPECT_TRUE(EnergyJson(result).is_null());
  EXPECT_EQ(EnergyText(result), "");
}

TEST(ReportEnergy, TheSummaryNamesThePartsThatCount) {
  RunResult result = Example();
  EXPECT_EQ(EnergyText(result),
            "  energy of the launches: 2.56 mJ (25.6 W): idle 78.1 %, busy 15.6 %, pcie 1.9 %, "
            "memory 1.4 %, MACs 1.2 %, ring 0.9 %, lx 0.6 %; 128.00 pJ/MAC\n");
  result.config.workload.tokens = 10;
  EXPECT_THAT(EnergyText(result), HasSubstr("; 256.00 uJ a token\n"));
  EXPECT_THAT(EnergyText(result), Not(HasSubstr("about")));
  result.fast.emplace();
  result.fast->repeated = 1;
  EXPECT_THAT(EnergyText(result), HasSubstr("about 2.56 mJ"));
  EXPECT_EQ(EnergyJson(result)["estimated"], true);
}

}  // namespace
}  // namespace spyre::cosim::report_energy_test
