#include "cosim/issue_run.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "cosim/workload_run.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace spyre::cosim {
namespace {

std::filesystem::path DirectoryOf(const std::string& directory, const Workload& kernel) {
  return std::filesystem::path(directory) / kernel.bundle->bundle.name;
}

bool IsTaskGraph(const IssueConfig& config) { return config.mode == "task_graph"; }

// For PlanIssue. A task graph is given the steps in order of the list, and finds streams itself.
uint32_t PlannedStreams(const IssueConfig& config) {
  const bool one = IsTaskGraph(config) || config.dependencies == "one_stream";
  return one ? 0 : static_cast<uint32_t>(config.streams);
}

runtime::Unit UnitOf(IssueStep::Kind kind) {
  switch (kind) {
    case IssueStep::Kind::kCopyIn:
      return runtime::Unit::kDmaIn;
    case IssueStep::Kind::kCopyOut:
      return runtime::Unit::kDmaOut;
    case IssueStep::Kind::kLaunch:
      break;
  }
  return runtime::Unit::kCores;
}

}  // namespace

std::vector<compiler::Kernel> CompileIssue(const IssueWork& work, const std::string& directory) {
  std::vector<compiler::Kernel> kernels;
  for (const Workload& kernel : work.kernels) {
    kernels.push_back(CompileWorkload(kernel));
    compiler::WriteSpyreCode(kernels.back(), DirectoryOf(directory, kernel));
  }
  return kernels;
}

IssueRun::IssueRun(flex::RuntimeContext& context, const Workload& workload,
                   const IssueConfig& config, const std::string& directory)
    : workload_(workload),
      config_(config),
      work_(*workload.issue),
      context_(context),
      steps_(PlanIssue(workload.tensors, work_, PlannedStreams(config))),
      programs_(work_.kernels.size()) {
  summary_.mode = config.mode;
  summary_.tasks = work_.tasks.size();
  summary_.kernels = work_.kernels.size();
  for (const IssueStep& step : steps_) {
    if (step.kind != IssueStep::Kind::kLaunch) ++summary_.copies;
    if (IsTaskGraph(config)) continue;
    streams_.try_emplace(step.stream, context, context.Stream(step.stream));
    summary_.waits += step.waits.size();
  }
  AddPrograms(directory);
}

// One copy for each stream of a kernel; a task graph may put every launch on a stream of its own.
void IssueRun::AddPrograms(const std::string& directory) {
  std::vector<std::set<size_t>> users(work_.kernels.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kind != IssueStep::Kind::kLaunch) continue;
    const size_t kernel = work_.tasks[steps_[i].subject].kernel;
    users[kernel].insert(IsTaskGraph(config_) ? i : steps_[i].stream);
  }
  for (size_t kernel = 0; kernel < users.size(); ++kernel) {
    const size_t copies = IsTaskGraph(config_)
                              ? std::min<size_t>(users[kernel].size(), config_.streams)
                              : users[kernel].size();
    for (size_t i = 0; i < copies; ++i) {
      programs_[kernel].plans.push_back(
          std::make_unique<runtime::ExecutionPlan>(DirectoryOf(directory, work_.kernels[kernel])));
    }
    summary_.program_copies += copies;
  }
}

void IssueRun::Load() {
  runtime::SpyreStream stream = runtime::SpyreStream::Default(context_);
  for (Programs& programs : programs_)
    for (auto& plan : programs.plans) runtime::LoadPlan(stream, *plan);
}

void IssueRun::Enqueue(const Tensors& tensors, const std::vector<HostData>& inputs,
                       std::vector<HostData>& outputs) {
  if (IsTaskGraph(config_)) {
    EnqueueTaskGraph(tensors, inputs, outputs);
  } else {
    EnqueueOnStreams(tensors, inputs, outputs);
  }
  for (const auto& [stream, tasks] : summary_.tasks_of) summary_.streams.push_back(stream);
}

void IssueRun::EnqueueOnStreams(const Tensors& tensors, const std::vector<HostData>& inputs,
                                std::vector<HostData>& outputs) {
  const bool signal = config_.dependencies == "events";
  for (size_t i = 0; i < steps_.size(); ++i) {
    const IssueStep& step = steps_[i];
    runtime::SpyreStream& stream = streams_.at(step.stream);
    for (const size_t earlier : step.waits) WaitFor(stream, earlier);
    EnqueueStep(stream, step, tensors, inputs, outputs);
    if (!signal || !step.signals) continue;
    stream.flex_stream().Record(events_.try_emplace(i, context_, NameOf(step)).first->second);
  }
}

void IssueRun::WaitFor(runtime::SpyreStream& stream, size_t step) {
  if (config_.dependencies == "events") {
    stream.flex_stream().Wait(events_.at(step));
  } else {
    streams_.at(steps_[step].stream).Synchronize();
  }
}

void IssueRun::EnqueueTaskGraph(const Tensors& tensors, const std::vector<HostData>& inputs,
                                std::vector<HostData>& outputs) {
  runtime::GraphIssueOptions options;
  options.graph.deps = runtime::DependenciesOf(config_.deps);
  options.graph.window.tasks = static_cast<uint32_t>(config_.window);
  options.release = runtime::ReleaseFromName(config_.release);
  options.streams = static_cast<uint32_t>(config_.streams);
  const std::unique_ptr<runtime::Issuer> issuer = runtime::Issue::TaskGraph(context_, options);
  std::vector<runtime::TaskId> number(work_.tasks.size());  // of the launches
  for (const IssueStep& step : steps_) {
    runtime::IssuedTask task;
    task.name = NameOf(step);
    task.unit = UnitOf(step.kind);
    task.accesses = AccessesOf(step, tensors);
    task.enqueue = [&](runtime::SpyreStream& stream) {
      EnqueueStep(stream, step, tensors, inputs, outputs);
    };
    if (step.kind == IssueStep::Kind::kLaunch) {
      for (const size_t earlier : work_.tasks[step.subject].after)
        task.after.push_back(number[earlier]);
    }
    const runtime::TaskId id = issuer->Submit(std::move(task));
    if (step.kind == IssueStep::Kind::kLaunch) number[step.subject] = id;
  }
  issuer->Synchronize();
  summary_.waits = issuer->Counts().waits;
  summary_.edges = issuer->Counts().edges;
}

std::vector<runtime::TensorAccess> IssueRun::AccessesOf(const IssueStep& step,
                                                        const Tensors& tensors) const {
  if (step.kind == IssueStep::Kind::kCopyIn)
    return {{tensors[step.subject], runtime::Access::kOut}};
  if (step.kind == IssueStep::Kind::kCopyOut)
    return {{tensors[step.subject], runtime::Access::kIn}};
  const IssueTask& task = work_.tasks[step.subject];
  const std::vector<WorkloadTensor>& roles = work_.kernels[task.kernel].tensors;
  std::vector<runtime::TensorAccess> accesses;
  for (size_t i = 0; i < task.tensors.size(); ++i) {
    const runtime::Access access = roles[i].is_input && roles[i].is_output ? runtime::Access::kInOut
                                   : roles[i].is_output                    ? runtime::Access::kOut
                                                                           : runtime::Access::kIn;
    accesses.push_back({tensors[static_cast<size_t>(task.tensors[i])], access});
  }
  return accesses;
}

void IssueRun::EnqueueStep(runtime::SpyreStream& stream, const IssueStep& step,
                           const Tensors& tensors, const std::vector<HostData>& inputs,
                           std::vector<HostData>& outputs) {
  const auto data = [&](auto& host) { return host.empty() ? nullptr : host[step.subject].data(); };
  switch (step.kind) {
    case IssueStep::Kind::kCopyIn:
      runtime::CopyTensorToDevice(stream, tensors[step.subject], data(inputs),
                                  workload_.tensors[step.subject].host_format, NameOf(step));
      break;
    case IssueStep::Kind::kLaunch:
      Launch(stream, work_.tasks[step.subject], tensors);
      break;
    case IssueStep::Kind::kCopyOut:
      runtime::CopyTensorFromDevice(stream, tensors[step.subject], data(outputs),
                                    workload_.tensors[step.subject].host_format, NameOf(step));
      break;
  }
}

std::string IssueRun::NameOf(const IssueStep& step) const {
  return step.kind == IssueStep::Kind::kLaunch ? work_.tasks[step.subject].name
                                               : workload_.tensors[step.subject].name;
}

void IssueRun::Launch(runtime::SpyreStream& stream, const IssueTask& task, const Tensors& tensors) {
  Tensors arguments;
  for (const int tensor : task.tensors) arguments.push_back(tensors[static_cast<size_t>(tensor)]);
  const uint32_t index = stream.flex_stream().stream_index();
  Programs& programs = programs_[task.kernel];
  const size_t next = programs.of_stream.size() % programs.plans.size();
  const size_t plan = programs.of_stream.try_emplace(index, next).first->second;
  summary_.tasks_of[index].push_back(task.name);
  runtime::LaunchKernel(stream, *programs.plans[plan], arguments, {},
                        work_.kernels[task.kernel].bundle->dimensions);
}

}  // namespace spyre::cosim
