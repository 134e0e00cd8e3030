// SPDX-License-Identifier: Apache-2.0
// The ready tasks of one pool, in the order of a policy. Single thread, deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/graph/task_options.h"

namespace spyre::runtime {

class ReadyQueue {
 public:
  virtual ~ReadyQueue() = default;
  // `worker`: who made the task ready, 0-based; a policy without workers ignores it. Returns false,
  // and does not take the task, if the queue has a limit and is full.
  virtual bool Push(TaskId task, int32_t priority, uint32_t worker) = 0;
  virtual TaskId Pop(uint32_t worker) = 0;  // kNoTask if there is none
  // Takes out those for which gone(task).
  virtual void Remove(const std::function<bool(TaskId)>& gone) = 0;
  // What Pop(0), called again and again, would answer.
  virtual std::vector<TaskId> Contents() const = 0;
};

// workers: deques of work_steal. limit: of fifo, 0 for none.
std::unique_ptr<ReadyQueue> MakeReadyQueue(ReadyPolicy policy, uint32_t workers, size_t limit);

}  // namespace spyre::runtime
