// SPDX-License-Identifier: Apache-2.0
// What a kernel has to do, as far as its time depends on it, for kernel_time.h. Plain data, any
// thread. Sizes in elements of SEN169_FP16 unless they say otherwise; of parts that differ, the
// longest counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

namespace spyre::model {

// How loads or stores meet a tensor in device memory: pieces that follow each other there. Each is
// a request of its own, or several if it is longer than a burst.
struct MemoryRuns {
  uint64_t bytes = 0;    // of a piece; 0: all of it
  uint64_t spacing = 0;  // from piece to piece of one instruction; 0: each is in another region
};

// Which corelets of a core work on a tile of a matmul: one; both with the same weights; each with
// weights of its own.
enum class CoreletUse : uint8_t { kOne, kSameWeights, kOwnWeights };

// out[m, n] = a[m, k] b[k, n], `batch` times, divided into parts; `outer` times besides with the
// same b, as rows that are no part of m; and `inner` times with the same a, as columns that are no
// part of n. A core works on one matmul after the other, and for every tile of the output both
// operands pass through LX again.
struct MatmulWork {
  uint64_t batch = 1, m = 1, k = 1, n = 1;  // of the whole
  uint64_t batch_parts = 1, m_parts = 1, k_parts = 1, n_parts = 1;
  uint64_t outer = 1, outer_parts = 1;
  uint64_t inner = 1, inner_parts = 1;
  uint64_t tile_m = 1, tile_n = 1;  // of the output of a core; columns in whole sticks
  CoreletUse corelets = CoreletUse::kOne;
  bool a_in_lx = false, b_in_lx = false, out_in_lx = false;  // and so do not pass the ring
  MemoryRuns a_runs, b_runs, out_runs;  // of a chunk of an operand, and of a tile of results
  // Stops of the ring from memory to the last core of the farthest group that shares an operand; 0:
  // as many as its members.
  uint64_t a_hops = 0, b_hops = 0;

  uint64_t cores() const {
    return batch_parts * outer_parts * inner_parts * m_parts * k_parts * n_parts;
  }
  // Cores that take the same part of an operand, by a multicast.
  uint64_t a_sharers() const { return inner_parts * n_parts; }
  uint64_t b_sharers() const { return outer_parts * m_parts; }
  // Sticks of k that pass through LX at a time, in each of two buffers: 8 at most.
  uint64_t chunk_sticks() const {
    const uint64_t sticks = ((k + 63) / 64 + k_parts - 1) / k_parts;
    return std::min<uint64_t>(8, (sticks + 1) / 2);
  }
};

// The loop that runs over the sticks of a kernel without a matmul (card.core.vector_loop_*).
enum class VectorLoop : uint8_t {
  kNone,  // loads that leave their data in LX
  kUnary,
  kFunction,
  kBinary,
  kConstant,
  kBroadcast,
  kReduce,
};

// Rows of sticks that pass through the cores once. Rows are the elements that are not along a
// stick's dimension.
struct VectorWork {
  VectorLoop loop = VectorLoop::kUnary;
  uint64_t cores = 1;
  uint64_t elements = 0;                       // that the loops pass, of all cores
  uint64_t bytes_read = 0, bytes_written = 0;  // of device memory, once
  double rows_per_core = 1;
  uint64_t run_bytes = 0;    // contiguous in device memory, of one core; 0: long
  uint64_t loop_sticks = 0;  // of one loop, which are a tile; 0: all that a core has
  uint64_t round_rows = 0;   // of a reduction: whose sums one loop rounds; 0: all of a core
  // Of the tile that each of so many inputs loads, and of the one that is stored.
  uint64_t loads = 1;
  MemoryRuns load_runs, store_runs;
};

using KernelWork = std::variant<MatmulWork, VectorWork>;

}  // namespace spyre::model
