// SPDX-License-Identifier: Apache-2.0
// The float64 decoder against results that can be worked out by hand, and against what any decoder
// must do.
#include "cosim/reference/decoder_reference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace spyre::cosim::decoder_reference_test {
namespace {

DecoderShape Shape(int64_t sequence, int64_t context) {
  DecoderShape shape;
  shape.layers = 1;
  shape.hidden = 4;
  shape.mlp = 2;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.head_size = 2;
  shape.batch = 1;
  shape.sequence = sequence;
  shape.context = context;
  return shape;
}

// Numbers without a pattern that sums could cancel in.
DoubleTensor Numbers(size_t count, double seed) {
  DoubleTensor values(count);
  for (size_t i = 0; i < count; ++i) values[i] = std::sin(seed + 1.7 * static_cast<double>(i));
  return values;
}

DecoderInputs Inputs(size_t tokens) {
  DecoderInputs inputs;
  inputs.x = Numbers(4 * tokens, 0.3);
  DecoderLayer layer;
  layer.norm1 = layer.norm2 = {1, 2, 0.5, 1};
  layer.wq = Numbers(4 * 4, 1);
  layer.wk = Numbers(4 * 2, 2);
  layer.wv = Numbers(4 * 2, 3);
  layer.wo = Numbers(4 * 4, 4);
  layer.gate = Numbers(4 * 2, 5);
  layer.up = Numbers(4 * 2, 6);
  layer.down = Numbers(2 * 4, 7);
  inputs.layers = {layer};
  return inputs;
}

TEST(DecoderReference, ATokenAloneAttendsToItself) {
  DecoderInputs inputs = Inputs(1);
  DecoderLayer& layer = inputs.layers[0];
  inputs.x = {1, -1, 1, -1};  // its root mean square is 1
  layer.norm1 = layer.norm2 = {1, 1, 1, 1};
  layer.wv = {1, 0, 0, 1, 0, 0, 0, 0};  // the first two elements
  layer.wo = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  layer.gate = {1, 0, 0, 0, 0, 0, 0, 0};
  layer.up = {1, 0, 0, 0, 0, 0, 0, 0};
  layer.down = {1, 0, 0, 0, 0, 0, 0, 0};
  // Both heads give v = (1, -1): x + (1, -1, 1, -1) = (2, -2, 2, -2), whose norm is (1, -1, 1, -1).
  const double silu = 1 / (1 + std::exp(-1.0));
  const DoubleTensor y = EvaluateDecoder(Shape(1, 1), inputs);
  EXPECT_NEAR(y[0], 2 + silu, 1e-4) << "epsilon is 1e-5";
  EXPECT_NEAR(y[1], -2, 1e-4);
  EXPECT_NEAR(y[2], 2, 1e-4);
  EXPECT_NEAR(y[3], -2, 1e-4);
}

TEST(DecoderReference, TokensDoNotSeeThoseBehindThem) {
  const DoubleTensor long_prompt = EvaluateDecoder(Shape(3, 3), Inputs(3));
  const DoubleTensor short_prompt = EvaluateDecoder(Shape(2, 2), Inputs(2));
  for (size_t i = 0; i < short_prompt.size(); ++i)
    EXPECT_DOUBLE_EQ(long_prompt[i], short_prompt[i]) << i;
}

TEST(DecoderReference, ATokenBehindACacheIsTheLastOfThePromptThatMadeIt) {
  const DecoderInputs prompt = Inputs(3);
  const DoubleTensor whole = EvaluateDecoder(Shape(3, 3), prompt);
  // Keys and values of the first two tokens, by the definitions.
  DecoderInputs last = prompt;
  last.x = {prompt.x.begin() + 8, prompt.x.end()};
  DecoderLayer& layer = last.layers[0];
  for (int token = 0; token < 2; ++token) {
    const double* const x = prompt.x.data() + 4 * token;
    const double mean = (x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]) / 4;
    double k[2] = {0, 0}, v[2] = {0, 0};
    for (int i = 0; i < 4; ++i) {
      const double n = x[i] / std::sqrt(mean + 1e-5) * layer.norm1[static_cast<size_t>(i)];
      for (int j = 0; j < 2; ++j) {
        k[j] += n * layer.wk[static_cast<size_t>(2 * i + j)];
        v[j] += n * layer.wv[static_cast<size_t>(2 * i + j)];
      }
    }
    const double c = std::cos(token), s = std::sin(token);  // one pair of elements: rate 1
    layer.keys.insert(layer.keys.end(), {k[0] * c - k[1] * s, k[1] * c + k[0] * s});
    layer.values.insert(layer.values.end(), {v[0], v[1]});
  }
  const DoubleTensor y = EvaluateDecoder(Shape(1, 3), last);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], whole[8 + i], 1e-12) << i;
}

TEST(DecoderReference, SequencesOfABatchDoNotSeeEachOther) {
  DecoderShape two = Shape(2, 2);
  two.batch = 2;
  const DecoderInputs one = Inputs(2);
  DecoderInputs both = one;
  both.x.clear();
  for (int token = 0; token < 2; ++token) {
    both.x.insert(both.x.end(), one.x.begin() + 4 * token, one.x.begin() + 4 * (token + 1));
    both.x.insert(both.x.end(), {5, 6, 7, static_cast<double>(token)});
  }
  const DoubleTensor alone = EvaluateDecoder(Shape(2, 2), one);
  const DoubleTensor y = EvaluateDecoder(two, both);
  for (size_t token = 0; token < 2; ++token)
    for (size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(y[8 * token + i], alone[4 * token + i]);
}

TEST(DecoderReference, TheHeadGivesLogitsOfTheLastToken) {
  DecoderShape shape = Shape(2, 2);
  shape.vocabulary = 3;
  DecoderInputs inputs = Inputs(2);
  const DoubleTensor hidden = EvaluateDecoder(Shape(2, 2), inputs);
  inputs.norm = {1, 1, 1, 1};
  inputs.head = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};  // the first three elements
  const DoubleTensor logits = EvaluateDecoder(shape, inputs);
  ASSERT_EQ(logits.size(), 3u);
  double squares = 0;
  for (size_t i = 4; i < 8; ++i) squares += hidden[i] * hidden[i];
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(logits[i], hidden[4 + i] / std::sqrt(squares / 4 + 1e-5), 1e-12);
}

}  // namespace
}  // namespace spyre::cosim::decoder_reference_test
