// SPDX-License-Identifier: Apache-2.0
// A scatter with an index for each element of a stick: the rows that may be chosen come to LX as a
// whole, each element goes into its lane of its row, and the rows go back. Used by code generation
// only. Errors: Error(kBadInput).
#pragma once

#include <cstdint>

#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/compiler/kernels/step_code.h"
#include "runtime/compiler/sdsc/super_dsc.h"

namespace spyre::compiler {

bool ScattersElements(const SuperDsc& dsc);
// Returns the end of the LX that it uses.
uint64_t BuildElementScatter(const SuperDsc& dsc, Problem& problem, StepCode& code);

}  // namespace spyre::compiler
