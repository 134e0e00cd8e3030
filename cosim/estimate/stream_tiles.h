// SPDX-License-Identifier: Apache-2.0
// The tiles in which kernels without a matmul pass through LX, as code generation chooses them
// (runtime/compiler/kernels/tile_walk.h, public_tiling.h), for the closed form: how many sticks one
// loop has, and how its loads and stores meet device memory. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "model/formula/kernel_work.h"
#include "runtime/compiler/kernels/public_tiling.h"

namespace spyre::cosim {

// A dimension of what a core works on.
struct StreamAxis {
  uint64_t slice = 1;           // sticks along the dimension of the sticks, else elements
  std::vector<int64_t> stride;  // bytes from one to the next in each tensor, 0: it does not walk it
  bool reduced = false;
};

struct StreamTile {
  int rows = -1, planes = -1;  // axes, -1: none
  uint64_t row_tile = 1, plane_tile = 1;
  uint64_t sticks() const { return row_tile * plane_tile; }
};

// A tile of a core's part: its rows are the axis with the smallest stride in the tensor `leading`,
// its planes the next one. Of a reduction one of the two is the reduced axis, and the other one
// stays; along_sticks: the reduced axis is that of the sticks. What is all in LX is no stream: its
// tiles are as large as two axes are.
StreamTile ChooseStreamTile(const std::vector<StreamAxis>& axes, size_t leading, bool in_lx,
                            compiler::PublicStreamTile size);
StreamTile ChooseReductionTile(const std::vector<StreamAxis>& axes, size_t leading, bool in_lx,
                               bool along_sticks);

// Of a tensor's part of such a tile.
model::MemoryRuns LoadRuns(const std::vector<StreamAxis>& axes, const StreamTile& tile,
                           size_t tensor);
model::MemoryRuns StoreRuns(const std::vector<StreamAxis>& axes, const StreamTile& tile,
                            size_t tensor);

}  // namespace spyre::cosim
