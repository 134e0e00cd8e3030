// SPDX-License-Identifier: Apache-2.0
// Work division of a kernel: the forced split of the spec, or the compiler's rule
// (work_division.h), and the checks that both must pass. Used by code generation only.
#pragma once

#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::compiler {

// Sets split and slice of every axis of the problem.
// Errors: a forced split into more slices than the dimension has elements (names the dimension, its
// size and the count), more slices than cores, a tensor that reaches over more than 256 MB per
// core.
void DivideAxes(const KernelSpec& spec, KernelProblem& problem);

}  // namespace spyre::compiler
