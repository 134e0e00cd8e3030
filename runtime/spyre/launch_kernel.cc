#include "runtime/spyre/launch_kernel.h"

#include "model/contract/error.h"
#include "runtime/spyre/tiling.h"

namespace spyre::runtime {

void LaunchKernel(SpyreStream& stream, const ExecutionPlan& plan,
                  const std::vector<SpyreTensor>& tensors, const std::vector<int64_t>& dimensions) {
  if (!plan.loaded()) throw BadInput("plan '{}' is not loaded; LoadPlan comes first", plan.name());
  for (const Operation& operation : plan.operations()) {
    const bool whole =
        !operation.compute() || !dimensions.empty() || ShapesMatch(*operation.compute(), tensors);
    if (whole) {
      stream.Launch(operation, tensors, dimensions);
    } else {
      stream.LaunchTiled(operation, tensors);
    }
  }
}

}  // namespace spyre::runtime
