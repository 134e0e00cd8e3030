// SPDX-License-Identifier: Apache-2.0
// Lists of operations as whole runs against loops over the files that the runs wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cosim/tensors/npy.h"
#include "cosim/tensors/reference_numbers.h"
#include "tests/integration/list_fixture.h"

namespace spyre::cosim::list_numbers_test {
namespace {

using ListNumbers = test::ListFixture;
using test::Off;

TEST_F(ListNumbers, AMatmulOverTwoDimensionsSumsOverBoth) {
  constexpr size_t kB = 2, kS = 5, kH = 3, kD = 64, kN = 100;
  Run(R"({"dims": {"B": 2, "S": 5, "H": 3, "D": 64, "N": 100},
    "tensors": [{"name": "x", "dims": ["B", "S", "H", "D"]}, {"name": "w", "dims": ["H", "D", "N"]}],
    "ops": [{"op": "matmul", "inputs": ["x", "w"], "dim": ["H", "D"], "output": "y"}]})");
  const std::vector<double> x = Values("x"), w = Values("w");
  std::vector<double> y;
  for (size_t row = 0; row < kB * kS; ++row) {
    for (size_t n = 0; n < kN; ++n) {
      double sum = 0;
      for (size_t k = 0; k < kH * kD; ++k) sum += x[row * kH * kD + k] * w[k * kN + n];
      y.push_back(sum);
    }
  }
  EXPECT_LT(Off(Values("y"), y), 0.005);
}

// Each half of a row has a sum of 640, where SEN169_FP16 has whole numbers, and both together 4.
TEST_F(ListNumbers, SumsOfTilesThatCancelAreWithinWhatTheirRoundingsExplain) {
  constexpr size_t kRows = 64, kTerms = 128;
  std::vector<float> x(kRows * kTerms);
  for (size_t i = 0; i < x.size(); ++i) {
    const double part = static_cast<double>(i / kTerms * 7 % 64) / 1024 + 0.03125;
    x[i] = static_cast<float>(i % kTerms < kTerms / 2 ? 10 + part : -10);
  }
  std::vector<uint16_t> halves;
  for (const float value : x) halves.push_back(NearestHalf(value));
  WriteNpy(dir_ + "/x.npy", "f2", {kRows, kTerms}, halves.data());
  Run(R"({"dims": {"R": 64, "K": 128},
    "tensors": [{"name": "x", "dims": ["R", "K"], "file": "x.npy"}],
    "ops": [{"op": "sum", "inputs": ["x"], "dim": "K", "output": "y"}],
    "hints": [{"slices": {"K": 2}}]})",
      "--set workload.tiled_reductions=plan");
  std::vector<double> expected;
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t k = 0; k < kTerms; ++k) sum += x[row * kTerms + k];
    expected.push_back(sum);
  }
  const double off = Off(Values("y"), expected);
  EXPECT_GT(off, 0.01) << "the sum of each half is rounded to whole numbers";
  EXPECT_LT(off, 0.5);
}

// silu divides by 1 + exp(-x), and sums of 256 products of normal numbers reach -50.
TEST_F(ListNumbers, WhereNumbersLeaveTheFormatFirstIsSaid) {
  Write("list.json", R"({"dims": {"M": 64, "K": 256, "F": 256},
    "tensors": [{"name": "x", "dims": ["M", "K"]}, {"name": "w", "dims": ["K", "F"]}],
    "ops": [{"op": "matmul", "inputs": ["x", "w"], "output": "h"},
            {"op": "swiglu", "inputs": ["h", "h"], "output": "y"}]})");
  const Outcome outcome = Call("run list.json --out out --set workload.distribution=normal");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, ::testing::HasSubstr("elements are not finite, but are in float64"));
  EXPECT_THAT(Read("out/report.json"),
              ::testing::ContainsRegex("\\(exp\\) is the first whose results are beyond "
                                       "SEN169_FP16, [0-9]+ of 16384"));
}

// Its operand is not even copied to the card.
TEST_F(ListNumbers, AComparisonThatNoOutputNeedsIsNotAskedFor) {
  Run(R"({"dims": {"A": 8, "C": 128},
    "tensors": [{"name": "x", "dims": ["A", "C"]}, {"name": "unused", "dims": ["C"]}],
    "ops": [{"op": "greaterequal", "inputs": ["unused", 2.0], "output": "dead"},
            {"op": "exp", "inputs": ["dead"], "output": "dead2"},
            {"op": "greaterequal", "inputs": ["x", 0.25], "output": "y"}], "outputs": ["y"]})");
  std::vector<double> expected;
  for (const double value : Values("x")) expected.push_back(value >= 0.25 ? 1 : 0);
  EXPECT_EQ(Values("y"), expected);
}

// The mean of all of a tensor has no dimensions, and is a tensor all the same.
TEST_F(ListNumbers, ANormOfATensorOfOneDimensionIsThatOfItsElements) {
  constexpr size_t kN = 200;
  Run(R"({"dims": {"N": 200}, "tensors": [{"name": "x", "dims": ["N"]}, {"name": "w", "dims": ["N"]}],
    "ops": [{"op": "rmsnorm", "inputs": ["x", "w"], "dim": "N", "output": "y"},
            {"op": "layernorm", "inputs": ["x", "w", "x"], "dim": "N", "output": "z"},
            {"op": "amax", "inputs": ["x"], "dim": "N", "output": "most"},
            {"op": "sub", "inputs": [1, "most"], "output": "rest"},
            {"op": "softmax", "inputs": ["x"], "dim": "N", "output": "s"}]})");
  const std::vector<double> x = Values("x"), w = Values("w");
  double squares = 0, sum = 0, exponentials = 0;
  for (const double value : x) {
    squares += value * value;
    sum += value;
    exponentials += std::exp(value);
  }
  const double mean = sum / kN;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / kN;
  std::vector<double> y, z, s;
  for (size_t i = 0; i < kN; ++i) {
    y.push_back(x[i] / std::sqrt(squares / kN) * w[i]);
    z.push_back((x[i] - mean) / std::sqrt(variance) * w[i] + x[i]);
    s.push_back(std::exp(x[i]) / exponentials);
  }
  EXPECT_LT(Off(Values("y"), y), 0.005);
  EXPECT_LT(Off(Values("z"), z), 0.005);
  EXPECT_LT(Off(Values("s"), s), 0.01);
  EXPECT_LT(Off(Values("rest"), {1 - *std::max_element(x.begin(), x.end())}), 0.005);
}

// q [S, H, D]: rows of the mask are queries, wherever they stand.
TEST_F(ListNumbers, ACausalMaskIsAlongTheQueries) {
  constexpr size_t kS = 9, kH = 4, kD = 64;
  Run(R"({"dims": {"S": 9, "T": 9, "H": 4, "D": 64},
    "tensors": [{"name": "q", "dims": ["S", "H", "D"]}, {"name": "k", "dims": ["T", "H", "D"]},
                {"name": "v", "dims": ["T", "H", "D"]}],
    "ops": [{"op": "attention", "inputs": ["q", "k", "v"], "is_causal": true, "output": "y",
             "dims": ["H", "S", "D"]}]})");
  const std::vector<double> q = Values("q"), k = Values("k"), v = Values("v");
  std::vector<double> y(kH * kS * kD);
  for (size_t h = 0; h < kH; ++h) {
    for (size_t s = 0; s < kS; ++s) {
      std::vector<double> weights(s + 1);
      double all = 0;
      for (size_t t = 0; t <= s; ++t) {
        double score = 0;
        for (size_t d = 0; d < kD; ++d)
          score += q[(s * kH + h) * kD + d] * k[(t * kH + h) * kD + d];
        all += weights[t] = std::exp(score / 8);
      }
      for (size_t t = 0; t <= s; ++t)
        for (size_t d = 0; d < kD; ++d)
          y[(h * kS + s) * kD + d] += weights[t] / all * v[(t * kH + h) * kD + d];
    }
  }
  EXPECT_LT(Off(Values("y"), y), 0.01);
}

// With groups of heads, q has two dimensions that k lacks; those of the queries are as many as
// keys, or are named.
TEST_F(ListNumbers, ACausalMaskOfGroupedHeadsIsAlongTheQueriesToo) {
  const char* const list = R"({{"dims": {{"S": {}, "T": 9, "H": 2, "G": 3, "D": 64}},
    "tensors": [{{"name": "q", "dims": ["S", "H", "G", "D"]}}, {{"name": "k", "dims": ["T", "H", "D"]}},
                {{"name": "v", "dims": ["T", "H", "D"]}}],
    "ops": [{{"op": "attention", "inputs": ["q", "k", "v"], "is_causal": {}, "output": "y",
             "dims": ["S", "H", "G", "D"]}}]}})";
  const std::pair<size_t, const char*> cases[] = {{9, "\"S\""}, {5, "\"S\""}};
  for (const auto& [queries, causal] : cases) {
    Run(fmt::format(list, queries, causal));
    const std::vector<double> q = Values("q"), k = Values("k"), v = Values("v");
    std::vector<double> y(q.size());
    for (size_t row = 0; row < queries * 6; ++row) {
      const size_t s = row / 6, h = row / 3 % 2;
      std::vector<double> weights(s + 1);
      double all = 0;
      for (size_t t = 0; t <= s; ++t) {
        double score = 0;
        for (size_t d = 0; d < 64; ++d) score += q[row * 64 + d] * k[(t * 2 + h) * 64 + d];
        all += weights[t] = std::exp(score / 8);
      }
      for (size_t t = 0; t <= s; ++t)
        for (size_t d = 0; d < 64; ++d)
          y[row * 64 + d] += weights[t] / all * v[(t * 2 + h) * 64 + d];
    }
    EXPECT_LT(Off(Values("y"), y), 0.01);
    std::filesystem::remove_all(dir_ + "/out");
  }
  Write("list.json", fmt::format(list, 9, "true"));
  const Outcome outcome = Call("run list.json --out out");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("Name it: S or G"));
}

// The host turns an infinity of float16 into 65536, so that what is masked has the weight 0.
TEST_F(ListNumbers, AMaskOfMinusInfinityMasks) {
  constexpr size_t kS = 20, kT = 70, kD = 64;
  NpyArray mask;
  mask.dtype = "f2";
  mask.shape = {kS, kT};
  for (size_t i = 0; i < kS * kT; ++i) {
    mask.data.push_back(0);
    mask.data.push_back(i % kT < i / kT + 3 ? 0 : 0xFC);
  }
  WriteNpy(dir_ + "/m.npy", mask.dtype, mask.shape, mask.data.data());
  Run(R"({"dims": {"S": 20, "T": 70, "D": 64},
    "tensors": [{"name": "q", "dims": ["S", "D"]}, {"name": "k", "dims": ["T", "D"]},
                {"name": "v", "dims": ["T", "D"]}, {"name": "m", "dims": ["S", "T"], "file": "m.npy"}],
    "ops": [{"op": "attention", "inputs": ["q", "k", "v", "m"], "output": "y"}]})");
  const std::vector<double> q = Values("q"), k = Values("k"), v = Values("v");
  std::vector<double> y(kS * kD);
  for (size_t s = 0; s < kS; ++s) {
    std::vector<double> weights(s + 3);
    double all = 0;
    for (size_t t = 0; t < weights.size(); ++t) {
      double score = 0;
      for (size_t d = 0; d < kD; ++d) score += q[s * kD + d] * k[t * kD + d];
      all += weights[t] = std::exp(score / 8);
    }
    for (size_t t = 0; t < weights.size(); ++t)
      for (size_t d = 0; d < kD; ++d) y[s * kD + d] += weights[t] / all * v[t * kD + d];
  }
  EXPECT_LT(Off(Values("y"), y), 0.01);
}

// The copies that pad an operand are cut into chunks as other operations, and there are more
// arguments than the public compiler's own form of a bundle has room for.
TEST_F(ListNumbers, PaddingOfAMatmulMayBeCutIntoChunks) {
  constexpr size_t kA = 32, kB = 3, kC = 130;
  Run(R"({"dims": {"A": 32, "B": 3, "C": 130},
    "tensors": [{"name": "x1", "dims": ["A", "B"]}, {"name": "x2", "dims": ["C", "B"]},
                {"name": "x3", "dims": ["A", "C"]}],
    "ops": [{"op": "matmul", "inputs": ["x1", "x2"], "output": "t3"},
            {"op": "add", "inputs": ["x3", 1], "output": "t4"}]})",
      "--set workload.compiler=public --set workload.chunk_bytes=4096");
  const std::vector<double> x1 = Values("x1"), x2 = Values("x2");
  std::vector<double> product;
  for (size_t a = 0; a < kA; ++a) {
    for (size_t c = 0; c < kC; ++c) {
      double sum = 0;
      for (size_t b = 0; b < kB; ++b) sum += x1[a * kB + b] * x2[c * kB + b];
      product.push_back(sum);
    }
  }
  EXPECT_LT(Off(Values("t3"), product), 0.005);
  std::vector<double> more = Values("x3");
  for (double& value : more) value += 1;
  EXPECT_LT(Off(Values("t4"), more), 0.005);
}

// A task that is refused ends the run while the card works on those before it.
TEST_F(ListNumbers, AnEdgeThatTheDependenciesDoNotHaveIsRefused) {
  Write("list.json",
        R"({"dims": {"A": 64, "B": 256}, "tensors": [{"name": "x", "dims": ["A", "B"]}],
    "ops": [{"op": "neg", "inputs": ["x"], "output": "a0"}, {"op": "neg", "inputs": ["a0"], "output": "a1"},
            {"op": "neg", "inputs": ["a1"], "output": "a2"},
            {"op": "neg", "inputs": ["a2"], "output": "a3", "after": ["a0"]}]})");
  const Outcome outcome =
      Call("run list.json --set workload.issue.mode=task_graph --set workload.issue.deps=exact");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("task 'a3' has explicit edges, which need"));
}

// The list is one launch of several programs, as a core cannot keep all of it at once.
TEST_F(ListNumbers, ALongListWritesItsInputs) {
  nlohmann::json list = {{"dims", {{"A", 64}, {"B", 256}}},
                         {"tensors", {{{"name", "x"}, {"dims", {"A", "B"}}}}},
                         {"outputs", {"t500", "t999"}}};
  for (int i = 0; i < 1000; ++i) {
    list["ops"].push_back({{"op", i % 2 == 0 ? "abs" : "neg"},
                           {"inputs", {i == 0 ? "x" : "t" + std::to_string(i - 1)}},
                           {"output", "t" + std::to_string(i)}});
  }
  Write("list.json", list.dump());
  const Outcome outcome = Call("run list.json --out out --set output.inputs=true");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::vector<double> expected = Values("x");
  for (double& value : expected) value = std::fabs(value);
  EXPECT_LT(Off(Values("t500"), expected), 0.001);
  for (double& value : expected) value = -value;
  EXPECT_LT(Off(Values("t999"), expected), 0.001);
}

// A core cannot keep one iteration of the loop: the iterations follow each other in the launch.
TEST_F(ListNumbers, ALongLoopIsUnrolled) {
  nlohmann::json list = {{"dims", {{"A", 64}, {"B", 256}}},
                         {"tensors", {{{"name", "x"}, {"dims", {"A", "B"}}}}},
                         {"hints", {{{"slices", {{"A", 4}}}}}}};
  constexpr int kOps = 400;
  for (int i = 0; i < kOps; ++i) {
    list["ops"].push_back({{"op", i % 2 == 0 ? "neg" : "abs"},
                           {"inputs", {i == 0 ? "x" : "t" + std::to_string(i - 1)}},
                           {"output", i + 1 == kOps ? "y" : "t" + std::to_string(i)}});
  }
  Write("list.json", list.dump());
  const Outcome outcome = Call("run list.json --out out --set output.inputs=true");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::HasSubstr("16384 of 16384 elements bit-exact"));
  std::vector<double> expected = Values("x");
  for (double& value : expected) value = std::fabs(value);
  EXPECT_LT(Off(Values("y"), expected), 0.001);
}

// Caches and activations between layers are nobody's inputs.
TEST_F(ListNumbers, AModelWritesItsInputs) {
  Write("model.toml", R"([workload]
model = { layers = 2, hidden = 256, mlp = 512, heads = 4, kv_heads = 2, head_size = 64, context = 100, sequence = 1, vocabulary = 1000 }
[output]
inputs = true
)");
  const Outcome outcome = Call("run model.toml --out out");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Values("x").size(), 256u);
  EXPECT_EQ(Values("y").size(), 1000u);
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/out/hidden.npy"));
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/out/1.npy"));
}

}  // namespace
}  // namespace spyre::cosim::list_numbers_test
