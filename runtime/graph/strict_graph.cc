// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/strict_graph.h"

#include <algorithm>

#include "base/error.h"
#include "base/ranges.h"

namespace spyre::runtime {
namespace {

constexpr uint32_t kMaxWorkers = 128;
constexpr uint32_t kDefaultWorkers = 4;
constexpr size_t kMaxTraceEntries = 65536;

}  // namespace

void StrictGraph::Add(TaskId task, Access access, const Region2d& region) {
  if (Reads(access)) AddOne(task, Access::kIn, region);
  if (Writes(access)) AddOne(task, Access::kOut, region);
}

void StrictGraph::Add(TaskId task, Access access, const Region& region) {
  if (region.rank != 2) {
    throw BadInput("{}: strict knows regions of two dimensions only", ToText(region));
  }
  Add(task, access,
      Region2d{region.tensor, region.offset[0], region.offset[1], region.extent[0],
               region.extent[1]});
}

void StrictGraph::PlaceTensor(const TensorPlace&) {
  throw BadInput("task graph: strict knows no places of tensors; they need safe");
}

void StrictGraph::After(TaskId, TaskId) {
  throw BadInput("task graph: strict has no explicit edges; they need safe");
}

TaskRecord* StrictGraph::RoomForArgument(TaskId task) {
  if (!Allocated(task)) {
    Note(Diagnostic::Kind::kNoSuchTask, task);
    return nullptr;
  }
  TaskRecord& record = RecordOf(task);
  if (record.args < options_.max_args) return &record;
  Note(Diagnostic::Kind::kTooManyArguments, task);
  return nullptr;
}

void StrictGraph::AddOne(TaskId task, Access access, const Region2d& region) {
  TaskRecord* record = RoomForArgument(task);
  if (record == nullptr) return;
  ArgumentOf(task, record->args++) = {region, 0, access, false};
  if (access == Access::kOut) {
    producers_.Insert(region, task, oldest_);
  } else {
    DependOnProducer(*record, task, region);
  }
}

void StrictGraph::DependOnProducer(TaskRecord& record, TaskId task, const Region2d& region) {
  const TaskId id = producers_.Lookup(region, oldest_);
  if (id == kNoTask || id == task) return;
  TaskRecord& producer = RecordOf(id);
  if (producer.state == TaskState::kDone) return;
  if (producer.fanout < options_.max_fanout) {
    Connect(producer, task);
  } else {
    Note(Diagnostic::Kind::kFanoutFull, id);
  }
  ++record.fanin;  // of a dropped edge too
}

void StrictGraph::SetCycles(TaskId task, int64_t cycles) {
  CheckCycles(cycles);
  if (Allocated(task)) RecordOf(task).cycles = cycles;
}

void StrictGraph::Submit(TaskId task) {
  if (!Allocated(task)) return Note(Diagnostic::Kind::kNoSuchTask, task);
  const TaskRecord& record = RecordOf(task);
  if (record.fanin == 0) Enqueue(task, record, 0);
}

void StrictGraph::Complete(TaskId task, uint32_t worker) {
  if (!Allocated(task)) return Note(Diagnostic::Kind::kNoSuchTask, task);
  TaskRecord& record = RecordOf(task);
  record.state = TaskState::kDone;
  --active_;
  ++completed_;
  AdvanceOldest();
  consumers_.ForEach(record, [&](TaskId id) {
    TaskRecord& consumer = RecordOf(id);
    consumer.earliest_cycle = std::max(consumer.earliest_cycle, record.end_cycle);
    if (--consumer.fanin == 0 && consumer.state != TaskState::kDone) Enqueue(id, consumer, worker);
  });
}

// The cycle at which each worker is free, and which of them a task may use.
class StrictGraph::Workers {
 public:
  Workers(const SimulationWorkers& workers, uint32_t pools) {
    const bool known = workers.by_pool.size() == pools;
    if (pools > 1 && known && AllFit(workers.by_pool, [](auto n) { return n > 0; })) {
      ends_ = workers.by_pool;
    }
    uint64_t sum = 0;
    if (pools > 1 && known) {
      for (const uint32_t count : workers.by_pool) sum += count;
    }
    asked_ = workers.total > 0 ? workers.total : sum;
    if (asked_ == 0) asked_ = kDefaultWorkers;
    total_ = static_cast<uint32_t>(std::min<uint64_t>(asked_, kMaxWorkers));
    uint64_t end = 0;
    for (uint32_t& of_pool : ends_) {
      end += of_pool;
      of_pool = static_cast<uint32_t>(std::min<uint64_t>(end, kMaxWorkers - 1));
    }
    // The last pool has what is left; a total that is set counts for it alone.
    if (!ends_.empty()) ends_.back() = total_;
    free_at_.resize(kMaxWorkers);
  }

  uint64_t asked() const { return asked_; }
  uint32_t total() const { return total_; }
  int64_t& FreeAt(uint32_t worker) { return free_at_[worker]; }
  // The first of those that are free first.
  uint32_t Pick(uint32_t pool) const {
    const bool own = pool < ends_.size();
    const uint32_t first = own && pool > 0 ? ends_[pool - 1] : 0;
    const uint32_t end = own ? ends_[pool] : total_;
    uint32_t best = first;
    for (uint32_t worker = first + 1; worker < end; ++worker) {
      if (free_at_[worker] < free_at_[best]) best = worker;
    }
    return best;
  }

 private:
  std::vector<uint32_t> ends_;  // of each pool's workers; empty: all workers take all tasks
  uint64_t asked_ = 0;
  uint32_t total_ = 0;
  std::vector<int64_t> free_at_;
};

int64_t StrictGraph::Sweep(TaskId first, Workers& workers, Simulation& result) {
  int64_t ran = 0;
  for (TaskId id = first; id < next_; ++id) {
    TaskRecord& record = RecordOf(id);
    if (record.state == TaskState::kDone || record.fanin > 0) continue;
    const uint32_t worker = workers.Pick(record.pool);
    const int64_t start = std::max(workers.FreeAt(worker), record.earliest_cycle);
    const int64_t end = start + record.cycles;
    workers.FreeAt(worker) = end;
    if (options_.trace && result.trace.size() < kMaxTraceEntries) {
      result.trace.push_back({id, record.function, worker, start, end});
    }
    result.end_cycle = std::max(result.end_cycle, end);
    record.end_cycle = end;
    record.state = TaskState::kDone;
    ++ran;
    consumers_.ForEach(record, [&](TaskId consumer_id) {
      if (consumer_id < first || consumer_id >= next_) return;
      TaskRecord& consumer = RecordOf(consumer_id);
      if (consumer.fanin > 0) --consumer.fanin;
      consumer.earliest_cycle = std::max(consumer.earliest_cycle, end);
    });
  }
  return ran;
}

Simulation StrictGraph::Simulate(const SimulationWorkers& counts) {
  if (counts.fixed || counts.issue_cycles != 0) {
    throw BadInput(
        "task graph: tasks bound to workers and time of the host to issue them need safe; the "
        "original of strict has neither");
  }
  Simulation result;
  Workers workers(counts, options_.pools);
  if (workers.asked() > workers.total()) {
    Note(Diagnostic::Kind::kTooManyWorkers, static_cast<int64_t>(workers.asked()));
  }
  result.workers = {workers.total(), counts.by_pool};
  const TaskId first = std::max(oldest_, next_ - options_.window.tasks);
  const int64_t all = next_ - first;
  for (int64_t sweep = 0; result.tasks < all && sweep < 2 * all; ++sweep) {
    const int64_t ran = Sweep(first, workers, result);
    result.tasks += ran;
    if (ran > 0) continue;
    int64_t waiting = 0;
    for (TaskId id = first; id < next_; ++id) {
      if (RecordOf(id).state != TaskState::kDone) ++waiting;
    }
    if (waiting > 0) Note(Diagnostic::Kind::kDeadlock, waiting);
    break;
  }
  completed_ = result.tasks;
  return result;
}

}  // namespace spyre::runtime
