// SPDX-License-Identifier: Apache-2.0
// A decoder stack worked out in float64 with plain loops: what a model's kernels must give
// together, whatever they are and however they are laid out. It knows positions, heads and the
// causal rule, and nothing of kernels, tables, masks or sticks. Any thread; runs on all processors.
// Sizes in elements.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/reference/graph_reference.h"

namespace spyre::cosim {

struct DecoderShape {
  int64_t layers = 0, hidden = 0, mlp = 0;
  int64_t heads = 0, kv_heads = 0, head_size = 0;
  int64_t batch = 0, sequence = 0, context = 0;
  int64_t vocabulary = 0;  // 0: no output head
};

// Matrices are [in, out] in C order.
struct DecoderLayer {
  DoubleTensor norm1, wq, wk, wv, wo, norm2, gate, up, down;
  // Of the tokens before the new ones, at least context - sequence rows of [batch, kv_heads,
  // head_size]; keys are rotated. Rows behind those are not looked at; empty: there are none.
  DoubleTensor keys, values;
};

struct DecoderInputs {
  DoubleTensor x;  // [sequence, batch, hidden]: the new tokens, embedded
  std::vector<DecoderLayer> layers;
  DoubleTensor norm, head;  // of the output head
};

// The hidden state [sequence, batch, hidden]; with a vocabulary the logits of the last token of
// each sequence, [batch, vocabulary]. RMS norms with epsilon 1e-5, rotary embedding of the two
// halves of each head with base 10000, scores by 1 / sqrt(head_size), SiLU.
DoubleTensor EvaluateDecoder(const DecoderShape& shape, const DecoderInputs& inputs,
                             Rounding rounding = Rounding::kNone);

}  // namespace spyre::cosim
