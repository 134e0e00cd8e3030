// What workload.launch says about how a workload's kernel is launched: as options of the runtime,
// as kernels that must be compiled for it, and as pieces that tensors are allocated in. Pure
// functions, any thread. Errors: Error(kBadInput) that names the key.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/config.h"
#include "cosim/workload.h"
#include "runtime/compiler/kernel.h"
#include "runtime/compiler/tile_kernels.h"
#include "runtime/spyre/launch_options.h"

namespace spyre::cosim {

// A key of workload.launch is not as it is by default.
bool IsGiven(const LaunchConfig& launch);

runtime::LaunchOptions LaunchOptionsOf(const LaunchConfig& config);

// The kernels that the remainder and reduction options need beside the workload's; none where the
// tile is as large as the tensors, or for a bundle.
std::vector<compiler::TileKernel> CompileTileKernels(const LaunchConfig& config,
                                                     const Workload& workload);

// How a tensor is allocated: in `count` chunks, each of a multiple of `granularity` elements.
struct Chunks {
  int count = 1;
  int64_t granularity = 1;
};
// One for each tensor: chunks of whole tiles, as many as workload.launch.interleave says, for
// tensors that are tiled along their outermost device dimension; others stay in one piece. BadInput
// if the key asks for chunks and no tensor can have them.
std::vector<Chunks> ChunksOf(const LaunchConfig& config, const Workload& workload,
                             const compiler::Kernel& kernel);

}  // namespace spyre::cosim
