// SPDX-License-Identifier: Apache-2.0
// How a kernel compiled for a tile is walked over larger tensors: which dimensions are tiled, how
// often, and for each iteration where each tensor's tile is and which kernel runs on it. Planning
// only; tile_launcher.h enqueues. Pure functions, any thread.
//
// The RFC's rule is offset_i = base + i * stride_along_tiled_dim * tile_size * element_size. In
// stick layout that is, for each tiled dimension of a tensor, index * tile *
// DeviceByteStride(dimension); along the stick dimension, whose byte stride is from stick to stick,
// index * (tile / elements per stick) * DeviceByteStride. A tensor that does not have a tiled
// dimension stays where it is. Several dimensions may be tiled: the iterations are their nest, in
// the order of LaunchOptions::order, the last one fastest. Tiles of a dimension that the kernel
// sums over make one result together: reduction_tiling.h.
//
// A last tile that is smaller than the compiled one is cut short. LaunchOptions::remainder says
// what happens to it: refused, padded (arguments that walk a dimension which is cut short are
// staged: the kernel works on a tensor of the tile's shape, a copy kernel moves the valid part), or
// given to a kernel compiled for the rest. With several dimensions cut short, every combination has
// a shape of its own.
//
// Errors: Error(kBadInput) that names the kernel, the tensor, the dimension, its sizes, and what
// would fit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/spyre/launch_options.h"
#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// What a tiled launch may run beside its own Operation. Kernels are found by their compiled shapes,
// so their order does not matter.
struct TileKernels {
  std::vector<Operation> remainders;  // the same kernel, compiled for smaller shapes
  std::vector<Operation> copies;      // argument 0 to argument 1, of the same shape
  // Arguments 0 and 1 to argument 2, of the same shape: add up the partial results of a reduction.
  std::vector<Operation> accumulates;
};

struct TiledDimension {
  std::string name;
  int64_t tile = 0;   // elements of one tile
  int64_t count = 0;  // tiles
  int64_t rest = 0;   // elements of the last tile; fewer than `tile`: it is cut short

  bool cut_short() const { return rest != tile; }
};

struct TileArgument {
  int64_t offset = 0;  // bytes from the first of the tensor's device image to the tile's
  int copy = -1;       // staged: the kernel of TileKernels::copies; -1: used in place
};

// One iteration.
struct Tile {
  int64_t number = 0;
  std::vector<int64_t> index;  // of the tile along each of the plan's dimensions
  uint32_t cut = 0;            // bit d: dimension d of the plan is cut short here
  int remainder = -1;          // the kernel of TileKernels::remainders; -1: the Operation itself
  std::vector<TileArgument> arguments;

  bool staged() const;
};

// A list of tiles that are worked out when they are asked for.
struct TilingPlan {
  // What tiles that are cut short alike have in common.
  struct Shape {
    int remainder = -1;
    int accumulate = -1;      // the kernel of TileKernels::accumulates
    std::vector<int> copies;  // by argument, as TileArgument::copy
  };

  std::vector<TiledDimension> dimensions;  // outermost first: of several tiles, or cut short
  int64_t iterations = 1;
  // byte_step[a][d]: bytes from one tile to the next of argument a along dimension d.
  std::vector<std::vector<int64_t>> byte_step;
  std::map<uint32_t, Shape> shapes;  // by Tile::cut
  int reduced = -1;                  // the one of `dimensions` that the kernel sums over; -1: none

  int64_t size() const { return iterations; }
  bool EndsResult(const Tile& tile) const;  // the last tile along `reduced`, or there is none
  Tile operator[](int64_t number) const;
  // Elements of the tile in each of `dimensions`, first and last: ", m=1024..2047, n=0..511".
  std::string Ranges(const Tile& tile) const;
};

// LaunchOptions::order: names of the kernel's dimensions, each at most once.
void CheckOrder(const SpyreCompute& compute, const std::vector<std::string>& order);

// The preconditions of LaunchTiled, and the plan: tensors as CheckArguments says; dimensions of one
// name tiled alike in all tensors; remainders and reductions as the options say, with the kernels
// they need among `kernels`; along the stick dimension, whole sticks; every tile inside one chunk
// of its tensor. Dimensions of size 1 where another argument's tile of that name is larger are
// broadcast and take no part.
TilingPlan PlanTiling(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors,
                      const LaunchOptions& options = {}, const TileKernels& kernels = {});

}  // namespace spyre::runtime
