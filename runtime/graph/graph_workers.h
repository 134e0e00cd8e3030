// SPDX-License-Identifier: Apache-2.0
// Threads of the host that run the tasks of a graph: each takes a ready task of its pool, runs it,
// and completes it, until all tasks have completed.
//
// The graph is called by one thread at a time, under a lock that a running task does not hold; so
// tasks that the graph does not order run at the same time, and `run` must be safe for that. In a
// safe graph what tasks leave behind does not depend on the number of threads; their order does.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/graph/task_graph.h"

namespace spyre::runtime {

inline constexpr uint32_t kMaxGraphThreads = 256;

struct GraphRun {
  int64_t tasks = 0;  // that ran
};

// Ends the orchestration and runs everything that is submitted, on `threads` threads; with several
// pools, on so many of each. Throws BadInput for none or too many threads, and if tasks are left
// that nothing can release. What `run` throws is thrown here, once every thread has ended; tasks
// that had not begun are left.
GraphRun RunOnThreads(TaskGraph& graph, uint32_t threads,
                      const std::function<void(TaskId task, uint32_t worker)>& run);

}  // namespace spyre::runtime
