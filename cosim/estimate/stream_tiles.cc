// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/stream_tiles.h"

#include <algorithm>
#include <numeric>

#include "base/ranges.h"
#include "cosim/estimate/operand_runs.h"
#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::cosim {
namespace {

// More than any tile at most: a file may name dimensions that no tensor has together.
int64_t Sticks(const std::vector<StreamAxis>& axes) {
  constexpr int64_t kMost = int64_t{1} << 46;  // of one tensor (super_dsc_tensors.cc)
  int64_t sticks = 1;
  for (const StreamAxis& axis : axes) {
    if (__builtin_mul_overflow(sticks, axis.slice, &sticks) || sticks > kMost) return kMost;
  }
  return sticks;
}

// Axes by their strides in one tensor. One of a single step has none that is worth following.
std::vector<int> ByStride(const std::vector<StreamAxis>& axes, size_t tensor) {
  std::vector<int> order(axes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto axis = [&](int i) -> const StreamAxis& { return axes[static_cast<size_t>(i)]; };
  StableSort(order, [&](int a, int b) {
    const bool a_moves = axis(a).slice > 1, b_moves = axis(b).slice > 1;
    return a_moves != b_moves ? a_moves : axis(a).stride[tensor] < axis(b).stride[tensor];
  });
  return order;
}

uint64_t Balanced(uint64_t slice, int64_t most) {
  return static_cast<uint64_t>(compiler::BalancedTile(static_cast<int64_t>(slice), most));
}

BoxSide SideOf(const std::vector<StreamAxis>& axes, int axis, uint64_t tile, size_t tensor) {
  if (axis < 0) return {};
  const int64_t stride = axes[static_cast<size_t>(axis)].stride[tensor];
  return {stride == 0 ? 1 : tile, stride};
}

}  // namespace

StreamTile ChooseStreamTile(const std::vector<StreamAxis>& axes, size_t leading, bool in_lx,
                            compiler::PublicStreamTile size) {
  StreamTile tile;
  const int64_t all = Sticks(axes);
  const int64_t sticks = in_lx ? all : compiler::PublicStreamSticks(all, size, all);
  const std::vector<int> order = ByStride(axes, leading);
  if (order.empty()) return tile;
  tile.rows = order[0];
  tile.row_tile = Balanced(axes[static_cast<size_t>(tile.rows)].slice, sticks);
  if (order.size() < 2) return tile;
  tile.planes = order[1];
  tile.plane_tile = Balanced(axes[static_cast<size_t>(tile.planes)].slice,
                             sticks / static_cast<int64_t>(tile.row_tile));
  return tile;
}

StreamTile ChooseReductionTile(const std::vector<StreamAxis>& axes, size_t leading, bool in_lx,
                               bool along_sticks) {
  constexpr int64_t kChunkRows = 64;  // that are added before they meet the accumulator
  int reduced = -1, kept = -1;
  for (const int i : ByStride(axes, leading)) {
    const StreamAxis& axis = axes[static_cast<size_t>(i)];
    if (axis.reduced && reduced < 0) {
      reduced = i;
    } else if (!axis.reduced && kept < 0) {
      kept = i;
    }
  }
  const auto slice = [&](int axis) {
    return axis < 0 ? uint64_t{1} : axes[static_cast<size_t>(axis)].slice;
  };
  const int64_t all = Sticks(axes);
  const auto reduced_slice = static_cast<int64_t>(slice(reduced));
  const int64_t least = along_sticks ? 1 : std::min(reduced_slice, kChunkRows);
  const int64_t sticks =
      in_lx ? all
            : std::max(least, compiler::PublicStreamSticks(all, compiler::kPublicWideTile, all));
  uint64_t of_kept = 1, of_reduced = 1;
  if (along_sticks) {
    of_kept = Balanced(slice(kept), sticks);
    of_reduced =
        Balanced(slice(reduced), std::max<int64_t>(1, sticks / static_cast<int64_t>(of_kept)));
  } else {
    of_reduced = static_cast<uint64_t>(
        sticks >= reduced_slice ? reduced_slice : std::max(sticks / least * least, least));
    of_kept =
        Balanced(slice(kept), std::max<int64_t>(1, sticks / static_cast<int64_t>(of_reduced)));
  }
  if (along_sticks) return {kept, reduced, of_kept, of_reduced};
  return {reduced, kept, of_reduced, of_kept};
}

model::MemoryRuns LoadRuns(const std::vector<StreamAxis>& axes, const StreamTile& tile,
                           size_t tensor) {
  return LoadRuns(SideOf(axes, tile.rows, tile.row_tile, tensor),
                  SideOf(axes, tile.planes, tile.plane_tile, tensor));
}

model::MemoryRuns StoreRuns(const std::vector<StreamAxis>& axes, const StreamTile& tile,
                            size_t tensor) {
  return StoreRuns(SideOf(axes, tile.rows, tile.row_tile, tensor),
                   SideOf(axes, tile.planes, tile.plane_tile, tensor));
}

}  // namespace spyre::cosim
