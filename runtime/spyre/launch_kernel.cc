#include "runtime/spyre/launch_kernel.h"

#include "model/contract/error.h"
#include "runtime/spyre/tiling.h"

namespace spyre::runtime {

void LaunchKernel(SpyreStream& stream, const ExecutionPlan& plan,
                  const std::vector<SpyreTensor>& tensors) {
  if (!plan.loaded()) throw BadInput("plan '{}' is not loaded; LoadPlan comes first", plan.name());
  for (const Operation& operation : plan.operations()) {
    if (!operation.compute() || ShapesMatch(*operation.compute(), tensors)) {
      stream.Launch(operation, tensors);
    } else {
      stream.LaunchTiled(operation, tensors);
    }
  }
}

}  // namespace spyre::runtime
