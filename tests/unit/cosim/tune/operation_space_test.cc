// SPDX-License-Identifier: Apache-2.0
// Tiles and divisions against loops over every number, and against what the compiler makes of them.
#include "cosim/tune/operation_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/ranges.h"
#include "runtime/compiler/codegen/generate_kernel.h"

namespace spyre::cosim::operation_space_test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;
using Sizes = OperationSpace::Sizes;

RunConfig ConfigOf(const std::string& workload) {
  return ParseConfig("[workload]\n" + workload, "test.toml");
}
OperationSpace SpaceOf(const std::string& workload, const std::vector<std::string>& fixed = {}) {
  return OperationSpace(ParseConfig("[workload]\n" + workload, "test.toml", fixed),
                        FixedKeys(fixed));
}

std::set<std::map<std::string, std::string>> KeysOf(const std::vector<Plan>& plans) {
  std::set<std::map<std::string, std::string>> keys;
  for (const Plan& plan : plans) keys.insert(plan.keys);
  return keys;
}

TEST(OperationSpace, TilesCutEveryDimensionButKIntoEqualPartsOfWholeSticks) {
  std::vector<Sizes> expected;
  for (int64_t m = 1; m <= 96; ++m)
    for (int64_t n = 1; n <= 384; ++n)
      if (96 % m == 0 && 384 % n == 0 && (n % 64 == 0) && (96 / m) * (384 / n) <= 64)
        expected.push_back({{"m", m}, {"k", 128}, {"n", n}});
  EXPECT_THAT(SpaceOf("op='matmul'\nm=96\nk=128\nn=384").Tiles(),
              UnorderedElementsAreArray(expected));
}

TEST(OperationSpace, WhatIsSummedOverStaysWholeOrAsGiven) {
  for (const Sizes& tile : SpaceOf("op='sum'\nrows=64\ncols=256\naxis='cols'").Tiles())
    EXPECT_EQ(tile.at("cols"), 256);
  for (const Sizes& tile : SpaceOf("op='sum'\nrows=64\ncols=256\naxis='rows'").Tiles())
    EXPECT_EQ(tile.at("rows"), 64);
  for (const Sizes& tile : SpaceOf("op='softmax'\nrows=64\ncols=256").Tiles())
    EXPECT_EQ(tile.at("cols"), 256);
  const auto tiles =
      SpaceOf("op='matmul'\nm=64\nk=256\nn=64\ntile={k=128}\nlaunch={reduction='lx'}").Tiles();
  for (const Sizes& tile : tiles) EXPECT_EQ(tile.at("k"), 128);
}

TEST(OperationSpace, AGivenTileThatDoesNotDivideIsAmongThem) {
  const auto tiles = SpaceOf(
                         "op='add'\nrows=100\ncols=64\ntile={rows=48}\n"
                         "launch={remainder='pad'}")
                         .Tiles();
  EXPECT_THAT(tiles, Contains(Sizes({{"rows", 48}, {"cols", 64}})));
  EXPECT_THAT(tiles, Contains(Sizes({{"rows", 100}, {"cols", 64}})));
  EXPECT_THAT(tiles, Contains(Sizes({{"rows", 50}, {"cols", 64}})));
  EXPECT_THAT(tiles, Not(Contains(Sizes({{"rows", 49}, {"cols", 64}}))));
}

TEST(OperationSpace, DivisionsAreAllThatGiveEveryCoreWork) {
  const OperationSpace space = SpaceOf("op='batchmatmul'\nbatch=3\nm=5\nk=128\nn=448\ncores=12");
  std::vector<Sizes> expected;
  for (int64_t batch = 1; batch <= 12; ++batch)
    for (int64_t m = 1; m <= 12; ++m)
      for (int64_t k = 1; k <= 12; ++k)
        for (int64_t n = 1; n <= 12; ++n)
          if (batch * m * k * n <= 12 && batch <= 3 && m <= 5 && k * 64 <= 128 && n * 64 <= 448)
            expected.push_back({{"batch", batch}, {"m", m}, {"k", k}, {"n", n}});
  EXPECT_THAT(space.Divisions({{"batch", 3}, {"m", 5}, {"k", 128}, {"n", 448}}),
              UnorderedElementsAreArray(expected));
}

TEST(OperationSpace, DivisionsAreThoseThatTheCompilerMakes) {
  for (const std::string workload :
       {"op='matmul'\nm=6\nk=192\nn=128\ncores=8", "op='softmax'\nrows=5\ncols=128\ncores=8",
        "op='add'\nrows=3\ncols=192\ncores=8", "op='mean'\nrows=4\ncols=256\ncores=8"}) {
    const OperationSpace space = SpaceOf(workload);
    compiler::KernelSpec spec = PlanOperation(ConfigOf(workload)).kernel_spec;
    const std::vector<Sizes> divisions = space.Divisions(spec.dims);
    EXPECT_GT(divisions.size(), 4u);
    for (const Sizes& division : divisions) {
      spec.split = {division.begin(), division.end()};
      const compiler::KernelPlan plan = compiler::GenerateKernel(spec).plan;
      EXPECT_EQ(plan.split, spec.split) << workload;
    }
  }
}

TEST(OperationSpace, PlansAreEveryTileWithEveryDivisionOnce) {
  const OperationSpace space = SpaceOf("op='matmul'\nm=64\nk=64\nn=128\ncores=4\ntile={m=32}");
  const Ranking ranking = space.Ranked();
  size_t count = 0;
  for (const Sizes& tile : space.Tiles()) count += space.Divisions(tile).size();
  EXPECT_EQ(ranking.plans.size(), count);
  EXPECT_EQ(KeysOf(ranking.plans).size(), count);
  for (size_t i = 1; i < count; ++i)
    EXPECT_LE(*ranking.plans[i - 1].expected_ns, *ranking.plans[i].expected_ns);
  // A dimension that is whole needs no key, unless the configuration cuts it.
  EXPECT_THAT(KeysOf(ranking.plans), Contains(std::map<std::string, std::string>{
                                         {"workload.split.n", "2"}, {"workload.tile.m", "64"}}));
}

TEST(OperationSpace, TheRunningExamplesBestPlanIsAmongTheFirst) {
  const Ranking ranking = SpaceOf("op='matmul'\nm=4096\nk=1024\nn=1024\ntile={m=1024}").Ranked();
  const std::map<std::string, std::string> best = {
      {"workload.split.m", "8"}, {"workload.split.n", "4"}, {"workload.tile.m", "4096"}};
  const auto found = FindIf(ranking.plans, [&](const Plan& plan) { return plan.keys == best; });
  ASSERT_NE(found, ranking.plans.end());
  EXPECT_LT(found - ranking.plans.begin(), 20);
}

TEST(OperationSpace, OtherOperationsBeginWithTheSmallestLargestShare) {
  const Plan first = SpaceOf("op='add'\nrows=100\ncols=64\ncores=8").Ranked().plans.front();
  // 100 rows on 7 cores are 15 rows on the longest, on 8 they are 13.
  EXPECT_EQ(first.keys, (std::map<std::string, std::string>{{"workload.split.rows", "8"}}));
  EXPECT_FALSE(first.expected_ns);
}

TEST(OperationSpace, KeysOfTheCommandLineStay) {
  const OperationSpace space = SpaceOf("op='matmul'\nm=64\nk=64\nn=128\ncores=4",
                                       {"workload.tile.m=32", "workload.split.n=2"});
  const std::vector<Plan> plans = space.Ranked().plans;
  ASSERT_FALSE(plans.empty());
  for (const Plan& plan : plans) {
    EXPECT_EQ(plan.keys.count("workload.tile.m"), 0u);
    EXPECT_EQ(plan.keys.count("workload.split.n"), 0u);
    for (const Plan& near : space.Nearby(plan)) {
      EXPECT_EQ(near.keys.count("workload.tile.m"), 0u);
      EXPECT_EQ(near.keys.count("workload.split.n"), 0u);
    }
  }
}

TEST(OperationSpace, NearbyPlansDifferInOneChoiceAndAreLegal) {
  const OperationSpace space = SpaceOf("op='matmul'\nm=64\nk=64\nn=256\ncores=8");
  const auto all = KeysOf(space.Ranked().plans);
  const Plan plan{{{"workload.split.m", "2"},
                   {"workload.split.n", "2"},
                   {"workload.tile.m", "16"},
                   {"workload.tile.n", "128"}},
                  {}};
  std::set<std::string> launches;
  for (const Plan& near : space.Nearby(plan)) {
    EXPECT_NE(near.keys, plan.keys);
    Plan bare = near;
    for (auto key = bare.keys.begin(); key != bare.keys.end();) {
      const bool is_launch = key->first.rfind("workload.launch.", 0) == 0;
      if (is_launch) launches.insert(key->first + "=" + key->second);
      key = is_launch ? bare.keys.erase(key) : std::next(key);
    }
    EXPECT_THAT(all, Contains(bare.keys));
  }
  EXPECT_THAT(launches, Contains("workload.launch.overlap=\"streams\""));
  EXPECT_THAT(launches, Contains("workload.launch.depth=4"));
  EXPECT_THAT(launches, Contains("workload.launch.order=[\"n\"]"));
  EXPECT_THAT(launches, Contains("workload.launch.interleave=2"));
}

TEST(OperationSpace, OneLaunchHasNothingToOverlap) {
  const OperationSpace space = SpaceOf("op='matmul'\nm=64\nk=64\nn=128\ncores=4\ntile={m=32}");
  for (const Plan& near : space.Nearby({{{"workload.tile.m", "64"}}, {}})) {
    const auto tile = near.keys.find("workload.tile.m");
    if (tile == near.keys.end() || tile->second != "64") continue;
    for (const auto& [key, value] : near.keys)
      EXPECT_NE(key.rfind("workload.launch.", 0), 0u) << key;
  }
}

TEST(OperationSpace, AGivenDepthIsNeverLeftWithoutAnOverlap) {
  const OperationSpace space = SpaceOf(
      "op='add'\nrows=64\ncols=64\ntile={rows=16}\nlaunch={overlap='double_buffer', depth=3}");
  bool is_alone = false;
  for (const Plan& near : space.Nearby({})) {
    const auto overlap = near.keys.find("workload.launch.overlap");
    EXPECT_TRUE(overlap == near.keys.end() || overlap->second == "\"streams\"");
    const auto depth = near.keys.find("workload.launch.depth");
    is_alone = is_alone || (depth != near.keys.end() && depth->second == "1");
  }
  EXPECT_TRUE(is_alone);
}

}  // namespace
}  // namespace spyre::cosim::operation_space_test
