// SPDX-License-Identifier: Apache-2.0
// Coarse tiling, first part: groups of operations are put into counted loops. Every operation of a
// group is stamped with its loops, its ranges are divided by their counts, and its buffer shrinks
// to one tile. Then tiling_propagation.h gives results that leave the loop a whole buffer again.
//
// Runs after layouts are fixed and before work division and LX planning, which must see tiles.
// Pure functions on the graph, any thread. Source: the coarse-tiling RFC, docs/facts.md.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

struct TileLevel {
  Extent count;           // trips, at least 1 if it is a number
  std::vector<int> dims;  // positions in the ranges of operations that have no hints of their own
  int hint_id = -1;       // finds an operation's own dimension among its dim_hints
};

// Operations that run in the same loops, outermost level first.
struct TileGroup {
  std::vector<std::string> ops;  // adjacent in the graph
  std::vector<TileLevel> levels;
  // Of the loops around it, as many as levels; groups with a common beginning share the loops of
  // it, which lets several inner loops run inside one outer. Empty: (number, 0, ...).
  std::vector<int> path{};
};

// Group g gets the path (g, 0, ...), as long as it has levels. Levels are applied outermost first,
// each to what the one before left. An operation with dim_hints divides the dimension that its own
// hint of the level names, or none; dimensions that it does not have are ignored, and reduction
// ranges are never divided. Operations that are not computed stay unstamped.
//
// Symbolic counts and ranges divide symbolically and unchecked. A layout of the same rank as the
// ranges becomes contiguous, in the default stick layout along the host dimension whose new stride
// is that of the old stick, else along the last.
//
// Throws CompileError RuntimeError: "unknown_op", "not_contiguous" (all operations count, those not
// computed too), "not_divisible". What was stamped before the error stays stamped. BadInput for a
// count below 1.
void StampTiles(Graph& graph, const std::vector<TileGroup>& groups);

// Whoever reads a tile must walk exactly that tile: on every level, the dimensions of the buffer
// that its producer divides are those that the reader's loops divide. Reads inside a group that
// say which loops walk the buffer are checked; between groups that share outer loops, on those.
// Throws CompileError RuntimeError
// "tiled_reduction_dim" if a reduction runs along a divided dimension, "tile_mismatch" otherwise.
void CheckTileReads(const Graph& graph);

// StampTiles, CheckTileReads, PropagateTiles; who reads in another inner loop reads a whole buffer.
void CoarseTile(Graph& graph, const std::vector<TileGroup>& groups);

// The host dimension whose stride is that of the elements inside the sticks of `device`, else the
// last: how layouts that are built anew keep their stick dimension.
int StickDimOf(const StickLayout& device, const std::vector<int64_t>& stride);

}  // namespace spyre::compiler
