// SPDX-License-Identifier: Apache-2.0
// What is known of a kernel before any code is generated: how its work is divided, and what the
// cost model expects of a division on this card. Cheap: no program is made. Pure functions, any
// thread. Errors: spyre::Error(kBadInput) naming the operation, the dimension and the value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

// By the names of KernelSpec::dims.
using DimensionSizes = std::map<std::string, int64_t>;

// Slices of every dimension: KernelPlan::split of the kernel that GenerateKernel makes.
DimensionSizes SplitOf(const KernelSpec& spec);

// Of one launch of a matmul's kernel for these sizes, in ns, by EstimateMatmulOnRing. Where slices
// differ, all cores are charged with the longest. Empty if the operation is not a matmul, which is
// all that the model knows.
std::optional<double> ExpectedLaunchNs(const std::string& op, const DimensionSizes& sizes,
                                       const DimensionSizes& split, const MatmulTiming& timing);

}  // namespace spyre::compiler
