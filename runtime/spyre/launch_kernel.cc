#include "runtime/spyre/launch_kernel.h"

#include "model/contract/error.h"
#include "runtime/spyre/launch_arguments.h"

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

}  // namespace

void LaunchKernel(SpyreStream& stream, const ExecutionPlan& plan,
                  const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                  const std::vector<int64_t>& dimensions) {
  RequireLoaded(plan);
  for (const Operation& operation : plan.operations()) {
    if (IsTiled(operation, tensors, options, dimensions)) {
      stream.LaunchTiled(operation, tensors, options);
    } else {
      stream.Launch(operation, tensors, dimensions);
    }
  }
}

void LaunchKernel(SpyreStream& stream, const KernelSet& kernels,
                  const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                  const std::vector<int64_t>& dimensions) {
  const std::vector<Operation>& operations = kernels.plan().operations();
  RequireLoaded(kernels.plan());
  for (size_t i = 0; i < operations.size(); ++i) {
    if (IsTiled(operations[i], tensors, options, dimensions)) {
      stream.LaunchTiled(operations[i], tensors, options, kernels.KernelsFor(i));
    } else {
      stream.Launch(operations[i], tensors, dimensions);
    }
  }
}

}  // namespace spyre::runtime
