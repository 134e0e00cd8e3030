// SPDX-License-Identifier: Apache-2.0
// For the verifier: operations that passes have written in several parts, as the one operation of
// the list that they are. It shares no code with those passes (chunking.h, bmm_padding.h).
//
//   chunks    `y.chunk0`, `y.chunk1`, ... write parts of one buffer: together they are `y`
//   padding   a matmul that reads `padded_y`, which is zeros and an operand: it reads the operand
//   sums      `y.start`, `y.tile` and `y.combine` make a reduction of tiles: together they are `y`
//
// Pure functions, any thread. What is not a whole set of parts stays as it is; the list then does
// not know it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

struct FoldedGraph {
  std::vector<GraphOp> ops;  // that compute something, in order
  DimNames loop_names;       // of these
};

FoldedGraph FoldParts(const FrontEndResult& graph);

}  // namespace spyre::compiler
