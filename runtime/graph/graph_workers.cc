// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/graph_workers.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"

namespace spyre::runtime {
namespace {

class Workers {
 public:
  Workers(TaskGraph& graph, const std::function<void(TaskId, uint32_t)>& run)
      : graph_(graph), run_(run) {}

  GraphRun Run(uint32_t threads) {
    const uint32_t pools = graph_.options().pools;
    std::vector<std::thread> running;
    running.reserve(size_t{pools} * threads);
    for (uint32_t pool = 0; pool < pools; ++pool) {
      for (uint32_t worker = 0; worker < threads; ++worker)
        running.emplace_back([this, pool, worker] { Work(pool, worker); });
    }
    for (std::thread& thread : running) thread.join();
    if (error_) std::rethrow_exception(error_);
    return {tasks_};
  }

 private:
  void Work(uint32_t pool, uint32_t worker) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!error_ && !ended_) {
      const TaskId task = graph_.Pop(pool, worker);
      if (task != kNoTask) {
        ++busy_;
        lock.unlock();
        std::exception_ptr error;
        try {
          run_(task, worker);
        } catch (...) {
          error = std::current_exception();
        }
        lock.lock();
        --busy_;
        Done(task, worker, error);
      } else if (busy_ == 0 && NothingReady()) {
        End();
      } else {
        changed_.wait(lock);
      }
    }
  }

  // Called under the lock.
  void Done(TaskId task, uint32_t worker, const std::exception_ptr& error) {
    try {
      if (error) std::rethrow_exception(error);
      graph_.Complete(task, worker);
      ++tasks_;
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
    changed_.notify_all();
  }

  // Called under the lock: no worker is busy, and no pool has anything to do.
  void End() {
    ended_ = true;
    try {
      if (!graph_.Finished()) graph_.RequireProgress();
    } catch (...) {
      error_ = std::current_exception();
    }
    changed_.notify_all();
  }

  bool NothingReady() const {
    for (uint32_t pool = 0; pool < graph_.options().pools; ++pool)
      if (!graph_.Ready(graph_.QueueOf(pool)).empty()) return false;
    return true;
  }

  TaskGraph& graph_;
  const std::function<void(TaskId, uint32_t)>& run_;
  std::mutex mutex_;  // of all below, and of the graph
  std::condition_variable changed_;
  int64_t tasks_ = 0;
  int64_t busy_ = 0;  // tasks that run
  bool ended_ = false;
  std::exception_ptr error_;
};

}  // namespace

GraphRun RunOnThreads(TaskGraph& graph, uint32_t threads,
                      const std::function<void(TaskId, uint32_t)>& run) {
  const uint64_t all = uint64_t{threads} * graph.options().pools;
  if (all < 1 || all > kMaxGraphThreads) {
    throw BadInput("task graph: {} threads for {} pools; there may be 1 to {} in all", threads,
                   graph.options().pools, kMaxGraphThreads);
  }
  graph.FinishOrchestration();
  return Workers(graph, run).Run(threads);
}

}  // namespace spyre::runtime
