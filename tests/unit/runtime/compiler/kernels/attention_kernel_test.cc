// SPDX-License-Identifier: Apache-2.0
// Fused attention in the interpreter, which runs the units in random orders and refuses to read
// what nobody wrote, against float64 loops.
#include "runtime/compiler/kernels/attention_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/error.h"
#include "model/contract/formats.h"
#include "runtime/compiler/codegen/generate_attention.h"
#include "tests/unit/error_of.h"
#include "tests/unit/runtime/compiler/codegen/kernel_harness.h"

namespace spyre::compiler::attention_kernel_test {
namespace {

using test::ErrorOf;
using ::testing::HasSubstr;

AttentionSpec Spec(int64_t heads, int64_t kv_heads, int64_t sequence, int64_t context,
                   int64_t head_dim, bool causal, int cores = 4) {
  AttentionSpec spec;
  spec.heads = heads;
  spec.kv_heads = kv_heads;
  spec.sequence = sequence;
  spec.context = context;
  spec.head_dim = head_dim;
  spec.causal = causal;
  spec.cores = cores;
  return spec;
}

class AttentionKernelNumbers : public ::testing::TestWithParam<AttentionSpec> {};

TEST_P(AttentionKernelNumbers, AreThoseOfFloat64) {
  const AttentionSpec s = GetParam();
  const Kernel kernel = GenerateAttention(s);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto data = [&](int64_t heads, int64_t rows) {
    harness::Values values;
    for (int64_t i = 0; i < heads * rows * s.head_dim; ++i)
      values.push_back(DlfFromFloat(normal(random)));
    return values;
  };
  const harness::Values q = data(s.heads, s.sequence), k = data(s.kv_heads, s.context),
                        v = data(s.kv_heads, s.context);
  const auto at = [&](const harness::Values& values, int64_t rows, int64_t head, int64_t row,
                      int64_t d) {
    return double{DlfToFloat(values[static_cast<size_t>((head * rows + row) * s.head_dim + d)])};
  };
  const harness::Values out = harness::RunKernel(kernel, {q, k, v}, 11);
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t kv = h * s.kv_heads / s.heads;
    for (int64_t i = 0; i < s.sequence; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (int64_t j = 0; j < s.context; ++j) {
        double score = 0;
        for (int64_t d = 0; d < s.head_dim; ++d)
          score += at(q, s.sequence, h, i, d) * at(k, s.context, kv, j, d);
        const bool hidden = s.causal && j > s.context - s.sequence + i;
        weights.push_back(hidden ? 0 : std::exp(score / std::sqrt(double(s.head_dim))));
        sum += weights.back();
      }
      for (int64_t d = 0; d < s.head_dim; ++d) {
        double expected = 0;
        for (int64_t j = 0; j < s.context; ++j)
          expected += weights[static_cast<size_t>(j)] / sum * at(v, s.context, kv, j, d);
        ASSERT_NEAR(at(out, s.sequence, h, i, d), expected, 0.02)
            << "head " << h << ", row " << i << ", element " << d;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Sizes, AttentionKernelNumbers,
    ::testing::Values(Spec(1, 1, 5, 5, 64, false, 1), Spec(2, 2, 3, 70, 64, true),
                      Spec(4, 1, 1, 300, 64, true), Spec(4, 2, 9, 530, 128, true, 8),
                      Spec(2, 1, 130, 130, 64, true, 2), Spec(1, 1, 7, 513, 64, false, 3)));

TEST(AttentionPlan, GroupsOfHeadsShareTheKeysOfOneProduct) {
  const AttentionPlan decode = PlanAttention(Spec(32, 8, 1, 4096, 128, true, 32));
  EXPECT_EQ(decode.cores(), 32);
  EXPECT_EQ(decode.heads * decode.group_split, 4);
  const AttentionPlan prefill = PlanAttention(Spec(32, 8, 512, 512, 128, true, 32));
  EXPECT_EQ(prefill.cores(), 32);
  EXPECT_EQ(prefill.heads, 4);
}

TEST(AttentionPlan, RefusesSizesThatDoNotFit) {
  const auto refusal = [](const AttentionSpec& spec) {
    return ErrorOf(ErrorKind::kBadInput, [&] { PlanAttention(spec); });
  };
  EXPECT_THAT(refusal(Spec(3, 2, 1, 64, 64, false)), HasSubstr("divide"));
  EXPECT_THAT(refusal(Spec(1, 1, 1, 64, 80, false)), HasSubstr("head_dim is 80"));
  EXPECT_THAT(refusal(Spec(1, 1, 65, 64, 64, false)), HasSubstr("65 rows"));
  AttentionSpec small = Spec(1, 1, 1, 64, 64, false);
  small.lx_bytes = 4096;
  EXPECT_THAT(refusal(small), HasSubstr("bytes of LX"));
}

}  // namespace
}  // namespace spyre::compiler::attention_kernel_test
