// SPDX-License-Identifier: Apache-2.0
// The task graph of the public pto-isa runtime, quirk by quirk. Edges are made when an argument is
// added; nothing checks the order of calls. docs/task-graph.md lists what follows from that.
#pragma once

#include "runtime/graph/task_graph.h"
#include "runtime/graph/tensor_map.h"

namespace spyre::runtime {

class StrictGraph final : public TaskGraph {
 public:
  explicit StrictGraph(const TaskGraphOptions& options) : TaskGraph(options) {}

  using TaskGraph::Add;
  void Add(TaskId task, Access access, const Region2d& region) override;
  void Add(TaskId task, Access access, const Region& region) override;  // two dimensions only
  void PlaceTensor(const TensorPlace& place) override;
  void After(TaskId task, TaskId before) override;  // refused
  void SetCycles(TaskId task, int64_t cycles) override;
  void Submit(TaskId task) override;
  void Complete(TaskId task, uint32_t worker) override;
  // Sweeps over the window by ascending number; each task without open producers is given to the
  // worker that is free first. Counts and queues stay as they were, except completed().
  Simulation Simulate(const SimulationWorkers& workers) override;

 private:
  class Workers;

  void ForgetOlderHalf() override { oldest_ = next_ - options_.window.tasks / 2; }
  void Popped(TaskId) override {}

  // nullptr, and a note, unless the task is allocated and has room.
  TaskRecord* RoomForArgument(TaskId task);
  void AddOne(TaskId task, Access access, const Region2d& region);
  void DependOnProducer(TaskRecord& record, TaskId task, const Region2d& region);
  int64_t Sweep(TaskId first, Workers& workers, Simulation& result);

  TensorMap producers_;
};

}  // namespace spyre::runtime
