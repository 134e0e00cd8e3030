// SPDX-License-Identifier: Apache-2.0
// Short forms for tests of the task graph.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/graph/task_graph.h"

namespace spyre::runtime {

inline TaskGraphOptions Strict(uint32_t window = 64,
                               WindowOverflow overflow = WindowOverflow::kStall) {
  TaskGraphOptions options;
  options.conformance = Conformance::kStrict;
  options.window = {window, overflow};
  return options;
}

inline TaskGraphOptions Safe(const char* deps = "exact", uint32_t window = 64,
                             WindowOverflow overflow = WindowOverflow::kStall) {
  TaskGraphOptions options;
  options.deps = DependenciesOf(deps);
  options.window = {window, overflow};
  return options;
}

// An 8x8 tile of a tensor.
inline Region2d TileOf(TensorId tensor, int64_t row = 0, int64_t col = 0) {
  return {tensor, row, col, 8, 8};
}

inline TaskId Alloc(TaskGraph& graph, uint32_t pool = 0, int32_t priority = 0) {
  return graph.Alloc({graph.Function("f"), pool, priority, -1});
}

struct Use {
  Access access;
  Region2d region;
};
inline Use In(const Region2d& region) { return {Access::kIn, region}; }
inline Use Out(const Region2d& region) { return {Access::kOut, region}; }
inline Use InOut(const Region2d& region) { return {Access::kInOut, region}; }

inline TaskId Task(TaskGraph& graph, const std::vector<Use>& uses) {
  const TaskId task = Alloc(graph);
  for (const Use& use : uses) graph.Add(task, use.access, use.region);
  graph.Submit(task);
  return task;
}

inline std::vector<TaskId> Consumers(const TaskGraph& graph, TaskId task) {
  return graph.View(task).fanout;
}

// Pops and completes until nothing is ready.
inline std::vector<TaskId> RunAll(TaskGraph& graph) {
  std::vector<TaskId> order;
  for (TaskId task = graph.Pop(0); task != kNoTask; task = graph.Pop(0)) {
    order.push_back(task);
    graph.Complete(task);
  }
  return order;
}

// The message of the BadInput that `function` throws, "" if it throws nothing.
template <typename Function>
std::string Refusal(Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

}  // namespace spyre::runtime
