// SPDX-License-Identifier: Apache-2.0
// What the tensors of a bundle that stay in LX occupy, step by step. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/kernels/lx_use.h"

namespace spyre::compiler {

// Bytes of LX that the tensors of the bundle occupy, from address 0.
uint64_t ResidentLxBytes(const Bundle& bundle);

// A use from the step that writes a tensor to the last one that reads it. Steps are the executes in
// the order in which they are written. What a loop reads that was written before it stays until the
// loop ends, and what a loop reads before it writes it, all through the loop.
std::vector<LxUse> ResidentLxUses(const Bundle& bundle);

}  // namespace spyre::compiler
