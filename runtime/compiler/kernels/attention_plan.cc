// SPDX-License-Identifier: Apache-2.0
// The plan of fused attention: how the work is cut, and whether it fits into LX.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "runtime/compiler/kernels/attention_places.h"
#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::compiler {
namespace attention {
namespace {

constexpr int64_t kMostRows = 128;  // of one product
constexpr int64_t kMostKeys = 256;  // of a tile

int LargestDivisor(int64_t of, int64_t limit) {
  int64_t best = 1;
  for (int64_t d = 1; d <= std::min(of, limit); ++d)
    if (of % d == 0) best = d;
  return static_cast<int>(best);
}

void CheckSizes(const AttentionSpec& spec) {
  for (const auto& [name, size] : {std::pair{"heads", spec.heads},
                                   {"kv_heads", spec.kv_heads},
                                   {"sequence", spec.sequence},
                                   {"context", spec.context},
                                   {"head_dim", spec.head_dim}}) {
    if (size < 1) throw BadInput("attention: {} is {}; it must be at least 1", name, size);
  }
  if (spec.heads % spec.kv_heads != 0) {
    throw BadInput("attention: {} heads on {} heads of k and v; these must divide them", spec.heads,
                   spec.kv_heads);
  }
  if (spec.head_dim % kStickElements != 0) {
    throw BadInput("attention: head_dim is {}; it must be a multiple of {}, a stick", spec.head_dim,
                   kStickElements);
  }
  if (spec.sequence > spec.context) {
    throw BadInput("attention: {} rows of q are the last of {} keys; there cannot be more rows",
                   spec.sequence, spec.context);
  }
}

}  // namespace

Places Place(const AttentionSpec& spec, const AttentionPlan& plan) {
  LxAllocator lx;
  const int64_t m = plan.heads * plan.rows;
  const int64_t depth_sticks = spec.head_dim / kStickElements;
  const int64_t key_sticks = plan.keys / kStickElements;
  const int64_t tile = plan.keys * depth_sticks * kStick;
  Places at;
  at.q = Buffers::Take(lx, m * depth_sticks * kStick, 1, "q");
  at.k = Buffers::Take(lx, tile, kTwo, "k");
  at.v = Buffers::Take(lx, tile, kTwo, "v");
  at.kt = Buffers::Take(lx, tile, kTwo, "k transposed");
  at.scores = Buffers::Take(lx, m * key_sticks * kAccumulatorStick, kTwo, "scores");
  at.p = Buffers::Take(lx, m * key_sticks * kStick, kTwo, "probabilities");
  at.out = Buffers::Take(lx, m * depth_sticks * kStick, 1, "out");
  at.sums = lx.Take(m * depth_sticks * kAccumulatorStick, "sums of the output");
  at.most = lx.Take(m * kFp32, "largest scores");
  at.before = lx.Take(m * kFp32, "largest scores before");
  at.total = lx.Take(m * kFp32, "sums of exponentials");
  at.sticks = lx.Take(m * kStick, "a stick of each row");
  at.end = lx.used();
  at.uses = lx.uses();
  return at;
}

}  // namespace attention

float AttentionSpec::scale() const {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
}

AttentionPlan PlanAttention(const AttentionSpec& spec) {
  using namespace attention;
  CheckSizes(spec);
  const int64_t group = spec.heads / spec.kv_heads;
  AttentionPlan plan;
  plan.kv_split = LargestDivisor(spec.kv_heads, spec.cores);
  const int64_t left = spec.cores / plan.kv_split;
  // Rows first, which share nothing that changes; then heads of a group, which load k and v once.
  const int64_t most_heads = LargestDivisor(group, kMostRows);
  const int64_t blocks = CeilDiv(spec.sequence, std::max<int64_t>(1, kMostRows / most_heads));
  plan.row_split = static_cast<int>(std::min(left, blocks));
  plan.group_split = LargestDivisor(group, left / plan.row_split);
  plan.heads = LargestDivisor(group / plan.group_split, kMostRows);
  plan.group_split = static_cast<int>(group / plan.heads);
  if (plan.cores() > spec.cores) {
    throw BadInput("attention: {} heads for each head of k and v do not fit on {} cores", group,
                   spec.cores);
  }
  plan.row_split = static_cast<int>(
      std::min<int64_t>(spec.cores / (plan.kv_split * plan.group_split), spec.sequence));
  const int64_t most_rows = std::max<int64_t>(1, kMostRows / plan.heads);
  plan.rows = std::min(most_rows, CeilDiv(spec.sequence, plan.row_split));
  plan.row_split =
      static_cast<int>(std::min<int64_t>(plan.row_split, CeilDiv(spec.sequence, plan.rows)));
  plan.keys = std::min(kMostKeys, CeilDiv(spec.context, kStickElements) * kStickElements);
  for (;;) {
    plan.lx_bytes = Place(spec, plan).end;
    if (plan.lx_bytes <= spec.lx_bytes) return plan;
    if (plan.keys > kStickElements) {
      plan.keys -= kStickElements;
    } else if (plan.rows > 1) {
      plan.rows = CeilDiv(plan.rows, 2);
    } else {
      throw BadInput(
          "attention: {} rows of {} elements, and tiles of {} keys, take {} bytes of LX; {} may be "
          "used",
          plan.heads, spec.head_dim, plan.keys, plan.lx_bytes, spec.lx_bytes);
    }
  }
}

}  // namespace spyre::compiler
