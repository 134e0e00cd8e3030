// SPDX-License-Identifier: Apache-2.0
// The order in which the host enqueues a task list on streams: copies of inputs,
// launches, copies of outputs, and where a stream must wait for another. Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/workload/task_list.h"

namespace spyre::cosim {

struct TaskStep {
  // kHost: the host waits for the steps of `waits` and for the stream, and computes. kCollective:
  // likewise, and takes its card's part in what several cards do together, on the default stream.
  enum class Kind : uint8_t { kCopyIn, kLaunch, kCopyOut, kHost, kCollective };
  Kind kind = Kind::kLaunch;
  size_t subject = 0;         // position in the list's tensors of a copy, else in tasks
  uint32_t stream = 0;        // of the context
  std::vector<size_t> waits;  // positions of earlier steps, on other streams, that signal
  bool signals = false;       // a step of another stream waits for it
};

// Steps in order of enqueueing. A task without a stream follows the first of its producers that has
// no follower yet; where there is none, a new chain begins on the next of `streams` streams, from
// stream 1 on. An input that is not resident is copied just before its first user, on that task's
// stream; an output just behind its writer, on the writer's; what the host computes with just
// before it does, and what it has computed where a kernel needs it. A step waits for what writes
// the tensors it reads, and for what `after` names; waits that follow from others are left out.
// streams 0: everything is on the default stream, whatever the tasks say.
std::vector<TaskStep> PlanTasks(const TaskListPlan& list, uint32_t streams);

// Throws BadInput for choices of workload.issue that exclude each other.
void CheckIssue(const IssueConfig& issue);

}  // namespace spyre::cosim
