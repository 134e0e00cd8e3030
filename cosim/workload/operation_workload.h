// SPDX-License-Identifier: Apache-2.0
// One operation as a workload: a kernel for a tile, launched on whole tensors. Any thread. Errors:
// Error(kBadInput) naming the key.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/reference/reference.h"
#include "cosim/workload/workload.h"
#include "runtime/compiler/kernels/kernel.h"

namespace spyre::cosim {

// The operation that a configuration's own keys describe.
struct OperationPlan {
  std::string description;
  std::vector<WorkloadTensor> tensors;   // inputs first, then the output
  compiler::KernelSpec kernel_spec;      // of a tile
  std::map<std::string, int64_t> sizes;  // of the tensors, by the names of kernel_spec.dims
  ReferenceProblem problem;              // without data and slices
  LaunchConfig launch;
  std::vector<std::string> warnings;
};

// Looks at the environment variable SENCORES.
OperationPlan PlanOperation(const RunConfig& config);

// Where each core's part of the reduced dimension ends, for ReferenceProblem::slice_ends; empty if
// it is not divided. sizes, tile_ends: as in OperationPlan and ReferenceProblem.
std::vector<int64_t> ReducedSliceEnds(const compiler::KernelSpec& spec,
                                      const std::map<std::string, int64_t>& sizes,
                                      const std::vector<int64_t>& tile_ends,
                                      const compiler::KernelPlan& plan);

class OperationWorkload final : public Workload {
 public:
  explicit OperationWorkload(OperationPlan plan) : plan_(std::move(plan)) {}

  const std::string& description() const override { return plan_.description; }
  const std::vector<WorkloadTensor>& tensors() const override { return plan_.tensors; }
  CompiledWorkload Compile(const std::string& directory) override;
  std::unique_ptr<WorkloadRun> Open(flex::RuntimeContext& context,
                                    RunTensors& tensors) const override;
  Verification Verify(const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                      const CheckOptions& options) const override;
  WorkloadWork Work() const override;
  compiler::Kernel CompileKernel() const override;
  const std::vector<std::string>& warnings() const override { return plan_.warnings; }

 private:
  void CheckTiles() const;

  OperationPlan plan_;
  // Set by Compile.
  std::string directory_;
  std::vector<int64_t> slice_ends_;
  std::vector<std::vector<int64_t>> output_parts_;
};

std::unique_ptr<Workload> ResolveOperation(const RunConfig& config);

}  // namespace spyre::cosim
