// TileLauncher: enqueues the tiles of one planned launch, one by one, on the stream and with the
// set of staging tensors that the caller names. LaunchTiled walks the tiles in order on one stream.
//
// Made for one launch; what it enqueued keeps the tensors, staging and binaries it needs. Threads:
// one at a time. Errors: as SpyreStream.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/spyre/reduction_tiling.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/tiling.h"

namespace spyre::runtime {

class TileLauncher {
 public:
  // `slots`: sets of staging tensors; they are allocated here. A set may be used again when the
  // tiles enqueued with it before are done, or from the same stream at once.
  TileLauncher(flex::RuntimeContext& context, const Operation& operation,
               const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
               const TileKernels& kernels, int slots = 1);
  TileLauncher(const TileLauncher&) = delete;
  TileLauncher& operator=(const TileLauncher&) = delete;

  const TilingPlan& plan() const { return plan_; }

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
  void Copy(SpyreStream& stream, const Tile& tile, size_t argument, Staging& staging, bool in,
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
