// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/launch_kernel.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "runtime/spyre/launch_arguments.h"
#include "runtime/spyre/tile_launcher.h"
#include "runtime/spyre/tile_overlap.h"

namespace spyre::runtime {
namespace {

void RequireLoaded(const ExecutionPlan& plan) {
  if (!plan.loaded()) throw BadInput("plan '{}' is not loaded; LoadPlan comes first", plan.name());
}

bool IsTiled(const Operation& operation, const std::vector<SpyreTensor>& tensors,
             const LaunchOptions& options, const std::vector<int64_t>& dimensions) {
  if (operation.compute()) CheckOrder(*operation.compute(), options.order);
  if (!operation.compute() || options.routing == Routing::kStrict) return false;
  if (options.routing == Routing::kTiled) {
    CheckDimensions(*operation.compute(), dimensions);
    return true;
  }
  return dimensions.empty() && !ShapesMatch(*operation.compute(), tensors);
}

// Those of the plan's values that the Operation takes.
template <class Value>
std::vector<Value> Taken(const Operation& operation, const std::vector<Value>& values,
                         std::vector<size_t> Operation::Takes::*which, const char* noun) {
  if (!operation.takes()) return values;
  std::vector<Value> taken;
  for (const size_t index : (*operation.takes()).*which) {
    if (index >= values.size()) {
      throw BadInput("launch of {}: it takes {} {} of its plan, and {} were given",
                     Describe(operation), noun, index, values.size());
    }
    taken.push_back(values[index]);
  }
  return taken;
}

// One Operation, checked, with all that its tiles need.
struct ReadyLaunch {
  const Operation* operation;
  std::vector<SpyreTensor> tensors;
  std::vector<int64_t> dimensions;
  std::unique_ptr<TileLauncher> tiles;  // null: it is launched whole
  std::unique_ptr<TileOverlap> overlap;
};

ReadyLaunch MakeReady(const SpyreStream& stream, const KernelLaunch& launch,
                      const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                      const std::vector<int64_t>& dimensions) {
  const Operation& operation = *launch.operation;
  ReadyLaunch ready{&operation, {}, {}, nullptr, nullptr};
  // Data movement that was added by hand takes no tensors.
  if (operation.compute() || operation.takes()) {
    ready.tensors = Taken(operation, tensors, &Operation::Takes::tensors, "tensor");
    ready.dimensions = Taken(operation, dimensions, &Operation::Takes::dimensions, "dimension");
  }
  if (!IsTiled(operation, ready.tensors, options, ready.dimensions)) {
    stream.CheckLaunch(operation, ready.tensors, ready.dimensions);
    return ready;
  }
  ready.tiles = std::make_unique<TileLauncher>(stream.context(), operation, ready.tensors, options,
                                               launch.kernels, SlotsFor(options));
  if (ready.tiles->slots() > 1) {
    ready.overlap = std::make_unique<TileOverlap>(stream, *ready.tiles, options);
  }
  return ready;
}

}  // namespace

void LaunchOperations(SpyreStream& stream, const std::vector<KernelLaunch>& launches,
                      const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                      const std::vector<int64_t>& dimensions) {
  if (launches.size() == 1) {
    const KernelLaunch& only = launches.front();
    const Operation& operation = *only.operation;
    if (!operation.takes() && operation.compute()) {
      if (IsTiled(operation, tensors, options, dimensions)) {
        return stream.LaunchTiled(operation, tensors, options, only.kernels);
      }
      return stream.Launch(operation, tensors, dimensions);
    }
  }
  const auto lock = stream.context().Lock();
  std::vector<ReadyLaunch> ready;
  ready.reserve(launches.size());
  for (const KernelLaunch& launch : launches) {
    ready.push_back(MakeReady(stream, launch, tensors, options, dimensions));
  }
  for (ReadyLaunch& launch : ready) {
    if (launch.tiles != nullptr) {
      stream.LaunchTiles(*launch.tiles, options, launch.overlap.get());
    } else {
      stream.Launch(*launch.operation, launch.tensors, launch.dimensions);
    }
  }
}

void LaunchKernel(SpyreStream& stream, const ExecutionPlan& plan,
                  const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                  const std::vector<int64_t>& dimensions) {
  RequireLoaded(plan);
  std::vector<KernelLaunch> launches;
  for (const Operation& operation : plan.operations()) launches.push_back({&operation, {}});
  LaunchOperations(stream, launches, tensors, options, dimensions);
}

void LaunchKernel(SpyreStream& stream, const KernelSet& kernels,
                  const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                  const std::vector<int64_t>& dimensions) {
  const std::vector<Operation>& operations = kernels.plan().operations();
  RequireLoaded(kernels.plan());
  std::vector<KernelLaunch> launches;
  for (size_t i = 0; i < operations.size(); ++i) {
    launches.push_back({&operations[i], kernels.KernelsFor(i)});
  }
  LaunchOperations(stream, launches, tensors, options, dimensions);
}

void CheckLaunch(const KernelSet& kernels, const std::vector<SpyreTensor>& tensors,
                 const LaunchOptions& options) {
  const std::vector<Operation>& operations = kernels.plan().operations();
  for (size_t i = 0; i < operations.size(); ++i) {
    if (!operations[i].compute()) continue;
    const SpyreCompute& compute = *operations[i].compute();
    const std::vector<SpyreTensor> taken =
        Taken(operations[i], tensors, &Operation::Takes::tensors, "tensor");
    if (IsTiled(operations[i], taken, options, {})) {
      PlanTiling(compute, taken, options, kernels.KernelsFor(i));
    } else {
      CheckExactShapes(compute, taken);
    }
  }
}

}  // namespace spyre::runtime
