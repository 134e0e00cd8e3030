// SPDX-License-Identifier: Apache-2.0
// Where the parts of a kernel lie in its program allocation, and the correction program, which
// needs to know. Used by code generation only.
#pragma once

#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

// Fills correction, sizes and offsets of `kernel` from its compute programs, arguments, dimensions
// and pool_bytes, and where each program finds the next. `pool_entry`: entry of their address
// tables that gets the address of the pool, -1: none. `kept_lx`: so many bytes at the start of LX
// are not touched by the correction, for what an earlier kernel has left there.
void LayOutAllocation(Kernel& kernel, int pool_entry = -1, uint64_t kept_lx = 0);

}  // namespace spyre::compiler
