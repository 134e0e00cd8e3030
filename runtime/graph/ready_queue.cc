// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/ready_queue.h"

#include <algorithm>
#include <deque>

namespace spyre::runtime {
namespace {

// A ring that doubles when it is full.
class Fifo final : public ReadyQueue {
 public:
  explicit Fifo(size_t limit) : limit_(limit), ring_(64) {}

  bool Push(TaskId task, int32_t, uint32_t) override {
    if (limit_ != 0 && count_ >= limit_) return false;
    if (count_ == ring_.size()) Grow();
    ring_[(head_ + count_++) & (ring_.size() - 1)] = task;
    return true;
  }
  TaskId Pop(uint32_t) override {
    if (count_ == 0) return kNoTask;
    const TaskId task = ring_[head_];
    head_ = (head_ + 1) & (ring_.size() - 1);
    --count_;
    return task;
  }
  void Remove(const std::function<bool(TaskId)>& gone) override {
    const std::vector<TaskId> tasks = Contents();
    count_ = 0;
    for (const TaskId task : tasks) {
      if (!gone(task)) Push(task, 0, 0);
    }
  }
  std::vector<TaskId> Contents() const override {
    std::vector<TaskId> tasks;
    tasks.reserve(count_);
    for (size_t i = 0; i < count_; ++i) tasks.push_back(ring_[(head_ + i) & (ring_.size() - 1)]);
    return tasks;
  }

 private:
  void Grow() {
    std::vector<TaskId> tasks = Contents();
    tasks.resize(ring_.size() * 2);
    ring_.swap(tasks);
    head_ = 0;
  }

  size_t limit_;
  std::vector<TaskId> ring_;  // a power of two
  size_t head_ = 0, count_ = 0;
};

// A heap; among equal priorities, the task that came first.
class Priority final : public ReadyQueue {
 public:
  bool Push(TaskId task, int32_t priority, uint32_t) override {
    heap_.push_back({priority, next_arrival_++, task});
    std::push_heap(heap_.begin(), heap_.end());
    return true;
  }
  TaskId Pop(uint32_t) override {
    if (heap_.empty()) return kNoTask;
    std::pop_heap(heap_.begin(), heap_.end());
    const TaskId task = heap_.back().task;
    heap_.pop_back();
    return task;
  }
  void Remove(const std::function<bool(TaskId)>& gone) override {
    heap_.erase(std::remove_if(heap_.begin(), heap_.end(),
                               [&gone](const Entry& entry) { return gone(entry.task); }),
                heap_.end());
    std::make_heap(heap_.begin(), heap_.end());
  }
  std::vector<TaskId> Contents() const override {
    std::vector<Entry> entries = heap_;
    std::sort_heap(entries.begin(), entries.end());
    std::vector<TaskId> tasks;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      tasks.push_back(entry->task);
    }
    return tasks;
  }

 private:
  struct Entry {
    int32_t priority;
    uint64_t arrival;
    TaskId task;
    bool operator<(const Entry& other) const {
      return priority != other.priority ? priority < other.priority : arrival > other.arrival;
    }
  };
  std::vector<Entry> heap_;
  uint64_t next_arrival_ = 0;
};

// A deque for each worker. The owner takes the youngest, whose data are most likely near; a thief
// goes round the others from the next one on and takes the oldest.
class WorkSteal final : public ReadyQueue {
 public:
  explicit WorkSteal(uint32_t workers) : deques_(workers) {}

  bool Push(TaskId task, int32_t, uint32_t worker) override {
    deques_[worker % deques_.size()].push_back(task);
    return true;
  }
  TaskId Pop(uint32_t worker) override { return Take(deques_, worker); }
  void Remove(const std::function<bool(TaskId)>& gone) override {
    for (std::deque<TaskId>& deque : deques_) {
      deque.erase(std::remove_if(deque.begin(), deque.end(), gone), deque.end());
    }
  }
  std::vector<TaskId> Contents() const override {
    std::vector<std::deque<TaskId>> left = deques_;
    std::vector<TaskId> tasks;
    for (TaskId task = Take(left, 0); task != kNoTask; task = Take(left, 0)) tasks.push_back(task);
    return tasks;
  }

 private:
  static TaskId Take(std::vector<std::deque<TaskId>>& deques, uint32_t worker) {
    const size_t own = worker % deques.size();
    if (!deques[own].empty()) {
      const TaskId task = deques[own].back();
      deques[own].pop_back();
      return task;
    }
    for (size_t i = 1; i < deques.size(); ++i) {
      std::deque<TaskId>& victim = deques[(own + i) % deques.size()];
      if (victim.empty()) continue;
      const TaskId task = victim.front();
      victim.pop_front();
      return task;
    }
    return kNoTask;
  }

  std::vector<std::deque<TaskId>> deques_;
};

}  // namespace

std::unique_ptr<ReadyQueue> MakeReadyQueue(ReadyPolicy policy, uint32_t workers, size_t limit) {
  if (policy == ReadyPolicy::kPriority) return std::make_unique<Priority>();
  if (policy == ReadyPolicy::kWorkSteal) return std::make_unique<WorkSteal>(workers);
  return std::make_unique<Fifo>(limit);
}

}  // namespace spyre::runtime
