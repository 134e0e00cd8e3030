// SPDX-License-Identifier: Apache-2.0
// From operations over named dimensions to the front end's graph (graph.h): loops, accesses and
// stick layouts. Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/list/named_graph.h"
#include "runtime/compiler/tiling/graph.h"
#include "runtime/compiler/tiling/hints.h"

namespace spyre::compiler {

struct LoweringOptions {
  // Buffers have the dimensions in the order of the list, also those that the caller does not see,
  // as the public front end lays them out. False: those have their stick dimension last, so that
  // tiling keeps it there.
  bool host_order = false;
  // Inputs and constants are arguments in the order in which operations read them first, as in the
  // public wrapper. False: in order of their declaration, then constants.
  bool arguments_by_use = false;
};

// `named` is decomposed and has its sticks planned (decompose.h). Constants are tensors of
// one element. A tensor with sparse sticks has a
// last dimension of size 1, whose one element is inside the stick.
Graph LowerNamedGraph(const NamedGraph& named, const LoweringOptions& options);

// The hints of `named`, for AssignDimHints. Loops end at a cat and at what chooses by indices,
// which are under none.
std::vector<HintScope> HintScopes(const NamedGraph& named);

// Follows the name of a cat in those of the copies that it is made of, before their numbers.
inline constexpr const char* kPartOfCat = ".part";

// Follows the name of what chooses by indices in that of the copy that it chooses from.
inline constexpr const char* kRowsSuffix = ".rows";
// And of what writes by indices, in that of the operation that does.
inline constexpr const char* kWriteSuffix = ".write";

// Follows the name of a tiled reduction in the name of the operation that computes one tile
// (tiled_reductions.h).
inline constexpr const char* kTileOfReduction = ".tile";

// Coarse tiling builds layouts anew and may move the stick of a tensor that does not have it last;
// this puts it back.
void RestoreSticks(const NamedGraph& named, const LoweringOptions& options, Graph& graph);

}  // namespace spyre::compiler
