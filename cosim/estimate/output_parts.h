// SPDX-License-Identifier: Apache-2.0
// Into which parts launches, cores, corelets and the tiles of a core cut the output of an
// operation. Pure function, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/kernels/kernel.h"

namespace spyre::cosim {

// Of each dimension of the output, in C order, where the parts end. spec: of a tile of the launch;
// sizes: of the whole tensors; plan: of the compiled kernel. What one corelet computes of one tile
// is a box of whole parts.
std::vector<std::vector<int64_t>> OutputParts(const compiler::KernelSpec& spec,
                                              const std::map<std::string, int64_t>& sizes,
                                              const compiler::KernelPlan& plan);

}  // namespace spyre::cosim
