// SPDX-License-Identifier: Apache-2.0
// KernelSet: a plan with what its tiled launches may need beside it: the same kernel compiled for
// remainders, copy kernels that move the valid part of a padded tile on the device, and accumulate
// kernels that add the partial results of a tiled reduction.
//
// Made by the application, one for each kernel; not changed by launches. Loaded once, before its
// first launch. Errors: Error(kBadInput), see spyre_code.h and execution_plan.h.
//
//   KernelSet kernels("build/matmul_1024");  // also build/matmul_1024/remainder_*, copy_*, ...
//   LoadKernels(stream, kernels);
//   LaunchKernel(stream, kernels, {a, b, out}, options);
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/tiling.h"

namespace spyre::runtime {

class KernelSet {
 public:
  // A SpyreCode directory; the directories in it whose names start with "remainder_", "copy_" or
  // "accumulate_" are SpyreCode of that role.
  explicit KernelSet(const std::filesystem::path& directory);
  explicit KernelSet(ExecutionPlan plan) : plan_(std::move(plan)) {}

  // The plan's kernels, compiled for other shapes: operation i takes the place of the plan's.
  void AddRemainder(ExecutionPlan plan) { remainders_.push_back(std::move(plan)); }
  void AddCopy(ExecutionPlan plan) { copies_.push_back(std::move(plan)); }
  void AddAccumulate(ExecutionPlan plan) { accumulates_.push_back(std::move(plan)); }

  const ExecutionPlan& plan() const { return plan_; }
  // For operation i of the plan. Of plans from the compiler, not launchable until they are loaded.
  TileKernels KernelsFor(size_t operation) const;

 private:
  friend void LoadKernels(SpyreStream& stream, KernelSet& kernels);

  ExecutionPlan plan_;
  std::vector<ExecutionPlan> remainders_;
  std::vector<ExecutionPlan> copies_;
  std::vector<ExecutionPlan> accumulates_;
};

// LoadPlan for each of them that is not loaded yet.
void LoadKernels(SpyreStream& stream, KernelSet& kernels);

}  // namespace spyre::runtime
