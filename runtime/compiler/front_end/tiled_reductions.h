// SPDX-License-Identifier: Apache-2.0
// Hints along a dimension that an operation reduces (workload.tiled_reductions = "plan"). The
// result s becomes, with loops of the hints around the last two:
//
//   s          a buffer
//   s.start    s = 0, before the loops; of a largest or smallest that of the first tile
//   s.tile     the result of a tile; a mean divides it by the size of the whole
//   s.combine  s = s + s.tile; of a largest or smallest that of the two
//
// As in tiled launches with reduction = "plan" (runtime/spyre/reduction_tiling.h), the result of
// each tile is rounded to the type of the operation, and added in that type.
//
// Caller: the pass `hints`, when hints are assigned. Pure, any thread. An extension of this
// project: the coarse-tiling RFC refuses such hints.
#pragma once

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// sum, mean, amax, amin and matmul; others stay as they are. Throws CompileError RuntimeError
// "tiled_reduction_dim" if another operation of the loop reads s, which is whole only behind the
// loop, or if a hint around it divides nothing of it, or if the operand of an amax or amin is made
// in the loop; RuntimeError "not_divisible" and Unsupported
// "partial_stick_tile" for tiles that are not equal, or cut a stick.
void SplitTiledReductions(FrontEndResult& graph);

}  // namespace spyre::compiler
