// SPDX-License-Identifier: Apache-2.0
// Which kernel runs an OpFunc. Used by code generation only.
#pragma once

#include "runtime/compiler/kernels/step_kernels.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

// Adds the code of the SuperDSC's operation; returns the end of the LX that it uses. Throws
// BadInput naming the operation if there is no public definition, or its formats or operands do not
// fit it.
uint64_t BuildOp(const SuperDsc& dsc, Problem& problem, StepCode& code);

}  // namespace spyre::compiler
