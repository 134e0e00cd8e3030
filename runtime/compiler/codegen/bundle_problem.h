// SPDX-License-Identifier: Apache-2.0
// A SuperDSC with its addresses as a Problem for the kernel builders. Used by code generation only.
#pragma once

#include <vector>

#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/kernels/kernel_problem.h"

namespace spyre::compiler {

// Where the arguments of a bundle are in the address table, by position in Bundle::arguments.
using ArgumentEntries = std::vector<int>;

// Axes are the dimensions of more than one element, in their order; operands the inputs in order of
// computeOp_, then the output. lx_base and lx_bytes are left to the caller. `loops`: how many are
// around the execute. Throws BadInput naming the SDSC file and the tensor.
Problem StepProblem(const SuperDsc& dsc, const BundleExecute& execute, const std::string& file,
                    const ArgumentEntries& entries, Schedule schedule, CoreColumns& columns);

}  // namespace spyre::compiler
