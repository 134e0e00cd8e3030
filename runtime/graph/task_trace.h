// SPDX-License-Identifier: Apache-2.0
// A simulated schedule in Chrome's trace format (chrome://tracing, Perfetto): one process for each
// pool, one thread for each worker, a microsecond for each cycle.
#pragma once

#include <ostream>

#include "runtime/graph/task_graph.h"

namespace spyre::runtime {

// The caller checks the stream's state afterwards.
void ExportChrome(const TaskGraph& graph, const Simulation& simulation, std::ostream& out);

}  // namespace spyre::runtime
