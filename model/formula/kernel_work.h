// SPDX-License-Identifier: Apache-2.0
// What a kernel has to do, as far as its time depends on it, for kernel_time.h. Plain data, any
// thread. Sizes in elements of SEN169_FP16 unless they say otherwise; of parts that differ, the
// longest counts.
#pragma once

#include <cstdint>
#include <variant>

namespace spyre::model {

// Which corelets of a core work on a tile of a matmul: one; both with the same weights; each with
// weights of its own.
enum class CoreletUse : uint8_t { kOne, kSameWeights, kOwnWeights };

// out[m, n] = a[m, k] b[k, n], `batch` times, divided into parts. A core works on one matmul of its
// batch after the other, and for every tile of the output both operands pass through LX again.
struct MatmulWork {
  uint64_t batch = 1, m = 1, k = 1, n = 1;  // of the whole
  uint64_t batch_parts = 1, m_parts = 1, k_parts = 1, n_parts = 1;
  uint64_t tile_m = 1, tile_n = 1;  // of the output of a core; columns in whole sticks
  CoreletUse corelets = CoreletUse::kOne;
  bool a_in_lx = false, b_in_lx = false, out_in_lx = false;  // and so do not pass the ring

  uint64_t cores() const { return batch_parts * m_parts * k_parts * n_parts; }
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
  uint64_t loop_sticks = 0;  // of one loop, for data from memory; 0: many
};

using KernelWork = std::variant<MatmulWork, VectorWork>;

}  // namespace spyre::model
