// LaunchKernel: the front end's entry point (seed 000). Any thread.
#pragma once

#include <vector>

#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/kernel_set.h"
#include "runtime/spyre/launch_options.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// Enqueues each Operation of a loaded plan for `tensors` (in launch order, outputs included): whole
// or tiled, as options.routing says. Returns at once; stream.Synchronize() waits. The tensors'
// memory is kept until the work has completed. `dimensions`: the values that the kernel leaves to
// the launch; with them, a launch is whole unless routing is kTiled. Error(kBadInput) if the plan
// is not loaded, or as SpyreStream::Launch and LaunchTiled.
void LaunchKernel(SpyreStream& stream, const ExecutionPlan& plan,
                  const std::vector<SpyreTensor>& tensors, const LaunchOptions& options = {},
                  const std::vector<int64_t>& dimensions = {});
// The same with the kernels that tiles may need beside the plan's.
void LaunchKernel(SpyreStream& stream, const KernelSet& kernels,
                  const std::vector<SpyreTensor>& tensors, const LaunchOptions& options = {},
                  const std::vector<int64_t>& dimensions = {});

}  // namespace spyre::runtime
