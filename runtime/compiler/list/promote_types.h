// SPDX-License-Identifier: Apache-2.0
// Types of a list: the pass `promote_types`, which inserts conversions where operands differ, and
// what conversions do to the order of elements. Pure functions, any thread.
#pragma once

#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {

// An operation computes in the widest type among its tensors: each operand of a narrower one is
// converted right before it, as the public compiler lowers mixed operands; a number takes the type
// of the operation. A conversion to the type that a tensor has is a copy.
// Between float8 and float32 the way is by float16. float8 is a type to keep data in: an operation
// on it computes in float16. Throws CompileError Unsupported "dtype" for an operation that the card
// has in float16 only.
NamedGraph PromoteTypes(const NamedGraph& graph);

// A conversion leaves the elements of two sticks in another order (docs/program-format.md), and the
// one back restores it. `graph` has its sticks planned. Throws CompileError Unsupported:
//   "element_arrangement"       operands, or a matmul, a restickify or an output, whose elements
//                               are not in the order that is wanted
//   "partial_stick_conversion"  a conversion whose dimension is not whole sticks of both types
//   "sparse_stick"              a conversion of elements that lie one to a stick
//   "dtype"                     a restickify of float32
void CheckArrangements(const NamedGraph& graph);

}  // namespace spyre::compiler
