// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/launch_settings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "runtime/compiler/kernels/kernel_problem.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::cosim {
namespace {

using compiler::kStickElements;

Chunks ChunksAlong(const WorkloadTensor& tensor, int dimension, int64_t tile, uint64_t wanted) {
  const int64_t size = tensor.shape[static_cast<size_t>(dimension)];
  const bool in_sticks = dimension == tensor.layout.stick_dim();
  if (tile >= size || (in_sticks && tile % kStickElements != 0)) return {};
  const int64_t tiles = (size + tile - 1) / tile;
  const int64_t count = std::min(static_cast<int64_t>(wanted), tiles);
  const int64_t per_chunk = (tiles + count - 1) / count;
  // With tiles that are not divided evenly, fewer chunks may hold them all.
  return {static_cast<int>((tiles + per_chunk - 1) / per_chunk), tile};
}

}  // namespace

runtime::LaunchOptions LaunchOptionsOf(const LaunchConfig& config) {
  runtime::LaunchOptions options;
  options.order = config.order;
  options.remainder = config.remainder;
  options.reduction = config.reduction;
  options.routing = config.routing;
  options.overlap = config.overlap;
  options.depth = static_cast<int>(config.depth);
  return options;
}

std::vector<compiler::TileKernel> CompileTileKernels(const LaunchConfig& config,
                                                     const compiler::KernelSpec& spec,
                                                     const std::map<std::string, int64_t>& sizes,
                                                     bool adds_parts) {
  const runtime::Remainder remainder = config.remainder;
  const auto reduction = config.reduction;
  const bool sums = reduction != runtime::ReductionTiling::kFail;
  std::vector<compiler::TileKernel> kernels;
  if (remainder == runtime::Remainder::kPad) kernels = compiler::StagingCopies(spec, sizes, sums);
  if (remainder == runtime::Remainder::kKernel)
    kernels = compiler::RemainderKernels(spec, sizes, sums);
  if (reduction == runtime::ReductionTiling::kPlan && adds_parts) {
    for (compiler::TileKernel& kernel :
         compiler::AccumulateKernels(spec, sizes, remainder == runtime::Remainder::kKernel))
      kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::vector<Chunks> ChunksOf(const LaunchConfig& config, const std::vector<WorkloadTensor>& tensors,
                             const compiler::Kernel& kernel) {
  std::vector<Chunks> chunks(tensors.size());
  if (config.interleave <= 1) return chunks;
  std::string names;
  bool any = false;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const WorkloadTensor& tensor = tensors[i];
    const compiler::KernelArgument& argument = kernel.arguments[i];
    const int dimension = runtime::ChunkedDimension(tensor.layout);
    if (dimension < 0) continue;
    const auto d = static_cast<size_t>(dimension);
    if (d < argument.dims.size()) {
      names += fmt::format("{}{} of {}", names.empty() ? "" : ", ", argument.dims[d], tensor.name);
      chunks[i] = ChunksAlong(tensor, dimension, argument.shape[d], config.interleave);
    }
    any = any || chunks[i].count > 1;
  }
  if (!any) {
    throw BadInput(
        "workload.launch.interleave = {}: chunks hold whole tiles, and no tensor is tiled along "
        "its "
        "outermost device dimension ({}); a workload.tile for one of these would do, in whole "
        "sticks of {} along the last dimension",
        config.interleave, names.empty() ? "there is none" : names, kStickElements);
  }
  return chunks;
}

}  // namespace spyre::cosim
