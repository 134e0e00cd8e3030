// SPDX-License-Identifier: Apache-2.0
// The pass `chunk_large_tensors`, as in the public compiler: operations on tensors of which a core
// would reach more than the limit are done in chunks. Pure functions, any thread.
#pragma once

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// An operation whose division over the cores leaves a core more than options.chunk_bytes of a
// tensor to reach becomes several, one for each chunk of a dimension of its result: "y.chunk0",
// "y.chunk1", ..., which write parts of the buffer "y". The dimension is the outermost of the
// result on the device that helps; there are as few chunks as bring every core within the limit, of
// equal sizes but for the last, in whole sticks where the dimension is inside a stick.
//
// Left as they are, as in the public compiler: matmuls and restickify; and operations that loops of
// hints or a plan are for, which say themselves how they are cut. What is still too large is
// refused behind work division.
void ChunkLargeTensors(FrontEndResult& graph, const FrontEndOptions& options);

}  // namespace spyre::compiler
