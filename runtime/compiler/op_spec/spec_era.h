// SPDX-License-Identifier: Apache-2.0
// The two forms of OpSpec source that differ in what an operation in a loop says. A source is
// written in one of them, whole (ToSource); both are read, and what the public front end wrote in
// between.
//
//   kRfc      tiled_symbols is one list, a symbol for each loop, outermost first; tensors have
//             stride_map and per_tile_fixed; the pool's key is 'pool'
//   kNewest   tiled_symbols is a list for each loop, innermost first, of symbols of their own; what
//             advances has device_tile_advance_expr; the pool's key is 'hbm_pool'
//
// Pure functions, any thread. Source: the coarse-tiling RFC, docs/facts.md.
#pragma once

#include <cstdint>

#include "runtime/compiler/op_spec/op_spec.h"
#include "runtime/compiler/op_spec/python_source.h"

namespace spyre::compiler {

enum class OpSpecEra : uint8_t { kRfc, kNewest };

// The RFC's, unless something in the source cannot be said in it: a tensor that advances by other
// steps than its coordinates, slices of cores, a loop that advances none of an operation's symbols
// or several.
OpSpecEra EraOf(const KernelSource& source);

// The same loops, steps and places in the newest form: symbols t0, t1, ... for the loops, outermost
// first, and a device_tile_advance_expr wherever a tensor advances.
KernelSource InNewestEra(const KernelSource& source);

// Throws BadInput if the operations `body` of a source have fields that no known version of the
// front end wrote together, with the places of both: a stride_map or a flat tiled_symbols, and a
// list of lists or a device_tile_advance_expr; the pool as 'pool' and as 'hbm_pool'. per_tile_fixed
// goes with either: it was there for some time beside lists of lists, and beside
// device_tile_advance_expr.
void CheckOneEra(const PySource& source, const PyValue& body);

}  // namespace spyre::compiler
