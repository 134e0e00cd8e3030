// SPDX-License-Identifier: Apache-2.0
// TileLauncher: what the tiles of one planned launch enqueue, with the set of staging tensors that
// the caller names. Enqueue does it on one stream; tile_overlap.h has its own way with the steps.
//
// Made for one launch; what it enqueued keeps the tensors, staging and binaries it needs. Threads:
// one at a time. Errors: as SpyreStream.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/spyre/reduction_tiling.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/tiling.h"

namespace spyre::runtime {

class TileLauncher {
 public:
  // `slots`: sets of staging tensors, no more than there are tiles; they are allocated here. A set
  // may be used again when the tiles enqueued with it before are done, or from the same stream at
  // once.
  TileLauncher(flex::RuntimeContext& context, const Operation& operation,
               const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
               const TileKernels& kernels, int slots = 1);

  TileLauncher(const TileLauncher&) = delete;  // steps refer to its kernels
  TileLauncher& operator=(const TileLauncher&) = delete;

  const TilingPlan& plan() const { return plan_; }
  const Operation& operation() const { return operation_; }
  const std::vector<SpyreTensor>& tensors() const { return tensors_; }
  std::shared_ptr<const void> keep_alive() const { return resources_; }
  int slots() const { return static_cast<int>(staging_.size()); }

  // A launch of `kernel`; without one, a fill of a staging tensor with zeros.
  struct Step {
    const Operation* kernel = nullptr;
    int argument = -1;  // that is staged by it; -1: the kernel works on the tile
    std::vector<TensorLocation> locations;
    SpyreTensor filled;
    flex::OperationInfo info;
  };
  // What a tile does, in order, if the steps of the tiles before in this slot were all enqueued.
  std::vector<Step> StepsOf(int64_t number, int slot);
  // The kernels that tiles launch, with Step::argument, each once.
  std::vector<std::pair<const Operation*, int>> Kernels() const;
  const Operation* KernelOf(int remainder) const;  // as Tile::remainder

  // The stream operations of one tile: where it is staged, fills and copies in, then the kernel,
  // then copies out. `slot` is below `slots`.
  void Enqueue(SpyreStream& stream, int64_t number, int slot = 0);

 private:
  // A tensor of the compiled tile's shape for an argument that some tile stages.
  struct Staging {
    SpyreTensor tensor;
    uint32_t filled_for = 0;  // Tile::cut whose padding is zero; 0: never filled
  };
  struct Resources;

  bool IsOutput(size_t argument) const;
  std::string NameOf(size_t argument) const;
  Step CopyStep(const Tile& tile, size_t argument, const Staging& staging, bool in,
                flex::OperationInfo info) const;

  Operation operation_;
  std::vector<SpyreTensor> tensors_;
  TileKernels kernels_;
  TilingPlan plan_;
  std::vector<std::vector<Staging>> staging_;  // by slot, by argument
  TiledReduction reduction_;
  std::shared_ptr<const Resources> resources_;
};

}  // namespace spyre::runtime
