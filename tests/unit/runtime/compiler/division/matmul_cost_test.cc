// SPDX-License-Identifier: Apache-2.0
// The public rule's estimate of matmuls, which only chooses splits, against figures that the rule's
// authors publish of it, and the splits chosen by it. How long a matmul takes it does not say.
#include "runtime/compiler/division/matmul_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/division/matmul_on_ring.h"
#include "tests/paths.h"
#include "tests/unit/random_cases.h"
#include "tests/unit/runtime/compiler/op_ir_fixture.h"

namespace spyre::compiler::matmul_cost_test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpIr BatchMatmul(int64_t batch, int64_t m, int64_t k, int64_t n) {
  OpIr op = Matmul(m, k, n);
  op.loops = {{"b", batch}, {"m", m}, {"n", n}, {"k", k}};
  op.inputs = {Tensor("a", {batch, m, k}, {m * k, k, 0, 1}),
               Tensor("b", {batch, k, n}, {k * n, 0, 1, n})};
  op.output = Tensor("out", {batch, m, n}, {m * n, n, 1, 0});
  return op;
}

TEST(MatmulCost, TheEstimateIsThatOfThePublicRuleWithin3Percent) {
  const nlohmann::json points = SortedJsonOf(
      ReadFile(std::string(SPYRE_SOURCE_DIR) + "/tests/data/calibration/device_kernel_times.json",
               "points"))["points"];
  int checked = 0;
  for (const nlohmann::json& point : points) {
    if (point["op"] != "matmul") continue;
    const MatmulSize size{1, point["m"], point["k"], point["n"], 2};
    const MatmulSplit split{1, point["split_m"], 1, point["split_n"]};
    const double us = EstimateMatmul(size, split, {}).total_ns / 1000;
    const double expected_us = point["predicted_us"];
    EXPECT_NEAR(us / expected_us, 1, 0.03) << point;
    ++checked;
  }
  EXPECT_EQ(checked, 76);
}

TEST(MatmulCost, CombiningPartialResultsCostsByTheirNumberAndSize) {
  const MatmulSize size{1, 64, 4096, 64, 2};
  const MatmulTiming timing;
  const auto time = [&](int k) { return EstimateMatmul(size, {1, 1, k, 1}, timing).total_ns; };
  // 64 x 64 elements, 1 ns each for every further core; the memory's part is the same.
  const double compute_2 = 64.0 * 64 * 4096 / (2 * 1140);
  EXPECT_NEAR(time(2), compute_2 + 64 * 64, 1);
  const double memory_ns = (2.0 * 2 * 64 * 4096 + 2 * 64 * 64) / 150 + 0.00574 * 2 * 64 * 64;
  EXPECT_NEAR(time(16), memory_ns + 15 * 64 * 64, 1);
}

TEST(MatmulCost, OnTheRingALoadThatManyCoresShareTakesLonger) {
  const MatmulSize size{1, 1024, 1024, 1024, 2};
  const MatmulTiming timing;
  // Eight cores are a cohort: nothing to add.
  EXPECT_EQ(EstimateMatmulOnRing(size, {1, 4, 1, 8}, timing),
            EstimateMatmul(size, {1, 4, 1, 8}, timing).total_ns);
  // b goes to 32 cores, four times as many.
  const double tensor_ns = 2.0 * 1024 * 1024 / 150, turnaround_ns = 0.00574 * 2 * 1024 * 1024;
  EXPECT_NEAR(EstimateMatmulOnRing(size, {1, 32, 1, 1}, timing),
              tensor_ns * (1 + std::pow(4, 0.75)) + tensor_ns + turnaround_ns, 1);
}

TEST(MatmulCost, PrefersSplitsInBothDimensionsOverTheSeedsLopsidedOne) {
  EXPECT_THAT(*CheapestMatmulSplits(Matmul(512, 4096, 12800), 32, {}),
              AnyOf(ElementsAre(4, 8, 1), ElementsAre(8, 4, 1)));
  EXPECT_THAT(DivideWork(Matmul(512, 4096, 12800), 32, true).splits, ElementsAre(32, 1, 1));
}

TEST(MatmulCost, TheRuleIsChosenByNameAndOtherOperationsKeepThePublicOne) {
  EXPECT_EQ(SplitRuleFromName("public"), SplitRule::kPublic);
  EXPECT_EQ(SplitRuleFromName("cost"), SplitRule::kCost);
  try {
    SplitRuleFromName("costs");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'cost'?"));
  }
  const OpIr op = Matmul(512, 4096, 12800);
  EXPECT_EQ(DivideWork(op, 32, true, SplitRule::kPublic, {}).splits,
            DivideWork(op, 32, true).splits);
  EXPECT_NE(DivideWork(op, 32, true, SplitRule::kCost, {}).splits, DivideWork(op, 32, true).splits);
  OpIr sum = op;
  sum.reduction_type = "sum";
  EXPECT_FALSE(CheapestMatmulSplits(sum, 32, {}).has_value());
  EXPECT_EQ(DivideWork(sum, 32, true, SplitRule::kCost, {}).splits,
            DivideWork(sum, 32, true).splits);
}

TEST(MatmulCost, FollowsTheParametersOfTheCard) {
  // With a free combination of partial results, a short and deep matmul is cut along k.
  const OpIr op = Matmul(64, 16384, 64);
  MatmulTiming timing;
  timing.memory_bytes_per_ns = 1e9;
  timing.turnaround_ns_per_byte = 0;
  timing.combine_ns = 1000;
  EXPECT_EQ((*CheapestMatmulSplits(op, 32, timing))[2], 1);
  timing.combine_ns = 0;
  timing.rows_exponent = 4;
  EXPECT_THAT(*CheapestMatmulSplits(op, 32, timing), ElementsAre(1, 1, 32));
}

TEST(MatmulCost, RefusesCoreCountsOutside1To32) {
  EXPECT_THROW(CheapestMatmulSplits(Matmul(64, 64, 64), 0, {}), CompileError);
  EXPECT_THROW(CheapestMatmulSplits(Matmul(64, 64, 64), 33, {}), CompileError);
}

TEST(MatmulCost, SplitsCutWholeSticksIntoEqualPartsOnNoMoreCoresThanThereAre) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto batch = test::Draw<int64_t>(random, 1, 8);
    const auto m = test::Draw<int64_t>(random, 1, 299);
    const auto n = test::Draw<int64_t>(random, 1, 4999);
    const auto k = test::Draw<int64_t>(random, 2, 4999);
    const auto cores = test::Draw(random, 1, kMaxCores);
    const OpIr op = BatchMatmul(batch, m, k, n);
    const WorkDivision division = DivideWork(op, cores, true, SplitRule::kCost, {});
    EXPECT_LE(division.cores_used, cores);
    EXPECT_EQ(batch % division.splits[0], 0);
    EXPECT_EQ(m % division.splits[1], 0);
    EXPECT_EQ((n + 63) / 64 % division.splits[2], 0);
    EXPECT_EQ((k + 63) / 64 % division.splits[3], 0);
    EXPECT_EQ(division.slice.size(), static_cast<size_t>(division.cores_used));
  });
}

TEST(MatmulCost, EveryCoreReachesNoMoreThan256MiB) {
  // b alone is 4 GiB: its rows are k, its sticks n.
  const OpIr op = Matmul(64, 32768, 65536);
  const std::vector<int> splits = *CheapestMatmulSplits(op, 32, {});
  const WorkDivider divider(op);
  for (size_t i = 0; i < divider.tensor_count(); ++i) {
    EXPECT_LE(divider.PerCoreSpan(i, splits), static_cast<int64_t>(kMaxCoreSpanBytes));
  }
}

}  // namespace
}  // namespace spyre::compiler::matmul_cost_test
