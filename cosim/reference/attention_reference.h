// SPDX-License-Identifier: Apache-2.0
// The reference of fused attention: of each row of q, softmax(q k^T / sqrt(depth)) v over the keys
// that it sees, in tiles of keys with a running largest score and sum. The order of additions and
// roundings is that of docs/code-generation.md "Attention". As reference.h otherwise.
#pragma once

#include <cstdint>
#include <memory>

#include "cosim/reference/reference.h"

namespace spyre::cosim {

// q, out: [heads, sequence, depth]; k, v: [kv_heads, context, depth], float16, not owned.
struct AttentionProblem {
  int64_t heads = 1, kv_heads = 1, sequence = 1, context = 1, depth = 64;
  bool causal = false;  // row i sees keys up to context - sequence + i
  int64_t tile = 64;    // keys that are worked on at a time
  const uint16_t *q = nullptr, *k = nullptr, *v = nullptr;
};

std::unique_ptr<Reference> MakeAttentionReference(const AttentionProblem& problem);

}  // namespace spyre::cosim
