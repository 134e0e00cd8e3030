// SPDX-License-Identifier: Apache-2.0
// Coarse tiling, second part: an operation in a loop computes one tile per iteration, and whoever
// reads its result outside the loop needs all tiles. Such a result gets a whole buffer; everything
// else is scratch that each iteration uses again.
//
// Pure functions on the graph, any thread. Source: the coarse-tiling RFC, docs/facts.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

enum class TileDecision : uint8_t {
  kNone,          // not in a loop, or nothing to mark
  kPerTileFixed,  // scratch of one tile at a fixed address
  kCopy,          // keeps its tile for readers inside; a copy behind it fills the whole buffer
  kMutation,      // writes the whole buffer itself
};

// What was done to the graph, in order.
struct TileAction {
  enum class Kind : uint8_t {
    kAllocateFull,       // operation `target` of kind kEmpty, of `size`, before operation `before`
    kInsertCopyAfter,    // operation "copy_" + op, which writes `target`
    kRedirectConsumers,  // `consumers` read `target` instead of op; may be empty
    kRedirectGraphOutput,  // the caller gets `target` instead of op
  };
  Kind kind = Kind::kAllocateFull;
  std::string op;
  std::string target;  // "full_" + op
  std::vector<int64_t> size;
  std::string before;
  std::vector<std::string> consumers;
};

struct TilePropagation {
  std::vector<TileAction> actions;
  std::map<std::string, TileDecision> decisions;  // of the operations that were there before
};

// Decides which readers of a tile are in the producer's own group.
enum class TileReaders : uint8_t {
  // Those with the same outermost number, as in the public compiler: a reader in another inner loop
  // of one outer would get the last inner tile only.
  kOutermostLoop,
  kInnermostLoop,  // those with the same path
};

// Looks at every stamped operation, groups in order of their numbers, operations of a group in
// order. The first rule that holds decides:
//   all its levels divide nothing: it is the same in every iteration, per-tile fixed, even as a
//     result of the graph;
//   nobody reads it in another group or outside loops, and it is not a result of the graph: fixed;
//   it is read in its own group too: a copy; otherwise a mutation.
// Groups are compared as `readers` says. Only computed operations count as readers.
// The whole buffer goes before the first operation of the group, later ones behind earlier ones.
// The fixed mark is set on tiled layouts only.
//
// Throws CompileError RuntimeError "tiled_reduction_dim" for a reduction with a tiled dimension at
// or beyond its ranges, TypeError "symbolic_size" if a whole buffer's size is not a number.
TilePropagation PropagateTiles(Graph& graph, TileReaders readers);

}  // namespace spyre::compiler
