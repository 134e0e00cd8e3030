// SPDX-License-Identifier: Apache-2.0
// The float64 reference of operation lists, against sums worked out by hand.
#include "cosim/reference/graph_reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace spyre::cosim::graph_reference_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using Json = nlohmann::ordered_json;

// The first output of a list of operations; inputs in order of `tensors`.
DoubleTensor Evaluate(const std::string& text, const std::vector<DoubleTensor>& inputs) {
  const compiler::NamedGraph graph = compiler::ReadNamedGraph(JsonOf(text));
  std::map<int, DoubleTensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<int>(i)] = inputs[i];
  return EvaluateGraph(graph, values).at(graph.outputs[0]);
}

TEST(GraphReference, OperandsBroadcastByName) {
  EXPECT_THAT(Evaluate(R"({"dims": {"R": 2, "C": 3},
      "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "r", "dims": ["R"]}],
      "ops": [{"op": "add", "inputs": ["r", "x"], "output": "y"},
              {"op": "mul", "inputs": ["y", 2], "output": "z"}]})",
                       {{1, 2, 3, 4, 5, 6}, {10, 20}}),
              ElementsAre(22, 24, 26, 48, 50, 52));
}

// SEN169_FP16 has whole numbers at 1001. Beside each other 1001 + 0.25 - 1001 + 0.25 is a half.
TEST(GraphReference, SumsInTilesAreRoundedTileByTile) {
  for (const bool tiles : {false, true}) {
    Json list = JsonOf(R"({"dims": {"R": 1, "K": 4},
        "tensors": [{"name": "x", "dims": ["R", "K"]}, {"name": "w", "dims": ["K"]}],
        "ops": [{"op": "sum", "inputs": ["x"], "dim": "K", "output": "s"},
                {"op": "matmul", "inputs": ["x", "w"], "dim": "K", "output": "p"}]})");
    if (tiles) list["hints"] = JsonOf(R"([{"slices": {"K": 2}}])");
    const compiler::NamedGraph graph = compiler::ReadNamedGraph(list);
    const std::map<int, DoubleTensor> inputs = {{0, {1001, 0.25, -1001, 0.25}}, {1, {1, 1, 1, 1}}};
    const auto rounded = EvaluateGraph(graph, inputs, Rounding::kEveryResult);
    const auto ideal = EvaluateGraph(graph, inputs);
    ASSERT_EQ(graph.outputs.size(), 2u);
    for (const int output : graph.outputs) {
      EXPECT_THAT(rounded.at(output), ElementsAre(tiles ? 0 : 0.5));
      EXPECT_THAT(ideal.at(output), ElementsAre(0.5));
    }
  }
}

TEST(GraphReference, AMatmulMatchesDimensionsByNameWhateverTheirOrder) {
  const std::string text = R"({"dims": {"M": 2, "K": 2, "N": 2},
      "tensors": [{"name": "a", "dims": ["M", "K"]}, {"name": "b", "dims": ["N", "K"]}],
      "ops": [{"op": "matmul", "inputs": ["a", "b"], "output": "o", "dims": ["N", "M"]}]})";
  EXPECT_THAT(Evaluate(text, {{1, 2, 3, 4}, {5, 6, 7, 8}}), ElementsAre(17, 39, 23, 53));
}

// Sizes that are no multiples of what is computed together, an output in another order, a batch.
TEST(GraphReference, AProductOfAnyShapeIsTheSumOfItsLoops) {
  constexpr int64_t kB = 2, kM = 7, kN = 131, kK = 99;
  DoubleTensor a(kB * kM * kK), b(kB * kN * kK);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i * 7919 % 201) - 100;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i * 104729 % 101) - 50;
  DoubleTensor expected;
  for (int64_t n = 0; n < kN; ++n) {
    for (int64_t batch = 0; batch < kB; ++batch) {
      for (int64_t m = 0; m < kM; ++m) {
        double sum = 0;
        for (int64_t k = 0; k < kK; ++k)
          sum += a[(batch * kM + m) * kK + k] * b[(batch * kN + n) * kK + k];
        expected.push_back(sum);
      }
    }
  }
  EXPECT_EQ(Evaluate(R"({"dims": {"B": 2, "M": 7, "N": 131, "K": 99},
      "tensors": [{"name": "a", "dims": ["B", "M", "K"]}, {"name": "b", "dims": ["B", "N", "K"]}],
      "ops": [{"op": "matmul", "inputs": ["a", "b"], "output": "o", "dims": ["N", "B", "M"]}]})",
                     {a, b}),
            expected)
      << "sums of whole numbers are exact in any order";
}

TEST(GraphReference, ReductionsOverAnyDimensions) {
  const std::string head = R"({"dims": {"R": 2, "C": 3},
      "tensors": [{"name": "x", "dims": ["R", "C"]}], "ops": [{"inputs": ["x"], "output": "y", )";
  const DoubleTensor x = {1, 2, 3, 4, 5, 9};
  EXPECT_THAT(Evaluate(head + R"("op": "sum", "dim": "C"}]})", {x}), ElementsAre(6, 18));
  EXPECT_THAT(Evaluate(head + R"("op": "mean", "dim": "R"}]})", {x}), ElementsAre(2.5, 3.5, 6));
  EXPECT_THAT(Evaluate(head + R"("op": "amax", "dim": ["R", "C"]}]})", {x}), ElementsAre(9));
  EXPECT_THAT(Evaluate(head + R"("op": "amin", "dim": "C"}]})", {x}), ElementsAre(1, 4));
  EXPECT_THAT(Evaluate(head + R"("op": "prod", "dim": "C"}]})", {x}), ElementsAre(6, 180));
}

// As on the card: results that are not finite there are only wrong if they are finite here.
TEST(GraphReference, WhatIsNoNumberGoesThroughMaximaAndMinima) {
  const std::string head = R"({"dims": {"C": 3}, "tensors": [{"name": "x", "dims": ["C"]},
      {"name": "y", "dims": ["C"]}], "ops": [{"inputs": ["x", "y"], "output": "z", "op": )";
  for (const char* op : {"maximum", "minimum"}) {
    const DoubleTensor z =
        Evaluate(head + "\"" + op + "\"}]}", {{1, std::nan(""), 3}, {std::nan(""), 2, 4}});
    EXPECT_TRUE(std::isnan(z[0]) && std::isnan(z[1])) << op;
    EXPECT_EQ(z[2], op == std::string("maximum") ? 4 : 3);
  }
  for (const char* op : {"amax", "amin"}) {
    const std::string fold = R"({"dims": {"R": 1, "C": 3}, "tensors": [{"name": "x", "dims":
        ["R", "C"]}], "ops": [{"inputs": ["x"], "output": "z", "dim": "C", "op": ")";
    EXPECT_TRUE(std::isnan(Evaluate(fold + op + "\"}]}", {{1, std::nan(""), 3}})[0])) << op;
  }
}

TEST(GraphReference, SoftmaxOfEqualValuesIsEven) {
  EXPECT_THAT(Evaluate(R"({"tensors": [{"name": "x", "dims": [2, 4]}],
      "ops": [{"op": "softmax", "inputs": ["x"], "output": "p", "dim": 2}]})",
                       {{7, 7, 7, 7, 7, 7, 7, 7}}),
              ElementsAre(0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5));
}

TEST(GraphReference, LayernormHasMeanZeroAndVarianceOne) {
  const DoubleTensor y = Evaluate(R"({"tensors": [{"name": "x", "dims": [1, 4]}],
      "ops": [{"op": "layernorm", "inputs": ["x"], "output": "y", "dim": 4, "eps": 0}]})",
                                  {{1, 2, 3, 6}});
  const double deviation = std::sqrt(3.5);
  EXPECT_THAT(y, ElementsAre(DoubleNear(-2 / deviation, 1e-12), DoubleNear(-1 / deviation, 1e-12),
                             DoubleNear(0, 1e-12), DoubleNear(3 / deviation, 1e-12)));
}

TEST(GraphReference, AttentionWithOneLargeScoreReturnsThatValue) {
  EXPECT_THAT(Evaluate(R"({"dims": {"S": 1, "T": 2, "D": 2},
      "tensors": [{"name": "q", "dims": ["S", "D"]}, {"name": "k", "dims": ["T", "D"]},
                  {"name": "v", "dims": ["T", "D"]}],
      "ops": [{"op": "attention", "inputs": ["q", "k", "v"], "output": "o", "scale": 1}]})",
                       {{1000, 0}, {1, 0, -1, 0}, {3, 4, 5, 6}}),
              ElementsAre(3, 4));
}

TEST(GraphReference, AMaskIsAddedToTheScores) {
  EXPECT_THAT(Evaluate(R"({"dims": {"S": 1, "T": 2, "D": 1},
      "tensors": [{"name": "q", "dims": ["S", "D"]}, {"name": "k", "dims": ["T", "D"]},
                  {"name": "v", "dims": ["T", "D"]}, {"name": "m", "dims": ["T"]}],
      "ops": [{"op": "attention", "inputs": ["q", "k", "v", "m"], "output": "o"}]})",
                       {{1}, {1, 1}, {3, 5}, {0, -1000}}),
              ElementsAre(3));
}

}  // namespace
}  // namespace spyre::cosim::graph_reference_test
