#include "runtime/spyre/tile_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/contract/error.h"

namespace spyre::runtime {
namespace {

const SpyreCompute& ComputeOf(const Operation& operation) {
  if (!operation.compute())
    throw BadInput("LaunchTiled of an {}: it has no compute", Describe(operation));
  return *operation.compute();
}

}  // namespace

// What the launch must keep until it has completed.
struct TileLauncher::Resources {
  std::vector<std::shared_ptr<const void>> memory;  // of tensors, of staging, of binaries
};

TileLauncher::TileLauncher(flex::RuntimeContext& context, const Operation& operation,
                           const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                           const TileKernels& kernels, int slots)
    : operation_(operation),
      tensors_(tensors),
      kernels_(kernels),
      plan_(PlanTiling(ComputeOf(operation), tensors, options, kernels)),
      reduction_(context, operation_, options, plan_, kernels_) {
  const SpyreCompute& compute = *operation_.compute();
  CheckDimensions(compute, {});  // a kernel walks its tile with its own trip counts
  staging_.resize(static_cast<size_t>(slots), std::vector<Staging>(tensors.size()));
  auto resources = std::make_shared<Resources>();
  for (const SpyreTensor& tensor : tensors_) resources->memory.push_back(tensor.storage);
  resources->memory.push_back(operation_.program());
  for (const auto* list : {&kernels_.remainders, &kernels_.copies}) {
    for (const Operation& kernel : *list) resources->memory.push_back(kernel.program());
  }
  for (size_t a = 0; a < tensors_.size(); ++a) {
    const bool staged = std::any_of(plan_.shapes.begin(), plan_.shapes.end(),
                                    [&](const auto& shape) { return shape.second.copies[a] >= 0; });
    if (!staged) continue;
    for (std::vector<Staging>& slot : staging_) {
      slot[a].tensor = AllocateTensor(context, compute.arguments[a].layout);
      resources->memory.push_back(slot[a].tensor.storage);
    }
  }
  for (auto& memory : reduction_.memory()) resources->memory.push_back(std::move(memory));
  resources_ = std::move(resources);
}

bool TileLauncher::IsOutput(size_t argument) const {
  return operation_.compute()->arguments[argument].is_output;
}

std::string TileLauncher::NameOf(size_t argument) const {
  const std::string& name = operation_.compute()->arguments[argument].name;
  return name.empty() ? fmt::format("tensor {}", argument) : name;
}

void TileLauncher::Enqueue(SpyreStream& stream, int64_t number, int slot) {
  const flex::RuntimeContext::Batch batch(stream.context());
  const Tile tile = plan_[number];
  std::vector<Staging>& staging = staging_.at(static_cast<size_t>(slot));
  flex::OperationInfo info;
  info.tag = static_cast<uint64_t>(number);
  info.keep_alive = resources_;
  std::vector<TensorLocation> locations;
  for (size_t a = 0; a < tensors_.size(); ++a) {
    const bool staged = tile.arguments[a].copy >= 0;
    if (staged && !IsOutput(a)) {
      Staging& input = staging[a];
      if (input.filled_for != tile.cut) {
        flex::OperationInfo fill = info;
        fill.label = fmt::format("tile {}: zero {}", number, NameOf(a));
        fill.bulk = true;
        stream.flex_stream().Fill(input.tensor.device_handle, input.tensor.size_bytes, 0, fill);
        input.filled_for = tile.cut;
      }
      Copy(stream, tile, a, input, true, info);
    }
    const SpyreTensor& tensor = staged ? staging[a].tensor : tensors_[a];
    locations.push_back(
        {staged ? tensor.device_handle : LocationOf(tensor, tile.arguments[a].offset),
         CorrectionStrides(tensor.layout)});
  }
  info.label = fmt::format("tile {} of {}", number, plan_.size());
  reduction_.Before(tile, locations, info);
  stream.LaunchAt(
      tile.remainder < 0 ? operation_ : kernels_.remainders[static_cast<size_t>(tile.remainder)],
      locations, info);
  info.joined = false;
  reduction_.After(stream, tile, info);
  if (!plan_.EndsResult(tile)) return;
  for (size_t a = 0; a < tensors_.size(); ++a) {
    if (tile.arguments[a].copy >= 0 && IsOutput(a)) Copy(stream, tile, a, staging[a], false, info);
  }
}

void TileLauncher::Copy(SpyreStream& stream, const Tile& tile, size_t argument, Staging& staging,
                        bool in, flex::OperationInfo info) const {
  const TileArgument& place = tile.arguments[argument];
  const TensorLocation whole{LocationOf(tensors_[argument], place.offset),
                             CorrectionStrides(tensors_[argument].layout)};
  const TensorLocation tile_shaped{staging.tensor.device_handle,
                                   CorrectionStrides(staging.tensor.layout)};
  info.label =
      fmt::format("tile {}: {} {}", tile.number, in ? "copy in" : "copy out", NameOf(argument));
  stream.LaunchAt(kernels_.copies[static_cast<size_t>(place.copy)],
                  in ? std::vector<TensorLocation>{whole, tile_shaped}
                     : std::vector<TensorLocation>{tile_shaped, whole},
                  info);
}

}  // namespace spyre::runtime
