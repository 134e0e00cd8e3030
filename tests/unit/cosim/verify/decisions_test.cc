// SPDX-License-Identifier: Apache-2.0
// Lists whose data decide: which elements follow one close decision, and which several.
#include "cosim/verify/decisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace spyre::cosim::decisions_test {
namespace {

constexpr size_t kRows = 32, kColumns = 64;

// Counts, in each column, the rows in which exp(x) is at least z. x is ln 2 in float16; z is 2 in
// the first rows, which is nearer to exp(x) than roundings explain, and 3 in the others.
GraphSides SidesOfColumnsWith(size_t close_rows) {
  const compiler::NamedGraph graph = compiler::ReadNamedGraph(JsonOf(
      R"({"dims": {"R": 32, "C": 64},
          "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "z", "dims": ["R", "C"]}],
          "ops": [{"op": "exp", "inputs": ["x"], "output": "e"},
                  {"op": "greaterequal", "inputs": ["e", "z"], "output": "g"},
                  {"op": "sum", "inputs": ["g"], "dim": "R", "output": "count"}]})"));
  DoubleTensor z(kRows * kColumns, 3);
  std::fill_n(z.begin(), close_rows * kColumns, 2);
  return EvaluateSides(graph, {{0, DoubleTensor(z.size(), 0.693359375)}, {1, z}}, true);
}

TEST(Decisions, AnElementOfOneHasItsTwoSides) {
  const GraphSides sides = SidesOfColumnsWith(1);
  ASSERT_EQ(sides.others.size(), 1u);
  const OtherDecisions& others = sides.others.begin()->second;
  for (size_t i = 0; i < kColumns; ++i) {
    EXPECT_EQ(others.low[i], 0);
    EXPECT_EQ(others.high[i], 1);
    EXPECT_FALSE(others.several[i]);
  }
}

TEST(Decisions, AnElementOfTwoIsSeenToFollowSeveral) {
  const GraphSides sides = SidesOfColumnsWith(2);
  ASSERT_EQ(sides.others.size(), 1u);
  const std::vector<bool>& several = sides.others.begin()->second.several;
  EXPECT_EQ(std::count(several.begin(), several.end(), true), static_cast<int>(kColumns));
}

TEST(Decisions, FarFromEachOtherThereAreNone) { EXPECT_TRUE(SidesOfColumnsWith(0).others.empty()); }

// Thirds of numbers near 1 and -1 in turn: what is left of their sum is small, what is lost is not.
TEST(Decisions, SumsOfFloat32AreRoundedAtEachStep) {
  const compiler::NamedGraph graph = compiler::ReadNamedGraph(JsonOf(
      R"({"dims": {"R": 1, "C": 128},
          "tensors": [{"name": "x", "dims": ["R", "C"], "dtype": "float32"}],
          "ops": [{"op": "sum", "inputs": ["x"], "dim": "C", "output": "s"}]})"));
  DoubleTensor x;
  for (int i = 0; i < 64; ++i) x.insert(x.end(), {(1 + std::ldexp(i, -20)) / 3, -1.0 / 3});
  const GraphSides sides = EvaluateSides(graph, {{0, x}}, true);
  const double ideal = sides.ideal.begin()->second[0];
  const double error = std::fabs(sides.rounded.begin()->second[0] - ideal);
  EXPECT_GT(error, std::ldexp(ideal, -24)) << "one rounding of the result";
  EXPECT_LT(error, std::ldexp(64, -24));
}

}  // namespace
}  // namespace spyre::cosim::decisions_test
