// SPDX-License-Identifier: Apache-2.0
// What the tasks of a graph leave behind when they run: every task reads the regions that it says
// it reads, and writes to its own what it makes of them, a number that depends on everything it has
// read. So an order that the graph must keep and does not keep is another digest.
//
// A region holds what was written to regions that overlap it; tensors that share memory are told
// apart. Run may be called by several threads at once.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/graph/task_graph.h"

namespace spyre::cosim {

class GraphMemory {
 public:
  // Takes note of all tasks that are in flight.
  explicit GraphMemory(const runtime::TaskGraph& graph);
  void Run(runtime::TaskId task);
  uint64_t Digest() const;  // of everything that was written

 private:
  struct Write {
    runtime::Region region;
    runtime::TaskId writer;
    uint64_t value;
  };
  struct Task {
    uint64_t seed;  // of its number
    std::vector<runtime::TaskArgument> arguments;
  };

  uint64_t Read(const runtime::Region& region) const;

  const runtime::TaskId first_;
  std::vector<Task> tasks_;
  std::mutex mutex_;
  std::map<runtime::TensorId, std::vector<Write>> written_;  // the last to each region
};

}  // namespace spyre::cosim
