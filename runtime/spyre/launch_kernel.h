// SPDX-License-Identifier: Apache-2.0
// LaunchKernel: the front end's entry point (the runtime RFC). Any thread.
#pragma once

#include <vector>

#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/kernel_set.h"
#include "runtime/spyre/launch_options.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/spyre_tensor.h"

namespace spyre::runtime {

// Enqueues each Operation of a loaded plan for `tensors` (in launch order, outputs included; an
// Operation takes its own of them): whole or tiled, as options.routing says. Everything is checked
// before the first is enqueued. Returns at once; stream.Synchronize() waits. The tensors'
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

// Throws what LaunchKernel would refuse of shapes, tiles and options, without a card: the kernels
// need not be loaded, and the tensors need no memory.
void CheckLaunch(const KernelSet& kernels, const std::vector<SpyreTensor>& tensors,
                 const LaunchOptions& options = {});

// The same for Operations one after the other, each with the kernels that its tiles may need.
struct KernelLaunch {
  const Operation* operation;
  TileKernels kernels;
};
void LaunchOperations(SpyreStream& stream, const std::vector<KernelLaunch>& launches,
                      const std::vector<SpyreTensor>& tensors, const LaunchOptions& options,
                      const std::vector<int64_t>& dimensions = {});

}  // namespace spyre::runtime
