// SPDX-License-Identifier: Apache-2.0
// What workload.launch says about how a workload's kernel is launched: as options of the runtime,
// as kernels that must be compiled for it, and as pieces that tensors are allocated in. Pure
// functions, any thread. Errors: Error(kBadInput) that names the key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/workload.h"
#include "runtime/compiler/codegen/tile_kernels.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/launch_options.h"

namespace spyre::cosim {

runtime::LaunchOptions LaunchOptionsOf(const LaunchConfig& config);

// The kernels that the remainder and reduction options need beside the workload's, which is `spec`;
// none where the tile is as large as the tensors. sizes: of the tensors. adds_parts: results of
// tiles of a reduced dimension are added up by a kernel of their own.
std::vector<compiler::TileKernel> CompileTileKernels(const LaunchConfig& config,
                                                     const compiler::KernelSpec& spec,
                                                     const std::map<std::string, int64_t>& sizes,
                                                     bool adds_parts);

// One for each tensor: chunks of whole tiles, as many as workload.launch.interleave says, for
// tensors that are tiled along their outermost device dimension; others stay in one piece. BadInput
// if the key asks for chunks and no tensor can have them.
std::vector<Chunks> ChunksOf(const LaunchConfig& config, const std::vector<WorkloadTensor>& tensors,
                             const compiler::Kernel& kernel);

}  // namespace spyre::cosim
