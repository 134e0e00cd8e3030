// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/task_list_run.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

#include "base/error.h"
#include "cosim/host_operations/host_operation.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace spyre::cosim {
namespace {

bool IsTaskGraph(const IssueConfig& config) { return config.mode == IssueMode::kTaskGraph; }

// For PlanTasks. A task graph is given the steps in order of the list, and finds streams itself.
uint32_t PlannedStreams(const IssueConfig& config) {
  const bool one = IsTaskGraph(config) || config.dependencies == StreamDependencies::kOneStream;
  return one ? 0 : static_cast<uint32_t>(config.streams);
}

// Streams of a task graph that may launch kernels.
size_t LaunchStreams(const IssueConfig& config) {
  if (config.release == runtime::Release::kEvents) return config.streams;
  return config.streams_per_unit * (config.pools == TaskPools::kOne ? runtime::kUnits : 1);
}

runtime::GraphIssueOptions GraphOptionsOf(const IssueConfig& config) {
  runtime::GraphIssueOptions options;
  options.graph.deps = runtime::DependenciesOf(config.deps);
  options.graph.window.tasks = static_cast<uint32_t>(config.window);
  options.graph.window.overflow = runtime::WindowOverflowOf(config.overflow);
  options.graph.ready = runtime::ReadyPolicyOf(config.ready);
  options.graph.start =
      config.start == TaskStart::kAfterOrchestration
          ? runtime::StartPolicy::AfterOrchestration()
          : runtime::StartPolicy::Threshold(static_cast<int64_t>(config.threshold));
  options.release = config.release;
  options.streams = static_cast<uint32_t>(config.streams);
  options.dispatch = config.dispatch;
  options.streams_per_unit = static_cast<uint32_t>(config.streams_per_unit);
  options.pool_by_unit = config.pools == TaskPools::kByUnit;
  options.pacing = PacingOf(config);
  return options;
}

runtime::Unit UnitOf(TaskStep::Kind kind) {
  switch (kind) {
    case TaskStep::Kind::kCopyIn:
      return runtime::Unit::kDmaIn;
    case TaskStep::Kind::kCopyOut:
      return runtime::Unit::kDmaOut;
    case TaskStep::Kind::kLaunch:
    case TaskStep::Kind::kHost:
    case TaskStep::Kind::kCollective:
      break;
  }
  return runtime::Unit::kCores;
}

// The same memory as a kernel sees it, in a layout of as many bytes: heads may be a dimension of
// their own.
runtime::SpyreTensor ViewOf(const runtime::SpyreTensor& tensor, const StickLayout& layout) {
  if (tensor.layout.host_size == layout.host_size) return tensor;
  if (static_cast<uint64_t>(layout.DeviceBytes()) != tensor.size_bytes)
    throw InternalError("{} is seen in {} bytes", ToString(tensor), layout.DeviceBytes());
  runtime::SpyreTensor view = runtime::TensorAt(tensor.device_handle, layout);
  view.storage = tensor.storage;
  return view;
}

}  // namespace

std::string KernelDirectory(const std::string& directory, const BundlePlan& kernel) {
  return (std::filesystem::path(directory) / kernel.launched.bundle.name).string();
}

TaskListRun::TaskListRun(flex::RuntimeContext& context, const TaskListPlan& list,
                         const std::string& directory, RunTensors& tensors)
    : list_(list),
      tensors_(tensors),
      context_(context),
      steps_(PlanTasks(list, PlannedStreams(list.issue))),
      programs_(list.kernels.size()) {
  summary_.mode = Name(list.issue.mode);
  summary_.tasks = list_.tasks.size();
  for (const Task& task : list_.tasks) {
    if (!task.host_op && !task.collective) continue;
    --summary_.tasks;
    if (task.host_op && IsTaskGraph(list.issue)) {
      throw BadInput(
          "'{}' is computed by the host, which waits for the card: a task graph has no such task; "
          "use workload.issue.mode = \"streams\" or \"program\"",
          task.name);
    }
  }
  summary_.kernels = list_.kernels.size();
  for (const TaskStep& step : steps_) {
    const bool copies =
        step.kind == TaskStep::Kind::kCopyIn || step.kind == TaskStep::Kind::kCopyOut;
    if (copies) ++summary_.copies;
    if (IsTaskGraph(list.issue)) continue;
    streams_.try_emplace(step.stream, context, context.Stream(step.stream));
    summary_.waits += step.waits.size();
  }
  AddPrograms(directory);
  PlaceParts();
}

void TaskListRun::PlaceParts() {
  for (size_t i = 0; i < list_.tasks.size(); ++i) {
    const Task& task = list_.tasks[i];
    if (!task.collective) continue;
    if (tensors_.collectives == nullptr)
      throw InternalError("'{}' is for several cards", task.name);
    const runtime::CollectiveCall& call = *task.collective;
    runtime::SpyreTensor& data = tensors_.device[static_cast<size_t>(task.tensors.front())];
    runtime::SpyreTensor& result = tensors_.device[static_cast<size_t>(task.tensors.back())];
    const auto part_in = [&](const runtime::SpyreTensor& whole, const runtime::SpyreTensor& part) {
      const uint64_t offset = tensors_.collectives->card() * part.size_bytes;
      runtime::SpyreTensor placed = runtime::TensorAt(
          flex::Offset(whole.device_handle, static_cast<int64_t>(offset)), part.layout);
      placed.storage = whole.storage;
      return placed;
    };
    if (runtime::Gathers(call.collective)) {
      data = part_in(result, data);
    } else if (task.tensors.size() > 1) {
      result = part_in(data, result);
    }
    collective_of_[i] = collectives_.size();
    collectives_.push_back({call, data.device_handle, {}});
    if (runtime::Gathers(call.collective)) collectives_.back().result = result.device_handle;
  }
}

// One copy for each stream of a kernel; a task graph may put every launch on a stream of its own.
void TaskListRun::AddPrograms(const std::string& directory) {
  std::vector<std::set<size_t>> users(list_.kernels.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kind != TaskStep::Kind::kLaunch) continue;
    const size_t kernel = list_.tasks[steps_[i].subject].kernel;
    users[kernel].insert(IsTaskGraph(list_.issue) ? i : steps_[i].stream);
  }
  for (size_t kernel = 0; kernel < users.size(); ++kernel) {
    const size_t copies = IsTaskGraph(list_.issue)
                              ? std::min<size_t>(users[kernel].size(), LaunchStreams(list_.issue))
                              : users[kernel].size();
    for (size_t i = 0; i < copies; ++i) {
      programs_[kernel].plans.push_back(std::make_unique<runtime::ExecutionPlan>(
          KernelDirectory(directory, list_.kernels[kernel])));
    }
    summary_.program_copies += copies;
  }
}

void TaskListRun::CopyInputs() {
  if (!list_.loads_resident) return;
  runtime::SpyreStream stream = runtime::SpyreStream::Default(context_);
  for (const int position : list_.resident) {
    const auto i = static_cast<size_t>(position);
    const WorkloadTensor& tensor = list_.tensors[i];
    const void* host = tensors_.inputs.empty() ? nullptr : tensors_.inputs[i].data();
    runtime::CopyTensorToDevice(stream, tensors_.device[i], host, tensor.host_format, tensor.name);
    ++summary_.copies;
  }
}

void TaskListRun::LoadPrograms() {
  runtime::SpyreStream stream = runtime::SpyreStream::Default(context_);
  for (Programs& programs : programs_)
    for (auto& plan : programs.plans) runtime::LoadPlan(stream, *plan);
  if (!collectives_.empty()) tensors_.collectives->Prepare(collectives_);
}

void TaskListRun::Launch() {
  if (IsTaskGraph(list_.issue)) {
    EnqueueTaskGraph();
  } else {
    EnqueueOnStreams();
  }
  for (const auto& [stream, tasks] : summary_.tasks_of) summary_.streams.push_back(stream);
}

void TaskListRun::EnqueueOnStreams() {
  const bool signal = list_.issue.dependencies == StreamDependencies::kEvents;
  runtime::IssuePacer pacer(context_, PacingOf(list_.issue));
  for (const size_t i : OrderOfSteps()) {
    const TaskStep& step = steps_[i];
    runtime::SpyreStream& stream = streams_.at(step.stream);
    if (step.kind == TaskStep::Kind::kHost || step.kind == TaskStep::Kind::kCollective) {
      pacer.Flush();
      WaitForAll(step);
      if (step.kind == TaskStep::Kind::kHost) {
        ComputeTask(step);
      } else {
        tensors_.collectives->Run(collective_of_.at(step.subject));
      }
      if (signal && step.signals)
        stream.flex_stream().Record(events_.try_emplace(i, context_, NameOf(step)).first->second);
      continue;
    }
    if (signal) pacer.Begin();
    if (!signal && !step.waits.empty()) pacer.Flush();  // the host will wait
    for (const size_t earlier : step.waits) WaitFor(stream, earlier);
    if (!signal) pacer.Begin();
    EnqueueStep(stream, step);
    if (signal && step.signals)
      stream.flex_stream().Record(events_.try_emplace(i, context_, NameOf(step)).first->second);
    pacer.End();
  }
  pacer.Flush();
}

std::vector<size_t> TaskListRun::OrderOfSteps() const {
  std::vector<size_t> order(steps_.size());
  std::iota(order.begin(), order.end(), 0);
  if (list_.issue.timing != runtime::IssueTiming::kInterleaved) return order;
  std::vector<runtime::InterleavedTask> tasks;
  tasks.reserve(steps_.size());
  for (const TaskStep& step : steps_) tasks.push_back({step.stream, step.waits});
  return runtime::InterleavedOrder(tasks, list_.issue.batch);
}

void TaskListRun::WaitFor(runtime::SpyreStream& stream, size_t step) {
  if (list_.issue.dependencies == StreamDependencies::kEvents) {
    stream.flex_stream().Wait(events_.at(step));
  } else {
    streams_.at(steps_[step].stream).Synchronize();
  }
}

void TaskListRun::EnqueueTaskGraph() {
  const std::unique_ptr<runtime::Issuer> issuer =
      runtime::Issue::TaskGraph(context_, GraphOptionsOf(list_.issue));
  std::vector<runtime::TaskId> number(list_.tasks.size());  // of the launches
  for (const TaskStep& step : steps_) {
    runtime::IssuedTask task;
    task.name = NameOf(step);
    task.unit = UnitOf(step.kind);
    task.accesses = AccessesOf(step);
    task.enqueue = [&](runtime::SpyreStream& stream) { EnqueueStep(stream, step); };
    if (step.kind == TaskStep::Kind::kLaunch) {
      const Task& launched = list_.tasks[step.subject];
      task.stream = launched.stream;
      task.priority = launched.priority;
      for (const size_t earlier : launched.after) task.after.push_back(number[earlier]);
    }
    const runtime::TaskId id = issuer->Submit(std::move(task));
    if (step.kind == TaskStep::Kind::kLaunch) number[step.subject] = id;
  }
  issuer->Synchronize();
  summary_.waits = issuer->Counts().waits;
  summary_.edges = issuer->Counts().edges;
}

std::vector<runtime::TensorAccess> TaskListRun::AccessesOf(const TaskStep& step) const {
  if (step.kind == TaskStep::Kind::kCopyIn)
    return {{tensors_.device[step.subject], runtime::Access::kOut}};
  if (step.kind == TaskStep::Kind::kCopyOut)
    return {{tensors_.device[step.subject], runtime::Access::kIn}};
  const Task& task = list_.tasks[step.subject];
  const std::vector<WorkloadTensor>& roles = list_.kernels[task.kernel].launched.tensors;
  std::vector<runtime::TensorAccess> accesses;
  for (size_t i = 0; i < task.tensors.size(); ++i) {
    const runtime::Access access = roles[i].is_input && roles[i].is_output ? runtime::Access::kInOut
                                   : roles[i].is_output                    ? runtime::Access::kOut
                                                                           : runtime::Access::kIn;
    accesses.push_back({tensors_.device[static_cast<size_t>(task.tensors[i])], access});
  }
  return accesses;
}

void TaskListRun::EnqueueStep(runtime::SpyreStream& stream, const TaskStep& step) {
  const auto data = [&] {
    HostData* const host = HostDataOf(step.subject);
    return host == nullptr ? nullptr : host->data();
  };
  switch (step.kind) {
    case TaskStep::Kind::kCopyIn:
      runtime::CopyTensorToDevice(stream, tensors_.device[step.subject], data(),
                                  list_.tensors[step.subject].host_format, NameOf(step));
      break;
    case TaskStep::Kind::kLaunch:
      LaunchTask(stream, list_.tasks[step.subject]);
      break;
    case TaskStep::Kind::kCopyOut:
      runtime::CopyTensorFromDevice(stream, tensors_.device[step.subject], data(),
                                    list_.tensors[step.subject].host_format, NameOf(step));
      break;
    case TaskStep::Kind::kHost:
    case TaskStep::Kind::kCollective:
      break;  // not enqueued
  }
}

HostData* TaskListRun::HostDataOf(size_t tensor) {
  if (tensors_.inputs.empty()) return nullptr;
  const WorkloadTensor& of = list_.tensors[tensor];
  if (of.is_input) return &tensors_.inputs[tensor];
  if (of.is_output) return &tensors_.outputs[tensor];
  HostData& staged = staged_[tensor];
  staged.resize(static_cast<size_t>(of.host_bytes()));
  return &staged;
}

void TaskListRun::WaitForAll(const TaskStep& step) {
  streams_.at(step.stream).Synchronize();
  for (const size_t earlier : step.waits) streams_.at(steps_[earlier].stream).Synchronize();
}

void TaskListRun::ComputeTask(const TaskStep& step) {
  const Task& task = list_.tasks[step.subject];
  const compiler::NamedGraph& graph = *list_.operations;
  const compiler::NamedOp& op = graph.ops[*task.host_op];
  if (!tensors_.inputs.empty()) {
    std::vector<const HostData*> operands;
    size_t next = 0;
    for (const int input : op.inputs) {
      const bool is_number = graph.tensors[static_cast<size_t>(input)].origin ==
                             compiler::NamedTensor::Origin::kConstant;
      operands.push_back(is_number ? nullptr
                                   : HostDataOf(static_cast<size_t>(task.tensors[next++])));
    }
    HostData result = ComputeOnHost(graph, op, operands);
    std::copy(result.begin(), result.end(),
              HostDataOf(static_cast<size_t>(task.tensors.back()))->begin());
  }
  const uint64_t before = context_.NowPs();
  context_.ChargeHostOperation(op.op, HostOperationBytes(graph, op));
  summary_.host_operations.push_back({task.name, op.op, context_.NowPs() - before});
}

std::string TaskListRun::NameOf(const TaskStep& step) const {
  const bool copies = step.kind == TaskStep::Kind::kCopyIn || step.kind == TaskStep::Kind::kCopyOut;
  return !copies ? list_.tasks[step.subject].name : list_.tensors[step.subject].name;
}

void TaskListRun::LaunchTask(runtime::SpyreStream& stream, const Task& task) {
  const std::vector<WorkloadTensor>& roles = list_.kernels[task.kernel].launched.tensors;
  std::vector<runtime::SpyreTensor> arguments;
  for (size_t i = 0; i < task.tensors.size(); ++i) {
    const runtime::SpyreTensor& tensor = tensors_.device[static_cast<size_t>(task.tensors[i])];
    arguments.push_back(ViewOf(tensor, roles[i].layout));
  }
  const uint32_t index = stream.flex_stream().stream_index();
  Programs& programs = programs_[task.kernel];
  const size_t next = programs.of_stream.size() % programs.plans.size();
  const size_t plan = programs.of_stream.try_emplace(index, next).first->second;
  summary_.tasks_of[index].push_back(task.name);
  runtime::LaunchKernel(stream, *programs.plans[plan], arguments, {},
                        list_.kernels[task.kernel].launched.dimensions);
}

}  // namespace spyre::cosim
