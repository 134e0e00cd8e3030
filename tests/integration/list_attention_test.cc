// SPDX-License-Identifier: Apache-2.0
// Attention in a list of operations, as PyTorch's scaled_dot_product_attention has it: is_causal,
// scale, grouped heads. The oracle reads the files of a run and has loops of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/integration/npy_values.h"
#include "tests/integration/program_fixture.h"

namespace spyre::cosim::list_attention_test {
namespace {

struct Sizes {
  const char* name;
  int64_t groups, heads, rows, keys, depth, value_depth;  // heads: of q, in each group
  bool causal;
  double scale;  // 0: by default
  const char* mode;
  // Dimensions of two: the outer one of what is summed over, and of the keys.
  int64_t depth_parts = 1, key_parts = 1;
};
void PrintTo(const Sizes& sizes, std::ostream* out) { *out << sizes.name; }

class ListAttention : public test::ProgramFixture, public ::testing::WithParamInterface<Sizes> {
 protected:
  std::vector<double> Values(const std::string& name) const {
    return test::NpyValues(dir_ + "/out/" + name + ".npy");
  }
};

TEST_P(ListAttention, GivesTheValuesOfTheFormula) {
  const Sizes s = GetParam();
  nlohmann::json op = {{"op", "scaled_dot_product_attention"},
                       {"inputs", {"q", "k", "v"}},
                       {"output", "o"},
                       {"is_causal", s.causal}};
  if (s.scale != 0) op["scale"] = s.scale;
  nlohmann::json depth = {"D"}, keys = {"T"};
  if (s.depth_parts > 1) op["dim"] = depth = {"P", "D"};
  if (s.key_parts > 1) keys = {"U", "T"};
  const auto dims = [](nlohmann::json all, const nlohmann::json& more, const nlohmann::json& last) {
    for (const auto* some : {&more, &last}) all.insert(all.end(), some->begin(), some->end());
    return all;
  };
  nlohmann::json sizes = {{"G", s.groups},
                          {"H", s.heads},
                          {"S", s.rows},
                          {"T", s.keys / s.key_parts},
                          {"D", s.depth / s.depth_parts},
                          {"E", s.value_depth}};
  if (s.depth_parts > 1) sizes["P"] = s.depth_parts;
  if (s.key_parts > 1) sizes["U"] = s.key_parts;
  const nlohmann::json list = {{"dims", sizes},
                               {"tensors",
                                {{{"name", "q"}, {"dims", dims({"G", "H", "S"}, depth, {})}},
                                 {{"name", "k"}, {"dims", dims({"G"}, keys, depth)}},
                                 {{"name", "v"}, {"dims", dims({"G"}, keys, {"E"})}}}},
                               {"ops", nlohmann::json::array({op})}};
  Write("list.json", list.dump());
  Write("run.toml", "[workload]\ngraph = \"list.json\"\ndistribution = \"normal\"\n");
  const Outcome outcome = Call(std::string("run run.toml --out out --set output.inputs=true --set "
                                           "workload.issue.mode=") +
                               s.mode);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<double> q = Values("q"), k = Values("k"), v = Values("v"), o = Values("o");
  ASSERT_EQ(o.size(), static_cast<size_t>(s.groups * s.heads * s.rows * s.value_depth));
  const double scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(s.depth));
  double largest = 0, off = 0;
  for (int64_t row = 0; row < s.groups * s.heads * s.rows; ++row) {
    const int64_t group = row / (s.heads * s.rows);
    const int64_t seen = s.causal ? std::min(s.keys, row % s.rows + 1) : s.keys;
    std::vector<double> weights;
    double sum = 0;
    for (int64_t key = 0; key < seen; ++key) {
      double score = 0;
      for (int64_t d = 0; d < s.depth; ++d)
        score += q[static_cast<size_t>(row * s.depth + d)] *
                 k[static_cast<size_t>((group * s.keys + key) * s.depth + d)];
      weights.push_back(std::exp(score * scale));
      sum += weights.back();
    }
    for (int64_t e = 0; e < s.value_depth; ++e) {
      double value = 0;
      for (int64_t key = 0; key < seen; ++key)
        value += weights[static_cast<size_t>(key)] / sum *
                 v[static_cast<size_t>((group * s.keys + key) * s.value_depth + e)];
      largest = std::max(largest, std::abs(value));
      off = std::max(off, std::abs(value - o[static_cast<size_t>(row * s.value_depth + e)]));
    }
  }
  // The card's numbers have nine bits behind the point, and a score of a few units is off by as
  // much.
  EXPECT_LT(off, 0.02 * largest);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ListAttention,
    ::testing::Values(Sizes{"plain", 1, 2, 64, 128, 64, 64, false, 0, "program"},
                      Sizes{"causal", 1, 2, 96, 96, 64, 64, true, 0, "program"},
                      Sizes{"grouped", 2, 4, 40, 160, 64, 64, false, 0, "program"},
                      Sizes{"causal_grouped_ragged", 2, 3, 70, 90, 128, 64, true, 0.25, "program"},
                      Sizes{"more_rows_than_keys", 2, 2, 130, 64, 64, 128, true, 0, "streams"},
                      Sizes{"one_row", 2, 2, 1, 200, 64, 64, false, 0, "task_graph"},
                      Sizes{"halves_of_heads", 2, 3, 40, 70, 128, 64, true, 0, "program", 2},
                      Sizes{"ragged_halves", 2, 3, 40, 70, 96, 64, true, 0, "program", 2},
                      Sizes{"blocks_of_keys", 2, 3, 40, 256, 64, 64, false, 0, "program", 1, 4}),
    [](const auto& test) { return test.param.name; });

std::vector<Sizes> RandomSizes() {
  static std::vector<std::string> names;
  std::mt19937 random(15);
  const auto from = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  std::vector<Sizes> all;
  names.reserve(16);
  for (int i = 0; i < 16; ++i) {
    const char* const mode = i % 4 == 3 ? "streams" : "program";
    names.push_back("random_" + std::to_string(i));
    all.push_back({names.back().c_str(), from(1, 3), from(1, 4), from(2, 140), from(2, 210),
                   16 * from(1, 9), 8 * from(2, 17), from(0, 1) == 1, from(0, 2) == 0 ? 0.125 : 0.0,
                   mode});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Random, ListAttention, ::testing::ValuesIn(RandomSizes()),
                         [](const auto& test) { return test.param.name; });

class ListAttentionRefuses : public test::ProgramFixture {};

TEST_F(ListAttentionRefuses, WhatIsNotClear) {
  const auto error = [&](const std::string& keys) {
    Write("list.json", R"({"dims": {"S": 64, "T": 64, "D": 64},
      "tensors": [{"name": "q", "dims": ["S", "D"]}, {"name": "k", "dims": ["T", "D"]},
                  {"name": "v", "dims": ["T", "D"]}, {"name": "m", "dims": ["S", "T"]}],
      "ops": [{"op": "sdpa", "output": "o", )" +
                           keys + "}]}");
    Write("run.toml", "[workload]\ngraph = \"list.json\"\n");
    const Outcome outcome = Call("run run.toml");
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_THAT(error(R"("inputs": ["q", "k", "v", "m"], "is_causal": true)"),
              ::testing::HasSubstr("ops[0] has a mask and is_causal"));
  EXPECT_THAT(error(R"("inputs": ["q", "k", "v", "m"], "is_causal": 1)"),
              ::testing::HasSubstr("ops[0].is_causal = 1 must be true or false"));
  EXPECT_THAT(error(R"("inputs": ["q", "k", "v", "m"], "dropout_p": 0.1)"),
              ::testing::HasSubstr("dropout_p"));
}

}  // namespace
}  // namespace spyre::cosim::list_attention_test
