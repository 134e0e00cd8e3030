// SPDX-License-Identifier: Apache-2.0
// SafeGraph::Simulate: workers in counted time.
#include <algorithm>
#include <queue>

#include "base/error.h"
#include "runtime/graph/safe_graph.h"

namespace spyre::runtime {
namespace {

constexpr uint32_t kDefaultSafeWorkers = 4;
constexpr uint64_t kMaxSafeWorkers = 65536;

// A task that runs. The one that ends first comes first; of several, that of the first worker.
struct Running {
  int64_t end_cycle;
  uint32_t worker;
  uint32_t pool;
  TaskId task;
  bool operator<(const Running& other) const {
    return end_cycle != other.end_cycle ? end_cycle > other.end_cycle : worker > other.worker;
  }
};

// Workers of one pool that have nothing to do, the first number first.
using Idle = std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>;

std::vector<Idle> IdleWorkers(const SimulationWorkers& workers, uint32_t pools) {
  std::vector<uint32_t> counts = workers.by_pool;
  if (pools == 1) counts.assign(1, workers.total > 0 ? workers.total : kDefaultSafeWorkers);
  if (counts.size() != pools) {
    throw BadInput("task graph: workers for {} pools; there are {}", counts.size(), pools);
  }
  std::vector<Idle> idle(pools);
  uint64_t next = 0;
  for (uint32_t pool = 0; pool < pools; ++pool) {
    if (counts[pool] == 0) throw BadInput("task graph: pool {} has no workers", pool);
    if (next + counts[pool] > kMaxSafeWorkers) {
      throw BadInput("task graph: more than {} workers", kMaxSafeWorkers);
    }
    for (uint32_t i = 0; i < counts[pool]; ++i) idle[pool].push(static_cast<uint32_t>(next++));
  }
  return idle;
}

}  // namespace

Simulation SafeGraph::Simulate(const SimulationWorkers& workers) {
  if (running_ > 0) {
    throw BadInput("task graph: {} tasks run; they must complete before a simulation", running_);
  }
  Simulation result;
  std::vector<Idle> idle = IdleWorkers(workers, options_.pools);
  for (const Idle& pool : idle) {
    result.workers.by_pool.push_back(static_cast<uint32_t>(pool.size()));
    result.workers.total += static_cast<uint32_t>(pool.size());
  }
  FinishOrchestration();
  std::priority_queue<Running> running;
  int64_t now = 0;
  while (completed_ < scheduled_) {
    for (uint32_t pool = 0; pool < idle.size(); ++pool) {
      while (!idle[pool].empty()) {
        const uint32_t worker = idle[pool].top();
        const TaskId task = Pop(pool, worker);
        if (task == kNoTask) break;
        idle[pool].pop();
        TaskRecord& record = RecordOf(task);
        record.end_cycle = now + record.cycles;
        running.push({record.end_cycle, worker, pool, task});
        if (options_.trace) {
          result.trace.push_back({task, record.function, worker, now, record.end_cycle});
        }
      }
    }
    if (running.empty()) RequireProgress();  // throws: nothing is ready either
    now = running.top().end_cycle;
    while (!running.empty() && running.top().end_cycle == now) {
      const Running ended = running.top();
      running.pop();
      idle[ended.pool].push(ended.worker);
      Complete(ended.task, ended.worker);
      ++result.tasks;
    }
  }
  result.end_cycle = now;
  return result;
}

}  // namespace spyre::runtime
