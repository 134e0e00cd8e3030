// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace spyre::cosim::report_advice_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A run of this workload that was divided so.
RunResult Divided(const std::string& workload, std::map<std::string, int> split) {
  RunResult result;
  result.config = ParseConfig("[workload]\n" + workload, "some.toml");
  result.plan.split = std::move(split);
  return result;
}

constexpr const char* kTiled = "op=\"matmul\"\nm=4096\nk=1024\nn=1024\ntile={m=1024}\n";

TEST(DivisionAdvice, IsGivenWhereTheModelExpectsMoreThanAFifthMoreTime) {
  const auto advice = AdviceOf(Divided(kTiled, {{"m", 32}, {"k", 1}, {"n", 1}}));
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->split, (compiler::DimensionSizes{{"m", 4}, {"k", 1}, {"n", 8}}));
  // Each of a, b and out has 2 MiB. One load of b serves 32 cores, four times a cohort.
  const double tensor_ns = 2 * 1024 * 1024 / 150.0;
  const double turnaround_ns = 0.00574 * 2 * 1024 * 1024;
  const double of_run = tensor_ns * (1 + std::pow(4, 0.75)) + tensor_ns + turnaround_ns;
  EXPECT_NEAR(advice->expected_ns_of_run, of_run, 1);
  EXPECT_NEAR(advice->expected_ns, 3 * tensor_ns + turnaround_ns, 1);
  EXPECT_FALSE(advice->replaces_split);
}

TEST(DivisionAdvice, IsNotGivenForDivisionsThatAreGoodOrLittleWorse) {
  EXPECT_FALSE(AdviceOf(Divided(kTiled, {{"m", 4}, {"k", 1}, {"n", 8}})));
  EXPECT_FALSE(AdviceOf(Divided(kTiled, {{"m", 8}, {"k", 1}, {"n", 4}})));
  // 16 cores share b: its 14 us become 23.5, which makes 63.6 us of 54.
  EXPECT_FALSE(AdviceOf(Divided(kTiled, {{"m", 16}, {"k", 1}, {"n", 2}})));
  // On one core everything takes longer.
  EXPECT_TRUE(AdviceOf(Divided(kTiled, {{"m", 1}, {"k", 1}, {"n", 1}})));
}

TEST(DivisionAdvice, IsOnlyForWhatTheModelKnows) {
  EXPECT_FALSE(AdviceOf(Divided("op=\"add\"\nrows=64\ncols=64\n", {{"rows", 1}, {"cols", 1}})));
  // The model would have k whole, and the card is faster with it divided.
  EXPECT_FALSE(
      AdviceOf(Divided("op=\"matmul\"\nm=1\nk=512\nn=256\n", {{"m", 1}, {"k", 8}, {"n", 4}})));
  RunResult functional = Divided(kTiled, {{"m", 32}, {"k", 1}, {"n", 1}});
  functional.config.card.fidelity = model::Fidelity::kFunctional;
  EXPECT_FALSE(AdviceOf(functional));
  RunResult tenants = Divided(kTiled, {{"m", 32}, {"k", 1}, {"n", 1}});
  tenants.tenants.resize(1);
  EXPECT_FALSE(AdviceOf(tenants));
  RunResult cards = Divided(kTiled, {{"m", 32}, {"k", 1}, {"n", 1}});
  cards.cards.resize(2);
  EXPECT_FALSE(AdviceOf(cards));
}

TEST(DivisionAdvice, ReadsAsOneLineAndIsInTheReport) {
  const RunResult run = Divided(kTiled, {{"m", 32}, {"k", 1}, {"n", 1}});
  EXPECT_EQ(AdviceText(run, "spyre-cosim", SIZE_MAX),
            "\nThe cost model expects about 1.5 times less time with workload.division = cost (m 4 "
            "x n 8, not m 32); see spyre-cosim tune some.toml.\n");
  EXPECT_EQ(AdviceJson(run)["division"], "cost");
  EXPECT_EQ(AdviceJson(run)["split"]["n"], 8);
  const RunResult good = Divided(kTiled, {{"m", 4}, {"k", 1}, {"n", 8}});
  EXPECT_EQ(AdviceText(good, "spyre-cosim", SIZE_MAX), "");
  EXPECT_TRUE(AdviceJson(good).is_null());
}

TEST(DivisionAdvice, SaysThatAForcedDivisionMustGo) {
  const RunResult run =
      Divided(std::string(kTiled) + "split={m=32}\n", {{"m", 32}, {"k", 1}, {"n", 1}});
  EXPECT_THAT(AdviceText(run, "spyre-cosim", SIZE_MAX),
              HasSubstr("with workload.division = cost and without workload.split (m"));
}

}  // namespace
}  // namespace spyre::cosim::report_advice_test
