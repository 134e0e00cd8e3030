// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/safe_graph.h"

#include <algorithm>

#include "base/error.h"

namespace spyre::runtime {
namespace {

const char* ToText(TaskState state) {
  switch (state) {
    case TaskState::kFree:
      return "not allocated";
    case TaskState::kOpen:
      return "not submitted";
    case TaskState::kWaiting:
      return "waiting for others";
    case TaskState::kReady:
      return "ready, and has not been popped";
    case TaskState::kRunning:
      return "running";
    case TaskState::kDone:
      return "completed";
  }
  return "";
}

}  // namespace

SafeGraph::SafeGraph(const TaskGraphOptions& options)
    : TaskGraph(options), accesses_(options.window.tasks) {
  if (options.deps.infer != Inference::kBytes) return;
  hazards_ = std::make_unique<ByteHazards>(4 * options.window.tasks);
}

TaskRecord& SafeGraph::Require(TaskId task, TaskState state) {
  if (!Allocated(task)) {
    throw BadInput("task graph: there is no task {}; {} are allocated", task, next_);
  }
  TaskRecord& record = RecordOf(task);
  if (record.id != task) throw BadInput("task graph: task {} has left the window", task);
  if (record.state != state) {
    throw BadInput("task graph: task {} ('{}') is {}", task, FunctionName(record.function),
                   ToText(record.state));
  }
  return record;
}

uint32_t SafeGraph::RoomForArgument(TaskId task) {
  const TaskRecord& record = Require(task, TaskState::kOpen);
  if (record.args >= options_.max_args) {
    throw BadInput("task graph: task {} ('{}') has {} arguments already, which is the limit", task,
                   FunctionName(record.function), record.args);
  }
  return record.args;
}

void SafeGraph::PlaceTensor(const TensorPlace& place) {
  CheckPlace(place);
  const auto number = static_cast<uint32_t>(places_.size());
  if (!places_.emplace(place.tensor, Placed{number, place}).second) {
    throw BadInput("tensor {} has a place already", place.tensor);
  }
  if (hazards_) hazards_->Place(place);
}

template <typename R>
uint32_t SafeGraph::CheckRegion(const R& region) const {
  if (places_.empty() && !hazards_) return 0;
  const auto placed = places_.find(region.tensor);
  if (placed != places_.end()) {
    CheckInside(region, placed->second.place);
    return placed->second.number;
  }
  if (hazards_) throw BadInput("tensor {}: inference by bytes needs its place", region.tensor);
  return 0;
}

void SafeGraph::Add(TaskId task, Access access, const Region2d& region) {
  const uint32_t index = RoomForArgument(task);
  uint32_t tag = CheckRegion(region);
  if (!hazards_) {
    tag = static_cast<uint32_t>(HashOf(region));
    accesses_.PrefetchHead(tag);
  }
  ArgumentOf(task, index) = {region, tag, access, false};
  ++RecordOf(task).args;
}

void SafeGraph::Add(TaskId task, Access access, const Region& region) {
  if (region.rank == 2) {
    return Add(task, access,
               Region2d{region.tensor, region.offset[0], region.offset[1], region.extent[0],
                        region.extent[1]});
  }
  const uint32_t index = RoomForArgument(task);
  uint32_t tag = CheckRegion(region);
  if (!hazards_) tag = static_cast<uint32_t>(HashOf(region));
  ArgumentOf(task, index) = {{}, tag, access, true};
  WideOf(task, index) = region;
  ++RecordOf(task).args;
}

void SafeGraph::SetCycles(TaskId task, int64_t cycles) {
  CheckCycles(cycles);
  Require(task, TaskState::kOpen).cycles = cycles;
}

void SafeGraph::After(TaskId task, TaskId before) {
  if (!options_.deps.explicit_edges) {
    throw BadInput("task graph: explicit edges need dependencies `explicit` or `hybrid`");
  }
  TaskRecord& record = Require(task, TaskState::kOpen);
  if (!Allocated(before)) {
    throw BadInput("task graph: task {} cannot come after task {}, which does not exist", task,
                   before);
  }
  if (Done(before)) return;
  RequireNoPath(task, {before});
  Depend(record, before);
}

// Throws if a path along the consumers of `task` reaches one of `producers`.
void SafeGraph::RequireNoPath(TaskId task, const std::vector<TaskId>& producers) {
  const auto wanted = [&](TaskId id) {
    return std::find(producers.begin(), producers.end(), id) != producers.end();
  };
  const auto cyclic = [&](TaskId id) {
    return BadInput(
        "task graph: task {} ('{}') would wait for task {}, which waits for it: a cycle", task,
        FunctionName(RecordOf(task).function), id);
  };
  if (wanted(task)) throw cyclic(task);
  if (RecordOf(task).fanout == 0) return;
  std::vector<TaskId> visited;
  TaskId found = kNoTask;
  stack_.assign(1, task);
  while (!stack_.empty() && found == kNoTask) {
    const TaskId from = stack_.back();
    stack_.pop_back();
    consumers_.ForEach(RecordOf(from), [&](TaskId id) {
      TaskRecord& consumer = RecordOf(id);
      if (consumer.id != id || consumer.visited != 0) return;
      consumer.visited = 1;
      visited.push_back(id);
      stack_.push_back(id);
      if (wanted(id)) found = id;
    });
  }
  for (const TaskId id : visited) RecordOf(id).visited = 0;
  if (found != kNoTask) throw cyclic(found);
}

void SafeGraph::Depend(TaskRecord& record, TaskId before) {
  TaskRecord& producer = RecordOf(before);
  if (consumers_.Last(producer) == record.id) return;
  Connect(producer, record.id);
  ++record.fanin;
}

template <typename R>
uint32_t SafeGraph::FindIn(AccessMap<R>& map, const R& region, const Argument& argument,
                           TaskId task) {
  const uint32_t place = map.Locate(region, argument.tag, task, oldest_);
  const auto& entry = map.at(place);
  bool after_reader = false;
  if (Writes(argument.access)) {
    entry.ForEachReader([&](TaskId reader) {
      if (reader == task || Done(reader)) return;
      producers_.push_back(reader);
      after_reader = true;
    });
  }
  // A reader that has not completed waits for the writer itself.
  if (!after_reader && entry.writer() != kNoTask && !Done(entry.writer())) {
    producers_.push_back(entry.writer());
  }
  return place;
}

void SafeGraph::FindProducers(TaskId task, const TaskRecord& record) {
  producers_.clear();
  located_.clear();
  for (uint32_t i = 0; i < record.args; ++i) accesses_.PrefetchEntry(ArgumentOf(task, i).tag);
  for (uint32_t i = 0; i < record.args; ++i) {
    const Argument& argument = ArgumentOf(task, i);
    if (!argument.wide) {
      located_.push_back(FindIn(accesses_, argument.region, argument, task));
    } else {
      if (!wide_accesses_) {
        wide_accesses_ = std::make_unique<AccessMap<Region>>(options_.window.tasks);
      }
      located_.push_back(FindIn(*wide_accesses_, WideOf(task, i), argument, task));
    }
  }
}

void SafeGraph::FindByBytes(TaskId task, const TaskRecord& record) {
  found_.conflicts.clear();
  found_.covered.clear();
  boxes_.resize(record.args);
  for (uint32_t i = 0; i < record.args; ++i) {
    const Argument& argument = ArgumentOf(task, i);
    boxes_[i] = argument.wide ? BoxOf(WideOf(task, i)) : BoxOf(argument.region);
    hazards_->Find(argument.tag, boxes_[i], Writes(argument.access), found_);
  }
  producers_.resize(found_.conflicts.size());
  for (size_t i = 0; i < producers_.size(); ++i) {
    const TaskRecord& producer = records_[found_.conflicts[i] & mask_];
    producers_[i] = producer.id;
    consumers_.Prefetch(producer);
  }
}

template <typename R>
void SafeGraph::EnterIn(AccessMap<R>& map, uint32_t place, TaskId task, Access access) {
  if (Writes(access)) {
    map.Write(place, task);
  } else {
    map.Read(place, task, [this](TaskId reader) { return Done(reader); });
  }
}

void SafeGraph::EnterAccesses(TaskId task, const TaskRecord& record) {
  for (uint32_t i = 0; i < record.args; ++i) {
    const Argument& argument = ArgumentOf(task, i);
    if (!argument.wide) {
      EnterIn(accesses_, located_[i], task, argument.access);
    } else {
      EnterIn(*wide_accesses_, located_[i], task, argument.access);
    }
  }
}

void SafeGraph::EnterByBytes(TaskId task, const TaskRecord& record) {
  for (const uint32_t key : found_.covered) hazards_->Erase(key);
  for (uint32_t i = 0; i < record.args; ++i) {
    const Argument& argument = ArgumentOf(task, i);
    hazards_->Insert(KeyOf(task, i), argument.tag, boxes_[i], Writes(argument.access));
  }
}

void SafeGraph::Submit(TaskId task) {
  TaskRecord& record = Require(task, TaskState::kOpen);
  if (options_.deps.infer != Inference::kNone) {
    hazards_ ? FindByBytes(task, record) : FindProducers(task, record);
    // Without explicit edges, no task waits for one that is not submitted.
    if (record.fanout != 0) RequireNoPath(task, producers_);
    for (const TaskId before : producers_) Depend(record, before);
    hazards_ ? EnterByBytes(task, record) : EnterAccesses(task, record);
  }
  if (record.fanin == 0) {
    record.state = TaskState::kReady;
    ++ready_;
    Enqueue(task, record, SlotOf(task));
  } else {
    record.state = TaskState::kWaiting;
  }
}

void SafeGraph::Popped(TaskId task) {
  RecordOf(task).state = TaskState::kRunning;
  --ready_;
  ++running_;
}

void SafeGraph::Complete(TaskId task, uint32_t worker) {
  TaskRecord& record = Require(task, TaskState::kRunning);
  --running_;
  Retire(record, worker);
  AdvanceOldest();
}

void SafeGraph::Retire(TaskRecord& record, uint32_t worker) {
  record.state = TaskState::kDone;
  --active_;
  ++completed_;
  if (hazards_) {
    for (uint32_t i = 0; i < record.args; ++i) hazards_->Erase(KeyOf(record.id, i));
  }
  consumers_.ForEach(record, [&](TaskId id) {
    TaskRecord& consumer = RecordOf(id);
    if (consumer.id != id) return;  // was forgotten
    consumer.earliest_cycle = std::max(consumer.earliest_cycle, record.end_cycle);
    if (--consumer.fanin > 0 || consumer.state != TaskState::kWaiting) return;
    consumer.state = TaskState::kReady;
    ++ready_;
    Enqueue(id, consumer, worker);
  });
}

// As if they had completed, in order.
void SafeGraph::ForgetOlderHalf() {
  const TaskId end = next_ - options_.window.tasks / 2;
  for (; oldest_ < end; ++oldest_) {
    TaskRecord& record = RecordOf(oldest_);
    if (record.state == TaskState::kDone) continue;
    if (record.state == TaskState::kReady) --ready_;
    if (record.state == TaskState::kRunning) --running_;
    Retire(record, 0);
  }
  AdvanceOldest();
  RemoveReady([end](TaskId task) { return task < end; });
}

void SafeGraph::Stalled() const {
  RequireProgress();
  if (GateOpen() || running_ > 0) return;
  throw BadInput(
      "task graph: the window of {} tasks is full before the start policy lets the first one run; "
      "use a larger window or a lower threshold",
      options_.window.tasks);
}

void SafeGraph::RequireProgress() const {
  if (ready_ > 0 || running_ > 0) return;
  for (TaskId task = oldest_; task < next_; ++task) {
    const TaskRecord& record = RecordOf(task);
    if (record.state == TaskState::kDone) continue;
    throw BadInput(
        "task graph: nothing is ready or running, and {} tasks have not completed; the oldest is "
        "task {} ('{}'), which is {}",
        active_, task, FunctionName(record.function), ToText(record.state));
  }
}

}  // namespace spyre::runtime
