// SPDX-License-Identifier: Apache-2.0
// Takes composite operations apart into those that the card has, as the public front end does, and
// decides which dimension of every tensor is inside its stick. Both give a NamedGraph again, so
// that every step can be looked at. Pure functions, any thread.
#pragma once

#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {

// Softmax, layernorm, rmsnorm, silu, swiglu and attention become chains of operations that have an
// OpFunc. The tensors between them are named after the composite's output ("p.max"); hints on a
// composite cover its whole chain.
//   softmax    max, sub, exp, sum, realdiv
//   layernorm  mean, sub, mul, mean, add eps, rsqrt, mul [, mul weight] [, add bias]
//   rmsnorm    mul, mean, add eps, rsqrt, mul [, mul weight]
//   silu       neg, exp, add 1, realdiv
//   swiglu     silu of the first, mul by the second
//   a reduction along several dimensions is one along each, in their order
//   a reduction along dimensions of size 1 alone is a copy, a matmul over one a mul
//   a choice whose result leaves out a dimension of its indices is one with it, and a copy
//   attention  batchmatmul, mul scale [, add mask], softmax, batchmatmul
NamedGraph Decompose(const NamedGraph& graph);

// Sets NamedTensor::stick of every tensor. Operands of one pointwise operation have the same
// dimension inside the stick, those that lack it sparse sticks; a matmul wants the summed dimension
// inside the first operand's stick and the last one that only the second has inside the second's.
// Inputs without a choice of their own get the layout that their readers want; where a tensor's
// stick is another than its reader wants, sparse or not, a restickify is inserted: for an input
// before all other operations, for a computed tensor behind the operation that computes it.
// What a cat joins is inside sticks only if each of its operands begins with a whole stick.
// Throws CompileError Unsupported "sparse_stick" for an operation whose `dims` leave out what is
// inside its sticks.
NamedGraph PlanSticks(const NamedGraph& graph);

}  // namespace spyre::compiler
