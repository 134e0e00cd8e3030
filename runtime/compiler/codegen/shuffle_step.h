// SPDX-License-Identifier: Apache-2.0
// A relayout within LX: every core gets its slice of a tensor from the LX of the cores that hold
// it, whose slices are others. Used by code generation only.
#pragma once

#include <cstdint>

#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/kernels/step_code.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

// Each core's ring unit sends what the others need of its slice, in rounds: in one round a core
// sends one box of sticks to one other core, a message for each run of sticks that follow each
// other on both sides, in the order of the distance to the receiver. The end of the step is the end
// of the last message. Returns the end of the LX that it uses.
//
// Throws BadInput naming the step: tensors that are not both in LX or that overlap there, slices
// that are not whole sticks, parts that no core holds.
uint64_t BuildShuffle(const SuperDsc& dsc, const Problem& problem, StepCode& code);

}  // namespace spyre::compiler
