// SPDX-License-Identifier: Apache-2.0
// From operations over named dimensions to the front end's graph (graph.h): loops, accesses and
// stick layouts. Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/front_end/named_graph.h"
#include "runtime/compiler/tiling/graph.h"
#include "runtime/compiler/tiling/hints.h"

namespace spyre::compiler {

// `named` is decomposed and has its sticks planned (decompose.h). Inputs come in order of their
// declaration, then constants, which are tensors of one element. A tensor with sparse sticks has a
// last dimension of size 1, whose one element is inside the stick. Buffers that the caller does not
// see have their stick dimension last, so that tiling keeps it there.
Graph LowerNamedGraph(const NamedGraph& named);

// The hints of `named`, for AssignDimHints.
std::vector<HintScope> HintScopes(const NamedGraph& named);

// Coarse tiling builds layouts anew and may move the stick of a tensor that does not have it last;
// this puts it back.
void RestoreSticks(const NamedGraph& named, Graph& graph);

}  // namespace spyre::compiler
