// SPDX-License-Identifier: Apache-2.0
// A list of operations as a workload of many launches: every operation is a kernel of its own, with
// its results in device memory, and the operations are tasks that streams take. What follows from
// the data orders the tasks, and the key `after` of an operation. Reads files; any thread.
// Errors: Error(kBadInput) naming the operation and the key, CompileError of the front end.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/task_list.h"
#include "cosim/workload/workload.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::cosim {

// TaskListPlan::tensors has the list's inputs, constants and results: those that are not outputs
// are neither input nor output of the workload. Every tensor has one layout, which its writer
// chooses; sticks of inputs are planned for the whole list. With issue.mode = program the list is
// cut where its plan says so.
TaskListPlan PlanTaskList(const RunConfig& config);

class TaskListWorkload final : public Workload {
 public:
  explicit TaskListWorkload(TaskListPlan plan) : plan_(std::move(plan)) {}

  const std::string& description() const override { return plan_.description; }
  const std::vector<WorkloadTensor>& tensors() const override { return plan_.tensors; }
  // Each kernel in a directory below `directory`, named after it.
  CompiledWorkload Compile(const std::string& directory) override;
  std::unique_ptr<WorkloadRun> Open(flex::RuntimeContext& context,
                                    RunTensors& tensors) const override;
  Verification Verify(const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                      const CheckOptions& options) const override;
  WorkloadWork Work() const override { return WorkOf(plan_); }
  compiler::Kernel CompileKernel() const override;
  std::vector<KernelFacts> facts() const override;
  std::vector<NamedCollective> collectives() const override;
  const std::vector<std::string>& warnings() const override { return plan_.warnings; }
  const std::vector<compiler::Decision>& decisions() const override { return plan_.decisions; }
  const TaskListPlan& plan() const { return plan_; }

 private:
  TaskListPlan plan_;
  std::string directory_;  // from Compile on
};

std::unique_ptr<Workload> ResolveTaskList(const RunConfig& config);

}  // namespace spyre::cosim
