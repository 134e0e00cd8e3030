// SPDX-License-Identifier: Apache-2.0
// The reference of attention against float64 loops that share nothing with it.
#include "cosim/reference/attention_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim::attention_reference_test {
namespace {

struct Sizes {
  int64_t heads, kv_heads, sequence, context, depth, tile;
  bool causal;
};

class AttentionNumbers : public testing::TestWithParam<Sizes> {};

TEST_P(AttentionNumbers, AreThoseOfTheDefinition) {
  const Sizes s = GetParam();
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const auto data = [&](int64_t count) {
    std::vector<uint16_t> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(NearestHalf(SenValue(NearestSen(normal(random)))));
    return values;
  };
  const auto q = data(s.heads * s.sequence * s.depth);
  const auto k = data(s.kv_heads * s.context * s.depth);
  const auto v = data(s.kv_heads * s.context * s.depth);
  const auto reference =
      MakeAttentionReference({s.heads, s.kv_heads, s.sequence, s.context, s.depth, s.causal, s.tile,
                              q.data(), k.data(), v.data()});
  std::vector<uint16_t> results(q.size());
  reference->Compute(0, reference->elements(), results.data());
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t kv = h * s.kv_heads / s.heads;
    for (int64_t i = 0; i < s.sequence; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (int64_t j = 0; j < s.context; ++j) {
        double score = 0;
        for (int64_t d = 0; d < s.depth; ++d)
          score += HalfValue(q[(h * s.sequence + i) * s.depth + d]) *
                   HalfValue(k[(kv * s.context + j) * s.depth + d]);
        const bool hidden = s.causal && j > s.context - s.sequence + i;
        weights.push_back(hidden ? 0 : std::exp(score / std::sqrt(double(s.depth))));
        sum += weights.back();
      }
      for (int64_t d = 0; d < s.depth; ++d) {
        double expected = 0;
        for (int64_t j = 0; j < s.context; ++j)
          expected += weights[j] / sum * HalfValue(v[(kv * s.context + j) * s.depth + d]);
        const int64_t element = (h * s.sequence + i) * s.depth + d;
        EXPECT_NEAR(reference->Ideal(element), expected, 1e-9);
        EXPECT_NEAR(HalfValue(results[element]), expected, reference->Rounding(element));
        EXPECT_NEAR(HalfValue(results[element]), expected, 0.02) << "in sizes of one";
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, AttentionNumbers,
                         testing::Values(Sizes{1, 1, 3, 5, 64, 64, false},
                                         Sizes{2, 1, 4, 200, 64, 64, true},
                                         Sizes{4, 2, 1, 300, 128, 128, true},
                                         Sizes{2, 2, 70, 70, 64, 64, true}));

}  // namespace
}  // namespace spyre::cosim::attention_reference_test
