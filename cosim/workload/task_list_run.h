// SPDX-License-Identifier: Apache-2.0
// Runs a task list on streams of a context: loads its kernels, and enqueues what PlanTasks says, or
// gives it to a task graph (runtime/spyre/issue/issue.h) that finds the order. Single thread.
// Errors: as the runtime's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/workload/task_list.h"
#include "cosim/workload/task_list_schedule.h"
#include "cosim/workload/workload.h"
#include "runtime/flex/event.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/issue/issue.h"
#include "runtime/spyre/spyre_stream.h"

namespace spyre::cosim {

// The SpyreCode of one kernel, below that of the list.
std::string KernelDirectory(const std::string& directory, const BundlePlan& kernel);

class TaskListRun final : public WorkloadRun {
 public:
  // directory: below which the SpyreCode of the kernels is.
  TaskListRun(flex::RuntimeContext& context, const TaskListPlan& list, const std::string& directory,
              RunTensors& tensors);

  // Copies the resident tensors; the others are copied among the launches.
  void CopyInputs() override;
  // On the default stream; other cards are told where collectives have their data. A kernel is
  // loaded once for each stream that may launch it: correction writes into the program, so that one
  // copy would order the streams.
  void LoadPrograms() override;
  // Everything, with the copies; returns at once, unless the host keeps the dependencies, or a task
  // graph releases.
  void Launch() override;
  void CopyOutputs() override {}
  uint64_t transfers() const override { return summary_.copies; }
  const TaskListSummary* tasks() const override { return &summary_; }

 private:
  // Copies of one kernel's program, and which stream has which.
  struct Programs {
    std::vector<std::unique_ptr<runtime::ExecutionPlan>> plans;
    std::map<uint32_t, size_t> of_stream;
  };

  void AddPrograms(const std::string& directory);
  void EnqueueOnStreams();
  std::vector<size_t> OrderOfSteps() const;  // on streams, by workload.issue.timing
  void EnqueueTaskGraph();
  void EnqueueStep(runtime::SpyreStream& stream, const TaskStep& step);
  std::vector<runtime::TensorAccess> AccessesOf(const TaskStep& step) const;
  // The stream's next operation comes after the step.
  void WaitFor(runtime::SpyreStream& stream, size_t step);
  std::string NameOf(const TaskStep& step) const;  // of its tensor or task
  void LaunchTask(runtime::SpyreStream& stream, const Task& task);
  // The part of a whole that is this card's lies in the whole, and the cards are told of it.
  void PlaceParts();
  void WaitForAll(const TaskStep& step);  // that it waits for, and its stream
  // Computes when all is there that it needs, and is charged for it.
  void ComputeTask(const TaskStep& step);
  // The elements of a tensor on the host; null in a timing-only run.
  HostData* HostDataOf(size_t tensor);

  const TaskListPlan& list_;
  RunTensors& tensors_;
  flex::RuntimeContext& context_;
  std::vector<TaskStep> steps_;
  std::map<size_t, flex::Event> events_;  // by the step that signals
  std::map<uint32_t, runtime::SpyreStream> streams_;
  std::vector<runtime::CollectivePlace> collectives_;
  std::map<size_t, size_t> collective_of_;  // by task
  std::vector<Programs> programs_;          // by kernel
  std::map<size_t, HostData> staged_;  // by tensor: of the list's own, as far as the host has them
  TaskListSummary summary_;
};

}  // namespace spyre::cosim
