// SPDX-License-Identifier: Apache-2.0
// The kinds of operations that the reference of bundles executes, each on one bound step. Cores of
// a step run at once: what they read is memory as it was before the step. Errors: Error(kBadInput).
#pragma once

#include "cosim/reference/bundle_memory.h"
#include "cosim/reference/bundle_step.h"
#include "runtime/compiler/ops/op_funcs.h"

namespace spyre::cosim {

// Element by element: pointwise, copies, restickify, conversions, layernormscale.
void RunElements(const BoundStep& step, const compiler::OpFunc& op, BundleMemory& memory);
// Reductions. Along the dimension inside the sticks a chunk is a stick, else it is 64 elements; a
// chunk's terms are folded in increasing order from the identity, chunks in order to the core's
// total, and totals of cores that share the dimension in order of their slices. Of several
// dimensions the one in the sticks, else the first, is folded for each index of the others, which
// follow each other in order, the last one fastest; of the cores' slices those of the first
// dimension are slowest.
void RunReduction(const BoundStep& step, const compiler::OpFunc& op, BundleMemory& memory);
// The largest along a dimension, each lane by itself, or where they stand. Of the first numbers, as
// many as there are ranks, NaN keep their ranks; other NaN are dropped.
void RunTopK(const BoundStep& step, const compiler::OpFunc& op, BundleMemory& memory);
// A tensor in LX, from the slices that the cores have of it to those of the operation.
void RunShuffle(const BoundStep& step, BundleMemory& memory);
// Gather and scatter: element by element, where an index tensor says.
void RunIndirect(const BoundStep& step, BundleMemory& memory);
// Matrix products, in the order of additions that reference.h describes.
void RunMatmul(const BoundStep& step, BundleMemory& memory);

}  // namespace spyre::cosim
