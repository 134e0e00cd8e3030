// SPDX-License-Identifier: Apache-2.0
// SafeGraph::Simulate: workers in counted time.
#include <algorithm>
#include <deque>
#include <iterator>
#include <queue>
#include <set>
#include <utility>

#include "base/error.h"
#include "runtime/graph/safe_graph.h"

namespace spyre::runtime {
namespace {

constexpr uint32_t kDefaultSafeWorkers = 4;
constexpr uint64_t kMaxSafeWorkers = 65536;
constexpr int64_t kNever = INT64_MAX;

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

// Tasks that are popped and wait for the worker that they are bound to, in order of the policy.
class FixedTasks {
 public:
  FixedTasks(const std::vector<Idle>& idle, ReadyPolicy policy)
      : by_priority_(policy == ReadyPolicy::kPriority) {
    for (const Idle& pool : idle) {
      first_.push_back(static_cast<uint32_t>(waiting_.size()));
      waiting_.resize(waiting_.size() + pool.size());
      counts_.push_back(static_cast<uint32_t>(pool.size()));
    }
  }
  void Add(uint32_t pool, TaskId task, int32_t priority) {
    auto& queue = waiting_[first_[pool] + static_cast<size_t>(task % counts_[pool])];
    auto place = queue.end();
    while (by_priority_ && place != queue.begin() && std::prev(place)->priority < priority) --place;
    queue.insert(place, {priority, task});
  }
  TaskId Take(uint32_t worker) {
    auto& queue = waiting_[worker];
    if (queue.empty()) return kNoTask;
    const TaskId task = queue.front().task;
    queue.pop_front();
    return task;
  }

 private:
  struct Waiting {
    int32_t priority;
    TaskId task;
  };
  const bool by_priority_;
  std::vector<uint32_t> first_, counts_;      // by pool
  std::vector<std::deque<Waiting>> waiting_;  // by worker
};

// Keeps which tasks the host has issued.
class HostIssue {
 public:
  // first: the first task that is simulated.
  HostIssue(const SimulationWorkers& workers, TaskId first)
      : cycles_(workers.issue_cycles), batch_(workers.batch), first_(first) {
    CheckCycles(cycles_);
    if (batch_ < 1) throw BadInput("task graph: batches of 0 tasks; a batch has at least 1");
  }
  bool takes_time() const { return cycles_ > 0; }
  bool Known(TaskId task, int64_t now) const { return !takes_time() || At(task) <= now; }
  int64_t At(TaskId task) const { return ((task - first_) / batch_ + 1) * batch_ * cycles_; }

 private:
  const int64_t cycles_;
  const int64_t batch_;
  const TaskId first_;
};

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
  if (workers.fixed && options_.ready == ReadyPolicy::kWorkSteal) {
    throw BadInput(
        "task graph: ready policy work_steal lets a worker take what is another's, and the tasks "
        "are bound to workers; use fifo or priority");
  }
  const HostIssue issue(workers, oldest_);
  FixedTasks fixed(idle, options_.ready);
  FinishOrchestration();
  std::priority_queue<Running> running;
  std::set<TaskId> unknown;  // ready, but not issued yet
  int64_t now = 0;
  const auto start = [&](uint32_t pool, uint32_t worker, TaskId task) {
    TaskRecord& record = RecordOf(task);
    record.end_cycle = now + record.cycles;
    running.push({record.end_cycle, worker, pool, task});
    if (options_.trace)
      result.trace.push_back({task, record.function, worker, now, record.end_cycle});
  };
  while (completed_ < scheduled_) {
    if (issue.takes_time()) {
      while (!unknown.empty() && issue.Known(*unknown.begin(), now)) {
        Enqueue(*unknown.begin(), RecordOf(*unknown.begin()), 0);
        unknown.erase(unknown.begin());
      }
      RemoveReady(
          [&](TaskId task) { return !issue.Known(task, now) && (unknown.insert(task), true); });
    }
    for (uint32_t pool = 0; pool < idle.size(); ++pool) {
      if (workers.fixed) {
        for (TaskId task = Pop(pool); task != kNoTask; task = Pop(pool))
          fixed.Add(pool, task, RecordOf(task).priority);
        Idle still;
        for (; !idle[pool].empty(); idle[pool].pop()) {
          const TaskId task = fixed.Take(idle[pool].top());
          if (task == kNoTask) {
            still.push(idle[pool].top());
          } else {
            start(pool, idle[pool].top(), task);
          }
        }
        idle[pool] = std::move(still);
        continue;
      }
      while (!idle[pool].empty()) {
        const uint32_t worker = idle[pool].top();
        const TaskId task = Pop(pool, worker);
        if (task == kNoTask) break;
        idle[pool].pop();
        start(pool, worker, task);
      }
    }
    if (running.empty() && unknown.empty()) RequireProgress();  // throws: nothing is ready either
    const int64_t known = unknown.empty() ? kNever : issue.At(*unknown.begin());
    if (running.empty() || known < running.top().end_cycle) {
      now = known;
      continue;
    }
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
