// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/tile_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/spyre/launch_arguments.h"

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
  CheckBound(operation_, tensors.size());
  for (size_t a = 0; a < tensors.size(); ++a) {
    CheckTensorMemory(context,
                      fmt::format("kernel '{}', {}", compute.name, ArgumentName(compute, a)),
                      tensors[a]);
  }
  staging_.resize(static_cast<size_t>(std::min<int64_t>(slots, plan_.size())),
                  std::vector<Staging>(tensors.size()));
  auto resources = std::make_shared<Resources>();
  for (const SpyreTensor& tensor : tensors_) resources->memory.push_back(tensor.storage);
  resources->memory.push_back(operation_.program());
  for (const auto* list : {&kernels_.remainders, &kernels_.copies}) {
    for (const Operation& kernel : *list) resources->memory.push_back(kernel.program());
  }
  for (size_t a = 0; a < tensors_.size(); ++a) {
    const bool staged =
        AnyFits(plan_.shapes, [&](const auto& shape) { return shape.second.copies[a] >= 0; });
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

const Operation* TileLauncher::KernelOf(int remainder) const {
  return remainder < 0 ? &operation_ : &kernels_.remainders[static_cast<size_t>(remainder)];
}

std::vector<std::pair<const Operation*, int>> TileLauncher::Kernels() const {
  std::set<std::pair<const Operation*, int>> seen;
  std::vector<std::pair<const Operation*, int>> kernels;
  const auto add = [&](const Operation* kernel, int argument) {
    if (seen.emplace(kernel, argument).second) kernels.emplace_back(kernel, argument);
  };
  for (const auto& [cut, shape] : plan_.shapes) {
    add(KernelOf(shape.remainder), -1);
    for (size_t a = 0; a < shape.copies.size(); ++a) {
      if (shape.copies[a] >= 0)
        add(&kernels_.copies[static_cast<size_t>(shape.copies[a])], static_cast<int>(a));
    }
  }
  return kernels;
}

std::vector<TileLauncher::Step> TileLauncher::StepsOf(int64_t number, int slot) {
  const Tile tile = plan_[number];
  std::vector<Staging>& staging = staging_.at(static_cast<size_t>(slot));
  std::vector<Step> steps;
  flex::OperationInfo info;
  info.tag = static_cast<uint64_t>(number);
  info.keep_alive = resources_;
  Step kernel;
  for (size_t a = 0; a < tensors_.size(); ++a) {
    const bool staged = tile.arguments[a].copy >= 0;
    if (staged && !IsOutput(a)) {
      Staging& input = staging[a];
      if (input.filled_for != tile.cut) {
        Step fill;
        fill.argument = static_cast<int>(a);
        fill.filled = input.tensor;
        fill.info = info;
        fill.info.label = fmt::format("tile {}: zero {}", number, NameOf(a));
        fill.info.bulk = true;
        steps.push_back(std::move(fill));
        input.filled_for = tile.cut;
      }
      steps.push_back(CopyStep(tile, a, input, true, info));
    }
    const SpyreTensor& tensor = staged ? staging[a].tensor : tensors_[a];
    kernel.locations.push_back(
        {staged ? tensor.device_handle : LocationOf(tensor, tile.arguments[a].offset),
         CorrectionStrides(tensor.layout)});
  }
  kernel.kernel = KernelOf(tile.remainder);
  kernel.info = info;
  kernel.info.label = fmt::format("tile {} of {}{}", number, plan_.size(), plan_.Ranges(tile));
  reduction_.Before(tile, kernel.locations, kernel.info);
  steps.push_back(std::move(kernel));
  if (!plan_.EndsResult(tile)) return steps;
  for (size_t a = 0; a < tensors_.size(); ++a) {
    if (tile.arguments[a].copy >= 0 && IsOutput(a))
      steps.push_back(CopyStep(tile, a, staging[a], false, info));
  }
  return steps;
}

TileLauncher::Step TileLauncher::CopyStep(const Tile& tile, size_t argument, const Staging& staging,
                                          bool in, flex::OperationInfo info) const {
  const TileArgument& place = tile.arguments[argument];
  const TensorLocation whole{LocationOf(tensors_[argument], place.offset),
                             CorrectionStrides(tensors_[argument].layout)};
  const TensorLocation tile_shaped{staging.tensor.device_handle,
                                   CorrectionStrides(staging.tensor.layout)};
  Step step;
  step.kernel = &kernels_.copies[static_cast<size_t>(place.copy)];
  step.argument = static_cast<int>(argument);
  step.locations = in ? std::vector<TensorLocation>{whole, tile_shaped}
                      : std::vector<TensorLocation>{tile_shaped, whole};
  step.info = std::move(info);
  step.info.label =
      fmt::format("tile {}: {} {}", tile.number, in ? "copy in" : "copy out", NameOf(argument));
  return step;
}

void TileLauncher::Enqueue(SpyreStream& stream, int64_t number, int slot) {
  const flex::RuntimeContext::Batch batch(stream.context());
  for (const Step& step : StepsOf(number, slot)) {
    if (step.kernel == nullptr) {
      stream.flex_stream().Fill(step.filled.device_handle, step.filled.size_bytes, 0, step.info);
      continue;
    }
    stream.LaunchAt(*step.kernel, step.locations, step.info);
    if (step.argument >= 0) continue;
    flex::OperationInfo after = step.info;
    after.joined = false;
    reduction_.After(stream, plan_[number], after);
  }
}

}  // namespace spyre::runtime
