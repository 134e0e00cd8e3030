// SPDX-License-Identifier: Apache-2.0
// The task graph that orders every hazard it is asked to see, and refuses misuse.
//
// Edges are made in Submit, from all arguments at once: first what the task reads and writes is
// compared with what came before, then it is entered. So the order of arguments does not matter,
// a task becomes ready exactly once, and a graph without explicit edges has no cycles.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/graph/access_map.h"
#include "runtime/graph/byte_hazards.h"
#include "runtime/graph/task_graph.h"

namespace spyre::runtime {

class SafeGraph final : public TaskGraph {
 public:
  explicit SafeGraph(const TaskGraphOptions& options);

  void PlaceTensor(const TensorPlace& place) override;
  void Add(TaskId task, Access access, const Region2d& region) override;
  void Add(TaskId task, Access access, const Region& region) override;
  // Throws BadInput if `task` is submitted, `before` not allocated, or the edge closes a cycle.
  void After(TaskId task, TaskId before) override;
  void SetCycles(TaskId task, int64_t cycles) override;
  void Submit(TaskId task) override;
  void Complete(TaskId task, uint32_t worker) override;
  void RequireProgress() const override;
  // In counted time: at each cycle, workers that are free take ready tasks, by ascending number of
  // worker. Every task is completed; none may be running before.
  Simulation Simulate(const SimulationWorkers& workers) override;

 private:
  void ForgetOlderHalf() override;
  void Stalled() const override;  // throws BadInput if it will be for ever
  void Popped(TaskId task) override;

  // Throws BadInput unless it is allocated, still in the window, and in that state.
  TaskRecord& Require(TaskId task, TaskState state);
  uint32_t RoomForArgument(TaskId task);  // for its index; the caller counts it
  // Throws BadInput unless `region` is inside its tensor's place, if it has one, which inference by
  // bytes needs. Returns the number of that place.
  template <typename R>
  uint32_t CheckRegion(const R& region) const;
  bool Done(TaskId task) const {
    return task < oldest_ || RecordOf(task).state == TaskState::kDone;
  }
  // The key of an access in hazards_.
  uint32_t KeyOf(TaskId task, uint32_t index) const {
    return static_cast<uint32_t>(ArgumentPlace(task, index));
  }
  TaskId TaskOf(uint32_t key) const { return records_[key & mask_].id; }

  void FindProducers(TaskId task, const TaskRecord& record);
  void FindByBytes(TaskId task, const TaskRecord& record);
  // Returns the place of the region's entry.
  template <typename R>
  uint32_t FindIn(AccessMap<R>& map, const R& region, const Argument& argument, TaskId task);
  void EnterAccesses(TaskId task, const TaskRecord& record);
  void EnterByBytes(TaskId task, const TaskRecord& record);
  template <typename R>
  void EnterIn(AccessMap<R>& map, uint32_t place, TaskId task, Access access);
  void Depend(TaskRecord& record, TaskId before);
  void RequireNoPath(TaskId task, const std::vector<TaskId>& producers);
  void Retire(TaskRecord& record, uint32_t worker);

  struct Placed {
    uint32_t number;  // in the order of placement
    TensorPlace place;
  };
  std::unordered_map<TensorId, Placed> places_;
  AccessMap<Region2d> accesses_;
  std::unique_ptr<AccessMap<Region>> wide_accesses_;  // made for the first wide region
  std::unique_ptr<ByteHazards> hazards_;              // of inference by bytes
  std::vector<TaskId> producers_;                     // scratch of Submit
  std::vector<uint32_t> located_;                     // the same: entries of its arguments
  std::vector<Box> boxes_;                            // the same, by bytes: of its arguments
  ByteHazards::Found found_;                          // the same
  std::vector<TaskId> stack_;                         // scratch of RequireNoPath
  int64_t ready_ = 0, running_ = 0;
};

}  // namespace spyre::runtime
