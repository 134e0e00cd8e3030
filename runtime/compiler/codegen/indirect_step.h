// SPDX-License-Identifier: Apache-2.0
// Gather and scatter: blocks of a tensor in device memory that an index tensor chooses, moved to or
// from another tensor. Used by code generation only.
#pragma once

#include <cstdint>

#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/kernels/step_code.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

// A core's part of the indices comes to its LX. For each of them the unit that moves blocks (load
// for a gather, store for a scatter) reads the number (LDX), and makes a request of the block
// there: blocks that lie scattered are requests of their own, one for each run of sticks that
// follow each other. Blocks pass through LX above what the bundle keeps there, or stay in LX.
// Numbers beyond the rows are faults of the card (INDEX_RANGE). Of equal indices of a scatter the
// last one counts. Returns the end of the LX that it uses.
//
// Throws BadInput naming the step: indexed tensors in LX, a gather with indices that lie within a
// block (a number for each element instead of each block), parts of the cores that begin inside a
// stick.
uint64_t BuildIndirect(const SuperDsc& dsc, Problem& problem, StepCode& code);

}  // namespace spyre::compiler
