// SPDX-License-Identifier: Apache-2.0
// Code generation: one operation with fixed sizes becomes a compute program for the cores and the
// correction program that tells it where its tensors are.
//
// Callers: cosim (workloads, `compile`), tests. Pure function, any thread.
// Errors: spyre::Error(kBadInput) naming the operation, the dimension and the value.
#pragma once

#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

Kernel GenerateKernel(const KernelSpec& spec);

}  // namespace spyre::compiler
