// SPDX-License-Identifier: Apache-2.0
// Makes the tensors of one operation agree, which bundle emission needs: all of the same rank
// (dimensions of size 1 outside), iteration symbols split where two tensors cut them at different
// places, a symbol of range 1 for every dimension that the operation stands still in, and the stick
// symbol in two coordinates where a dimension of size 1 is free for its stick count. An operation
// that agrees already comes back as it was.
//
// Pure function, any thread. Source: public compiler front end (docs/facts.md).
#pragma once

#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::compiler {

// A split symbol keeps its name for its innermost part; the others are called z0, z1, ... The split
// over cores goes to the outer parts first. Addresses, tile_advance and tiled_symbols stay: they
// speak of the symbols as they were. Throws CompileError Unsupported for coordinates that the
// hardware cannot walk: a stick coordinate other than nothing, a bare symbol, or one symbol modulo
// the elements of a stick; cuts that do not divide each other. Throws BadInput for ranges, splits
// and sizes below 1, fewer than two device dimensions, and coordinates that are not one for each.
OpSpec AlignTensors(const OpSpec& op);

}  // namespace spyre::compiler
