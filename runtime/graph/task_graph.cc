// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/task_graph.h"

#include <utility>

#include "base/error.h"
#include "runtime/graph/safe_graph.h"
#include "runtime/graph/strict_graph.h"
#include "runtime/graph/task_costs.h"

namespace spyre::runtime {
namespace {

constexpr size_t kStrictQueueLimit = 65536;

}  // namespace

std::string ToText(const Diagnostic& diagnostic) {
  switch (diagnostic.kind) {
    case Diagnostic::Kind::kNoSuchTask:
      return fmt::format("there is no task {}; ignored", diagnostic.value);
    case Diagnostic::Kind::kTooManyArguments:
      return fmt::format("task {} has no room for another argument; ignored", diagnostic.value);
    case Diagnostic::Kind::kFanoutFull:
      return fmt::format("task {} has no room for another consumer, which will wait for ever",
                         diagnostic.value);
    case Diagnostic::Kind::kWindowFull:
      return fmt::format("the window is full at task {}; orchestration aborted", diagnostic.value);
    case Diagnostic::Kind::kQueueFull:
      return fmt::format("the ready queue is full; task {} is lost", diagnostic.value);
    case Diagnostic::Kind::kDeadlock:
      return fmt::format("{} tasks wait for tasks that never complete", diagnostic.value);
    case Diagnostic::Kind::kTooManyWorkers:
      return fmt::format("{} workers are more than there can be; fewer are simulated",
                         diagnostic.value);
  }
  return "";
}

std::unique_ptr<TaskGraph> TaskGraph::Create(const TaskGraphOptions& options) {
  CheckOptions(options);
  if (options.conformance == Conformance::kStrict) return std::make_unique<StrictGraph>(options);
  return std::make_unique<SafeGraph>(options);
}

TaskGraph::TaskGraph(const TaskGraphOptions& options)
    : options_(options),
      mask_(options.window.tasks - 1),
      records_(options.window.tasks),
      arguments_(new Argument[size_t{options.window.tasks} * options.max_args]) {
  SetPools(options.pools);
}

void TaskGraph::SetPools(uint32_t pools) {
  if (pools < 1 || pools > kMaxPools) {
    throw BadInput("task graph: pools is {}; it must be between 1 and {}", pools, kMaxPools);
  }
  if (pools < options_.pools) {
    throw BadInput("task graph: {} pools instead of {}; pools can only be added", pools,
                   options_.pools);
  }
  if (options_.conformance == Conformance::kSafe && scheduled_ > 0) {
    throw BadInput("task graph: {} pools instead of {} after the first task", pools,
                   options_.pools);
  }
  options_.pools = pools;
  const size_t limit = options_.conformance == Conformance::kStrict ? kStrictQueueLimit : 0;
  while (queues_.size() < (pools == 1 ? 1 : 1 + pools)) {
    queues_.push_back(MakeReadyQueue(options_.ready, options_.workers, limit));
  }
}

FunctionId TaskGraph::Function(std::string_view name) {
  const auto [entry, added] =
      function_ids_.try_emplace(std::string(name), static_cast<FunctionId>(functions_.size()));
  if (added) functions_.push_back({entry->first, DefaultCycles(name)});
  return entry->second;
}

const std::string& TaskGraph::FunctionName(FunctionId function) const {
  return functions_.at(static_cast<size_t>(function)).name;
}

TaskId TaskGraph::Alloc(const TaskSpec& spec) {
  if (spec.pool >= options_.pools && (options_.pools > 1 || spec.pool >= kMaxPools)) {
    throw BadInput("task graph: no pool {}; there are {}", spec.pool, options_.pools);
  }
  if (spec.function < 0 || static_cast<size_t>(spec.function) >= functions_.size()) {
    throw BadInput("task graph: no function {}; TaskGraph::Function makes them", spec.function);
  }
  if (spec.cycles >= 0) CheckCycles(spec.cycles);
  if (aborted_) return kNoTask;  // for good, also when there is room again
  if (next_ - oldest_ > mask_) {
    switch (options_.window.overflow) {
      case WindowOverflow::kStall:
        Stalled();
        return kNoTask;
      case WindowOverflow::kAbort:
        if (!aborted_) Note(Diagnostic::Kind::kWindowFull, next_);
        aborted_ = true;
        return kNoTask;
      case WindowOverflow::kBenchmark:
        ForgetOlderHalf();
    }
  }
  const TaskId task = next_++;
  TaskRecord& record = RecordOf(task);
  consumers_.Clear(record);
  record.id = task;
  record.earliest_cycle = record.end_cycle = 0;
  record.cycles =
      spec.cycles >= 0 ? spec.cycles : functions_[static_cast<size_t>(spec.function)].cycles;
  record.fanin = 0;
  record.priority = spec.priority;
  record.function = spec.function;
  record.pool = static_cast<uint16_t>(spec.pool);
  record.state = TaskState::kOpen;
  record.args = 0;
  ++active_;
  ++scheduled_;
  return task;
}

Region& TaskGraph::WideOf(TaskId task, uint32_t index) {
  if (!wide_) wide_.reset(new Region[size_t{options_.window.tasks} * options_.max_args]);
  return wide_[ArgumentPlace(task, index)];
}

Region TaskGraph::RegionOf(TaskId task, uint32_t index) const {
  const size_t place = ArgumentPlace(task, index);
  return arguments_[place].wide ? wide_[place] : Region::Of(arguments_[place].region);
}

void TaskGraph::Enqueue(TaskId task, const TaskRecord& record, uint32_t worker) {
  if (!queues_[QueueOf(record.pool)]->Push(task, record.priority, worker)) {
    Note(Diagnostic::Kind::kQueueFull, task);
  }
}

TaskId TaskGraph::PopQueue(uint32_t queue, uint32_t worker) {
  if (queue >= queues_.size() || !GateOpen()) return kNoTask;
  const TaskId task = queues_[queue]->Pop(worker);
  if (task != kNoTask) Popped(task);
  return task;
}

std::vector<TaskId> TaskGraph::Ready(uint32_t queue) const {
  return queue < queues_.size() ? queues_[queue]->Contents() : std::vector<TaskId>();
}

TaskView TaskGraph::View(TaskId task) const {
  if (!Allocated(task)) throw BadInput("task graph: no task {}; there are {}", task, next_);
  const TaskRecord& record = RecordOf(task);
  TaskView view{record.id,
                SlotOf(task),
                record.fanin,
                record.state == TaskState::kDone,
                record.args,
                record.earliest_cycle,
                {}};
  view.fanout.reserve(record.fanout);
  consumers_.ForEach(record, [&view](TaskId consumer) { view.fanout.push_back(consumer); });
  return view;
}

std::vector<TaskArgument> TaskGraph::Arguments(TaskId task) const {
  if (!Allocated(task)) throw BadInput("task graph: no task {}; there are {}", task, next_);
  std::vector<TaskArgument> arguments;
  for (uint32_t i = 0; i < RecordOf(task).args; ++i) {
    arguments.push_back({arguments_[ArgumentPlace(task, i)].access, RegionOf(task, i)});
  }
  return arguments;
}

std::vector<Diagnostic> TaskGraph::TakeDiagnostics() { return std::exchange(diagnostics_, {}); }

std::vector<TaskGraph::Edge> TaskGraph::TakeEdges() { return std::exchange(edges_, {}); }

}  // namespace spyre::runtime
