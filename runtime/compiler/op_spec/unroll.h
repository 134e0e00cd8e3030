// SPDX-License-Identifier: Apache-2.0
// Loops written out: every iteration becomes operations of its own, with the addresses that its
// tile has. For backends without loops, and as the statement of what a loop does.
//
// Pure functions, any thread. Addresses in bytes. Source: public compiler front end, docs/facts.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::compiler {

// Bytes from one tile of `tile` elements along `symbol` to the next. Device strides: the change of
// each device coordinate times the elements of all device dimensions inside it. Where the argument
// says how it advances (tile_advance), that counts instead, per step of the symbol.
int64_t TileStrideBytes(const TensorArg& arg, const std::string& symbol, int64_t tile);

// Bytes that the argument advances per iteration of each loop around its operation, outermost
// first. The operation's own tiled_symbols say which of its symbols each loop advances: names are
// local to an operation. 0 for what is per_tile_fixed. As in the public compiler, a step along a
// symbol is one tile in every loop that advances it, although the outer of two such loops steps
// over all tiles of the inner one: bundle emission refuses them, tile_advance can say it.
std::vector<int64_t> LoopStrideBytes(const OpSpec& op, const TensorArg& arg, size_t loops);

// The copies of a body come in order, without tiled symbols; arguments advance as LoopStrideBytes
// says, whatever memory they are in.
//
// device_size of a copy that advances: a dimension along which the tile is walked becomes the
// tile's extent, if all dimensions outside it have size 1; otherwise it is part of their stride and
// stays. Never for symbols of the coordinate inside the stick.
//
// Throws CompileError ValueError "symbolic_count" for a symbolic trip count; BadInput for a
// negative one, and for a result that is too large: about 20,000 operations of three tensors each.
KernelSource UnrollLoops(const KernelSource& source);

}  // namespace spyre::compiler
