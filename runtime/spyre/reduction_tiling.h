// SPDX-License-Identifier: Apache-2.0
// A dimension that the kernel sums over, in tiles: the tiles of one result are launches that go on
// where the one before has stopped. LaunchOptions::reduction says how the sum gets from one to the
// next: through a workspace in device memory, in LX, or through the output, which an accumulate
// kernel of the plan adds to. docs/tiled-launches.md "Tiling a reduction" says which bits each
// gives.
//
// The checks are pure functions, for the planner. TiledReduction belongs to a TileLauncher: one
// thread at a time. Errors: Error(kBadInput) that names the kernel, the dimension, its sizes, and
// what would fit. If another function of the card has run a program between two launches that keep
// their sums in LX, the stream is put in error when the last has completed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/spyre/launch_options.h"
#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/tiling.h"

namespace spyre::runtime {

// The location that a launch of an accumulating kernel gives behind its arguments. `spacing`: from
// slice to slice of the summed dimension, in AccumulationInfo::unit.
TensorLocation AccumulationLocation(const DeviceHandle& workspace, bool carried, bool final,
                                    int64_t spacing);
// ... of a launch that makes the whole result. `any`: a handle of the launch; it is not accessed.
TensorLocation WholeResult(const AccumulationInfo& sums, const DeviceHandle& any);

// ---------------------------------------------------------------- for PlanTiling

// Checks whether a reduced dimension may have another size than the compiled one; `where` names it.
void CheckReduced(const SpyreCompute& compute, const LaunchOptions& options,
                  const std::string& where, int64_t size, int64_t tile);
// The one of `dimensions` that is reduced, -1: none.
int ReducedDimension(const SpyreCompute& compute, const LaunchOptions& options,
                     const std::vector<TiledDimension>& dimensions);
// In how many parts, far from each other, a tile of the dimension lies.
int64_t SlicesOf(const SpyreCompute& compute, const std::string& dimension);
// The kernel among `accumulates` for partial results of this shape.
int AccumulateKernel(const SpyreCompute& compute, const std::vector<int64_t>& shape,
                     const std::vector<Operation>& accumulates);
// Kernels of one result fit each other, and staging does not get between them.
void CheckReducedShapes(const SpyreCompute& compute, const LaunchOptions& options,
                        const TilingPlan& plan, const TileKernels& kernels);

// ---------------------------------------------------------------- for TileLauncher

class TiledReduction {
 public:
  // Allocates workspaces and the place for partial results. All must outlive the object.
  TiledReduction(flex::RuntimeContext& context, const Operation& operation,
                 const LaunchOptions& options, const TilingPlan& plan, const TileKernels& kernels);

  // Around the launch of a tile's kernel, in order of tiles. Before: `arguments` are where the
  // kernel is to find them, and what it is told about the sums is added.
  void Before(const Tile& tile, std::vector<TensorLocation>& arguments, flex::OperationInfo& info);
  void After(SpyreStream& stream, const Tile& tile, const flex::OperationInfo& info);

  // What launches need until they have completed.
  std::vector<std::shared_ptr<const void>> memory() const;

 private:
  struct Workspace {
    std::shared_ptr<const DeviceStorage> storage;
    uint64_t bytes = 0;  // of one result
    int64_t results = 1;
  };
  bool Is(ReductionTiling how) const { return plan_.reduced >= 0 && options_.reduction == how; }
  int64_t IndexOf(const Tile& tile) const;  // along the reduced dimension
  DeviceHandle WorkspaceOf(const Tile& tile) const;
  void CheckMark(SpyreStream& stream, const Tile& tile, flex::OperationInfo info);

  flex::RuntimeContext& context_;
  const SpyreCompute& compute_;
  const LaunchOptions options_;
  const TilingPlan& plan_;
  const TileKernels& kernels_;
  int64_t spacing_ = 0;
  Workspace workspace_;
  std::optional<SpyreTensor> partial_;
  std::optional<TensorLocation> result_;              // of the tile between Before and After
  std::optional<flex::RuntimeContext::Batch> batch_;  // kLx: launches of one result
};

}  // namespace spyre::runtime
