// SPDX-License-Identifier: Apache-2.0
// A KernelSpec as the problem that the kernel builders take, for code generation, and for the
// closed form of kernel times, which wants its divisions and strides. Errors:
// spyre::Error(kBadInput) naming the operation, the dimension and the value.
#pragma once

#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::compiler {

// Checks the spec, fills arguments, axes and operands, and divides the work. Tiles are left at 1.
// `columns` must outlive the result.
KernelProblem ResolveProblem(const KernelSpec& spec, CoreColumns& columns);

}  // namespace spyre::compiler
