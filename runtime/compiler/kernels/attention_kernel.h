// SPDX-License-Identifier: Apache-2.0
// Fused attention: out = softmax(q k^T * scale) v for each head, over keys in tiles. What is kept
// between tiles stays in LX: of each row the largest score and the sum of exponentials so far, and
// the fp32 sums of the output, which are rescaled when a larger score is found (online softmax).
//
//   load    rows of q once, then tiles of k and v, one ahead
//   vector  transposes a tile of k; scales and rounds the scores, masks, exponentials, sums;
//           rescales the output; at the end divides it by the sums
//   pt      scores of the next tile, then probabilities times values of this one
//   store   finished rows
//
// Query heads that share a head of k and v are rows of one product. A core works on heads of k and
// v, a part of the query heads of each, and every row_split-th block of rows, so that with a causal
// mask all cores have long and short rows. Used by code generation only.
//
// Errors: BadInput naming the size, and the bytes of LX that would be needed.
#pragma once

#include <cstdint>

#include "runtime/compiler/kernels/core_columns.h"
#include "runtime/compiler/kernels/step_code.h"
#include "runtime/compiler/kernels/tile_walk.h"

namespace spyre::compiler {

// Sizes in elements. q, out: [heads, sequence, head_dim]; k, v: [kv_heads, context, head_dim].
struct AttentionSpec {
  int64_t heads = 1;
  int64_t kv_heads = 1;   // divides heads
  int64_t sequence = 1;   // rows of q: the last ones of the context
  int64_t context = 1;    // keys
  int64_t head_dim = 64;  // a multiple of a stick
  bool causal = false;    // row i sees keys up to context - sequence + i
  int cores = kMaxCores;
  uint64_t lx_bytes = kLxUsableBytes;
  bool timing_only = false;
  Schedule schedule = kDefaultSchedule;

  float scale() const;  // 1 / sqrt(head_dim)
};

// How the work is cut.
struct AttentionPlan {
  int kv_split = 1, group_split = 1, row_split = 1;  // cores along each
  int64_t heads = 1;                                 // query heads that are rows of one product
  int64_t rows = 1;                                  // of the sequence, in one block
  int64_t keys = 64;                                 // in a tile
  uint64_t lx_bytes = 0;

  int cores() const { return kv_split * group_split * row_split; }
};
// Throws BadInput for sizes that do not fit together or into LX.
AttentionPlan PlanAttention(const AttentionSpec& spec);

// Adds the kernel's code. Arguments 0 .. 3 of the address table: q, k, v, out.
struct AttentionStrides {
  bool key_rows_first = true;  // keys have a smaller stride in device memory than sticks of them
  bool row_rows_first = true;  // the same of rows of q and out
};
void BuildAttention(const AttentionSpec& spec, const AttentionPlan& plan,
                    const AttentionStrides& strides, CoreColumns& columns, StepCode& code);

}  // namespace spyre::compiler
