// SPDX-License-Identifier: Apache-2.0
// The kernels that tiled launches of a kernel need beside it, where its tile does not divide the
// tensors: the same operation compiled for what remains, and copies that move the valid part of a
// padded tile on the device. docs/tiled-launches.md says when which is used.
//
// Callers: cosim, tests. Pure functions, any thread. Errors: as GenerateKernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

struct TileKernel {
  std::string name;  // of its directory: "remainder_m928", "copy_928x1024"
  Kernel kernel;
};

// One for each combination of dimensions whose last tile is cut short when `tile` is launched over
// tensors of `sizes` (the dimensions of tile.dims; those not named are the tile's). Dimensions that
// the operation reduces are left alone unless `sums`: the launches add up their tiles. A divided
// reduction is divided as in the tile's kernel, so that sums are added in the same order; with an
// accumulator, a kernel for a shorter k has the division and tile of the one for the whole k.
std::vector<TileKernel> RemainderKernels(const KernelSpec& tile,
                                         const std::map<std::string, int64_t>& sizes,
                                         bool sums = false);

// One for each shape and layout that an argument's valid part may have in those tiles.
std::vector<TileKernel> StagingCopies(const KernelSpec& tile,
                                      const std::map<std::string, int64_t>& sizes,
                                      bool sums = false);

// One for each shape of partial results, of the tile and with `remainders` of those cut short: adds
// them for a matmul or a sum, takes the larger or smaller for amax or amin. BadInput for operations
// whose partial results do not make the whole.
std::vector<TileKernel> AccumulateKernels(const KernelSpec& tile,
                                          const std::map<std::string, int64_t>& sizes,
                                          bool remainders);

// Each into a directory of its name in `dir`, where the runtime's KernelSet finds it.
void WriteTileKernels(const std::vector<TileKernel>& kernels, const std::filesystem::path& dir);

}  // namespace spyre::compiler
