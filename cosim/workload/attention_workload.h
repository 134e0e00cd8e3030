// SPDX-License-Identifier: Apache-2.0
// Fused attention as a workload: one kernel on q, k, v and out (workload.op = "attention" and
// workload.attention). Any thread. Errors: Error(kBadInput) naming the key.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/workload.h"
#include "runtime/compiler/kernels/attention_kernel.h"

namespace spyre::cosim {

class AttentionWorkload final : public Workload {
 public:
  explicit AttentionWorkload(const RunConfig& config);

  const std::string& description() const override { return description_; }
  const std::vector<WorkloadTensor>& tensors() const override { return tensors_; }
  CompiledWorkload Compile(const std::string& directory) override;
  std::unique_ptr<WorkloadRun> Open(flex::RuntimeContext& context,
                                    RunTensors& tensors) const override;
  Verification Verify(const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                      const CheckOptions& options) const override;
  WorkloadWork Work() const override;
  compiler::Kernel CompileKernel() const override;

 private:
  compiler::AttentionSpec spec_;
  std::string description_;
  std::vector<WorkloadTensor> tensors_;
  std::string directory_;  // from Compile on
};

std::unique_ptr<Workload> ResolveAttention(const RunConfig& config);

}  // namespace spyre::cosim
