// SPDX-License-Identifier: Apache-2.0
// The pass `copy_inputs`: an input of the list that several operations read is copied into LX, and
// they read the copy, as the public compiler's LX planning does at the border of a graph. Device
// memory is then read once. Pure, any thread. Source: captured bundles of softmax with LX planning;
// measured times of tiled softmax, which are those of one read and one write.
#pragma once

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// Rewrites graph.primitives, as `promote_types` left them. A copy is kept if the passes behind give
// it a place in LX, so that less is moved from and to device memory in all. Matmuls read inputs as
// they are: they read them in tiles, again and again. Does nothing with options that keep the pass
// from it, and where a later pass refuses the list: that pass says why.
void CopyInputs(FrontEndResult& graph, const FrontEndOptions& options);

}  // namespace spyre::compiler
