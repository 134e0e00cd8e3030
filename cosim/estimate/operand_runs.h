// SPDX-License-Identifier: Apache-2.0
// How the loads and stores of a matmul meet its tensors in device memory, for the closed form:
// which sticks of a chunk or of a tile follow each other there, as the instructions of the kernel
// find them (runtime/compiler/kernels/matmul_kernel.h, model/core/load_store_unit.cc). Pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "model/formula/kernel_work.h"

namespace spyre::cosim {

// Bytes in device memory from one to the next along each dimension of a matmul's tensors, 0 where a
// tensor does not have the dimension: from stick to stick for the one in its sticks, else from
// element to element. An operand is transposed if k is not in the sticks of a, or is in those of b.
struct MatmulStrides {
  int64_t a_m = 0, a_k = 0;
  int64_t b_k = 0, b_n = 0;
  int64_t out_m = 0, out_n = 0;
  bool a_transposed = false, b_transposed = false;
};

// Into work.a_runs, b_runs and out_runs; its tile has been chosen.
void SetRuns(model::MatmulWork& work, const MatmulStrides& strides);

// Stops of the ring from memory to the last core of the farthest of these groups, each a mask of
// cores of a card; the data go one way round, the way that is nearer.
uint64_t FarthestHops(const std::vector<uint32_t>& groups);

// One side of the box of sticks that an instruction loads or stores.
struct BoxSide {
  uint64_t count = 1;
  int64_t stride = 0;  // in device memory
};
// In LX rows follow each other, and so do the planes, each of as many rows.
model::MemoryRuns LoadRuns(BoxSide rows, BoxSide planes);
model::MemoryRuns StoreRuns(BoxSide rows, BoxSide planes);

}  // namespace spyre::cosim
