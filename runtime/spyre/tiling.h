// How a kernel compiled for a tile is walked over larger tensors: which dimensions are tiled, how
// often, and where each tensor's tile is in each iteration. Pure functions, any thread.
//
// The RFC's rule is offset_i = base + i * stride_along_tiled_dim * tile_size * element_size. In
// stick layout that is, for each tiled dimension of a tensor, index * tile *
// DeviceByteStride(dimension); along the stick dimension, whose byte stride is from stick to stick,
// index * (tile / elements per stick) * DeviceByteStride. A tensor that does not have a tiled
// dimension stays where it is. Several dimensions may be tiled: the iterations are their nest, in
// order of first appearance in the arguments, the last one fastest.
//
// Errors: Error(kBadInput) that names the kernel, the tensor, the dimension, its sizes, and what
// would fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

struct TiledDimension {
  std::string name;
  int64_t tile = 0;   // elements of one tile
  int64_t count = 0;  // tiles
};

struct TilingPlan {
  std::vector<TiledDimension> dimensions;  // those with count > 1
  int64_t iterations = 1;
  // byte_step[a][d]: bytes from one tile to the next of argument a along tiled dimension d.
  std::vector<std::vector<int64_t>> byte_step;

  // Byte offset of each argument's tile in an iteration.
  std::vector<int64_t> Offsets(int64_t iteration) const;
};

// Checks that `tensors` are what the compute expects, but for size: number, rank, format, stick
// dimension, strides that follow from the layout.
void CheckArguments(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors);
// CheckArguments, and every shape exactly the compiled one.
void CheckExactShapes(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors);
bool ShapesMatch(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors);

// The preconditions of LaunchTiled, and the plan: each dimension at least the tile's and a multiple
// of it; dimensions of one name tiled alike in all tensors; no reduction dimension tiled; along the
// stick dimension, whole sticks. Dimensions of size 1 where another argument's tile of that name is
// larger are broadcast and take no part.
TilingPlan PlanTiling(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors);

}  // namespace spyre::runtime
