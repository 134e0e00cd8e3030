// SPDX-License-Identifier: Apache-2.0
// A decoder stack (decoder_stack.h) as a workload: every kernel compiled once, and launched for
// each layer on the tensors of that layer, one after the other on the default stream. Any thread.
// Errors: Error(kBadInput) naming the key, CompileError of the front end.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/decoder_stack.h"
#include "cosim/workload/task_list_workload.h"
#include "cosim/workload/workload.h"

namespace spyre::cosim {

struct ModelPlan {
  DecoderSizes sizes;
  TaskListPlan list;  // its tensors begin with those of the stack, in order
  ModelSummary summary;
};

// BadInput where the tensors are larger than device memory, before anything is compiled.
ModelPlan PlanModel(const RunConfig& config);

class ModelWorkload final : public Workload {
 public:
  explicit ModelWorkload(ModelPlan plan)
      : sizes_(plan.sizes), summary_(std::move(plan.summary)), tasks_(std::move(plan.list)) {}

  const std::string& description() const override { return tasks_.description(); }
  const std::vector<WorkloadTensor>& tensors() const override { return tasks_.tensors(); }
  CompiledWorkload Compile(const std::string& directory) override {
    return tasks_.Compile(directory);
  }
  std::unique_ptr<WorkloadRun> Open(flex::RuntimeContext& context,
                                    RunTensors& tensors) const override {
    return tasks_.Open(context, tensors);
  }
  Verification Verify(const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                      const CheckOptions& options) const override;
  WorkloadWork Work() const override { return tasks_.Work(); }
  compiler::Kernel CompileKernel() const override;
  const std::vector<std::string>& warnings() const override { return tasks_.warnings(); }
  const ModelSummary* model() const override { return &summary_; }

 private:
  DecoderSizes sizes_;
  ModelSummary summary_;
  TaskListWorkload tasks_;
};

std::unique_ptr<Workload> ResolveModel(const RunConfig& config);

}  // namespace spyre::cosim
