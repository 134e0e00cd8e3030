// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/error_of.h"

namespace spyre::cosim::expand_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Expansion Expanded(const std::string& text) { return Expand(ParseGrid(text, "g.toml"), {}); }

TEST(Expand, AGridHasEveryCombinationWithTheFirstAxisSlowest) {
  const Expansion expansion = Expanded(R"(
    [axes]
    workload.m = [64, 128]
    workload.k = [1, 2, 3]
    [[together]]
    keys = ["workload.split.m", "workload.split.n"]
    values = [[4, 8], [8, 4]]
  )");
  size_t next = 0;
  for (const int m : {64, 128}) {
    for (const int k : {1, 2, 3}) {
      for (const int split : {4, 8}) {
        EXPECT_THAT(expansion.points.at(next).values, ElementsAre(m, k, split, 32 / split));
        ++next;
      }
    }
  }
  EXPECT_EQ(next, expansion.points.size());
}

TEST(Expand, ConditionsLeaveOutPointsAndReadKeysThatAreNotSwept) {
  Grid grid = ParseGrid(R"(
    [sweep]
    where = ["workload.split.m * workload.split.n <= card.cores", "workload.split.m != 3"]
    [axes]
    workload.split.m = { from = 1, to = 32, step = 1 }
    workload.split.n = { from = 1, to = 32, step = 1 }
  )",
                        "g.toml");
  RunConfig base;
  base.card.cores = 24;
  const Expansion expansion = Expand(grid, base);
  size_t expected = 0;
  for (int m = 1; m <= 32; ++m)
    for (int n = 1; n <= 32; ++n) expected += m * n <= 24 && m != 3 ? 1 : 0;
  EXPECT_EQ(expansion.points.size(), expected);
  EXPECT_EQ(expansion.unmet, 32u * 32 - expected);
}

TEST(Expand, NoPointAtAllIsRefused) {
  EXPECT_THAT(test::BadInputOf([] {
                Expanded("[sweep]\nwhere = [\"card.cores > 40\"]\n[axes]\ncard.cores = [1, 2]");
              }),
              HasSubstr("none of 2 points meets the conditions"));
}

// The definition: cut each axis into as many equal parts as there are points; each part is met
// once.
TEST(Expand, ALatinHypercubeMeetsEveryStratumOnce) {
  const Expansion expansion = Expanded(R"(
    [sweep]
    method = "latin_hypercube"
    points = 50
    seed = 7
    [axes]
    card.clock.core_mhz = { from = 1001, to = 2000 }
    workload.m = { from = 1, to = 500 }
    card.core.outstanding_loads = [1, 2, 3, 4, 5]
  )");
  ASSERT_EQ(expansion.points.size(), 50u);
  std::set<uint64_t> mhz_strata, m_strata;
  std::map<uint64_t, int> loads;
  for (const GridPoint& point : expansion.points) {
    mhz_strata.insert((point.values[0].get<uint64_t>() - 1001) / 20);  // 1000 numbers, 50 strata
    m_strata.insert((point.values[1].get<uint64_t>() - 1) / 10);
    ++loads[point.values[2].get<uint64_t>()];
  }
  EXPECT_EQ(mhz_strata.size(), 50u);
  EXPECT_EQ(*mhz_strata.rbegin(), 49u);
  EXPECT_EQ(m_strata.size(), 50u);
  EXPECT_EQ(loads.size(), 5u);
  for (const auto& [value, count] : loads) EXPECT_EQ(count, 10) << value;
}

TEST(Expand, ALogarithmicRangeIsDrawnEvenlyByRatio) {
  const Expansion expansion = Expanded(R"(
    [sweep]
    method = "latin_hypercube"
    points = 60
    [axes]
    workload.m = { from = 1, to = 999999, scale = "log" }
  )");
  std::map<size_t, int> digits;  // six decades, ten points each, but for those that are the same
  for (const GridPoint& point : expansion.points) ++digits[point.values[0].dump().size()];
  for (const size_t decade : {3, 4, 5, 6}) EXPECT_EQ(digits[decade], 10) << decade;
  EXPECT_EQ(expansion.points.size() + expansion.duplicate, 60u);
}

TEST(Expand, RandomPointsAreDifferentInRangeAndTheSameForASeed) {
  const std::string text = R"(
    [axes]
    workload.m = { from = 3, to = 12 }
    card.cores = [1, 2, 4]
    [sweep]
    method = "random"
    points = 25
    where = ["workload.m != 7"]
    seed = )";
  const Expansion one = Expanded(text + "1"), again = Expanded(text + "1"),
                  two = Expanded(text + "2");
  std::set<std::string> different;
  for (const GridPoint& point : one.points) {
    const auto m = point.values[0].get<int>();
    EXPECT_TRUE(m >= 3 && m <= 12 && m != 7) << m;
    different.insert(point.values[0].dump() + " " + point.values[1].dump());
  }
  EXPECT_EQ(different.size(), 25u);
  const auto values = [](const Expansion& expansion) {
    std::vector<std::vector<nlohmann::ordered_json>> all;
    for (const GridPoint& point : expansion.points) all.push_back(point.values);
    return all;
  };
  EXPECT_EQ(values(one), values(again));
  EXPECT_NE(values(one), values(two));
}

TEST(Expand, MoreRandomPointsThanThereAreIsRefused) {
  EXPECT_THAT(
      test::BadInputOf([] {
        Expanded("[sweep]\nmethod = \"random\"\npoints = 4\n[axes]\ncard.cores = [1, 2, 3]");
      }),
      HasSubstr("only 3 of 4 points found"));
}

TEST(Expand, TheDigestTellsSweepsApart) {
  const auto digest = [](const std::string& axes, uint64_t cores) {
    const Grid grid = ParseGrid("[axes]\n" + axes, "g.toml");
    RunConfig base;
    base.card.cores = cores;
    return DigestOf(grid, base, Expand(grid, base));
  };
  const std::string usual = digest("workload.m = [1, 2]", 32);
  EXPECT_EQ(usual, digest("workload.m = [1, 2]", 32));
  EXPECT_NE(usual, digest("workload.m = [1, 3]", 32));
  EXPECT_NE(usual, digest("workload.k = [1, 2]", 32));
  EXPECT_NE(usual, digest("workload.m = [1, 2]", 16));
}

TEST(Expand, SetsAreTheFixedKeysThenThoseOfThePoint) {
  const Grid grid = ParseGrid(
      "[fixed]\nworkload.op = \"add\"\n[axes]\nworkload.launch.order = [[\"rows\", \"cols\"]]",
      "g.toml");
  EXPECT_THAT(SetsOf(grid, Expand(grid, {}).points[0]),
              ElementsAre("workload.op=\"add\"", "workload.launch.order=[\"rows\", \"cols\"]"));
}

}  // namespace
}  // namespace spyre::cosim::expand_test
