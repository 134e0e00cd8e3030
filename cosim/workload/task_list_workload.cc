// SPDX-License-Identifier: Apache-2.0
// It is in one file because kernels, what the host computes and what cards do together share one
// table of places and sticks.
#include "cosim/workload/task_list_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/ranges.h"
#include "cosim/config/effect.h"
#include "cosim/verify/task_list_verify.h"
#include "cosim/workload/bundle_workload.h"
#include "cosim/workload/op_list_kernel.h"
#include "cosim/workload/op_list_part.h"
#include "cosim/workload/op_list_workload.h"
#include "cosim/workload/task_list_run.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/list/collectives.h"
#include "runtime/compiler/list/dead_code.h"
#include "runtime/compiler/list/decompose.h"
#include "runtime/compiler/list/list_uses.h"
#include "runtime/compiler/list/promote_types.h"

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedOp;
using compiler::NamedTensor;

// What the front end made of a part of the list, in order of the kernel's arguments.
struct CompiledPart {
  size_t kernel = 0;  // position in TaskListPlan::kernels
  std::vector<compiler::FrontEndArgument> arguments;
  // Of each output: position in OpListPart::graph.dims, or kSparse.
  std::vector<int> output_sticks;
};

const char* Plural(size_t count) { return count == 1 ? "" : "s"; }

class TaskListPlanner {
 public:
  explicit TaskListPlanner(const RunConfig& config)
      : TaskListPlanner(config, ReadWholeOpList(config.workload)) {}

  TaskListPlan PlanOneByOne() {
    CheckIssue(config_.workload.issue);
    if (!graph_->hints.empty()) {
      throw BadInput(
          "workload.hints are loops around operations, but workload.issue.mode = \"{}\" makes a "
          "kernel of each operation: leave them out, or use mode = \"program\"",
          Name(config_.workload.issue.mode));
    }
    if (!own_plan_.empty()) {
      throw BadInput(
          "the list has a plan, which is of one program, but workload.issue.mode = \"{}\" makes a "
          "kernel of each operation: leave it out, or use mode = \"program\"",
          Name(config_.workload.issue.mode));
    }
    PlanInputs();
    for (size_t i = 0; i < graph_->ops.size(); ++i) {
      Task& task = AddTask({i});
      task.stream = keys_[i].stream;
      task.priority = keys_[i].priority;
      task.after = keys_[i].after;
    }
    plan_.issue = config_.workload.issue;
    return Finish(fmt::format("{} operation{} issued by {} as {} kernel{}", plan_.tasks.size(),
                              Plural(plan_.tasks.size()), Name(config_.workload.issue.mode),
                              plan_.kernels.size(), Plural(plan_.kernels.size())));
  }

  TaskListPlan PlanParts() {
    PlanInputs();
    CheckPlanNames(*graph_, own_plan_);
    for (const std::vector<size_t>& ops : PartsOf(*graph_, own_plan_)) AddTask(ops);
    const bool by_plan = !own_plan_.cuts.empty();
    plan_.issue.mode = IssueMode::kStreams;
    plan_.issue.dependencies = StreamDependencies::kOneStream;
    plan_.is_cut = true;
    const bool by_cards = compiler::HasCollective(*graph_);
    return Finish(fmt::format("{} operation{}, cut by {}, as {} kernel{}", graph_->ops.size(),
                              Plural(graph_->ops.size()),
                              by_plan    ? "its plan"
                              : by_cards ? "what several cards do together"
                                         : "what the host computes",
                              plan_.kernels.size(), Plural(plan_.kernels.size())));
  }

 private:
  TaskListPlanner(const RunConfig& config, OpList list)
      : config_(config),
        keys_(std::move(list.keys)),
        own_plan_(std::move(list.plan)),
        graph_(std::make_shared<NamedGraph>(std::move(list.graph))) {
    EliminateDeadCode();
    compiler::CheckCollectives(*graph_, config_.cards.count);
    CopyOperandsOfCollectives();
  }

  void CopyOperandsOfCollectives() {
    const std::vector<size_t> origins = compiler::CopyOperandsOfCollectives(*graph_);
    std::vector<OpTaskKeys> keys;
    std::vector<size_t> position(keys_.size());  // behind a copy, of its collective
    for (size_t i = 0; i < origins.size(); ++i) {
      keys.push_back(keys_[origins[i]]);
      position[origins[i]] = i;
    }
    for (OpTaskKeys& key : keys)
      for (size_t& earlier : key.after) earlier = position[earlier];
    keys_ = std::move(keys);
  }

  // No kernel is made of what no output needs. What comes after such an operation comes after what
  // that one came after.
  void EliminateDeadCode() {
    plan_.decisions = compiler::ExplainDeadCode(*graph_);
    for (const compiler::Decision& decision : plan_.decisions)
      plan_.warnings.push_back(
          fmt::format("WARNING: '{}' is not computed: {}", decision.subject, decision.because));
    const std::vector<bool> live = compiler::LiveOperations(*graph_);
    std::vector<OpTaskKeys> keys;
    std::vector<std::vector<size_t>> stands_for;  // positions among the live, of each operation
    for (size_t i = 0; i < live.size(); ++i) {
      std::set<size_t> after;
      for (const size_t earlier : keys_[i].after)
        after.insert(stands_for[earlier].begin(), stands_for[earlier].end());
      stands_for.emplace_back(after.begin(), after.end());
      if (!live[i]) continue;
      keys.push_back(keys_[i]);
      keys.back().after = std::exchange(stands_for.back(), {keys.size() - 1});
    }
    keys_ = std::move(keys);
    *graph_ = compiler::EliminateDeadCode(*graph_);
    compiler::RequireNoExtern(*graph_);
  }

  TaskListPlan Finish(std::string description) {
    if (compiler::HasCollective(*graph_)) {  // inputs are on the cards, as those of one program
      for (const WorkloadTensor& tensor : plan_.tensors)
        if (tensor.is_input && !tensor.layout.device_size.empty())
          plan_.resident.push_back(tensor.position);
    }
    for (WorkloadTensor& tensor : plan_.tensors)
      if (tensor.layout.device_size.empty())  // no kernel sees it
        tensor.layout = DefaultLayout(tensor.shape, DeviceFormatOf(tensor.host_format));
    plan_.description = std::move(description);
    plan_.operations = graph_;
    return std::move(plan_);
  }

  // Inputs have the stick that the whole list wants; results get theirs as operations compile.
  void PlanInputs() {
    const NamedGraph planned =
        compiler::PlanSticks(compiler::PromoteTypes(compiler::Decompose(*graph_)));
    sticks_.assign(graph_->tensors.size(), NamedTensor::kNoChoice);
    places_.assign(graph_->tensors.size(), -1);
    for (size_t i = 0; i < graph_->tensors.size(); ++i) {
      if (graph_->tensors[i].origin != NamedTensor::Origin::kInput && !IsOfHost(i)) continue;
      const auto same = FindIf(planned.tensors, [&](const auto& other) {
        return other.name == graph_->tensors[i].name;
      });
      if (same != planned.tensors.end()) sticks_[i] = same->stick;  // dimensions are the same
    }
  }

  // Computed by the host.
  bool IsOfHost(size_t tensor) const {
    return AnyFits(graph_->ops, [&](const NamedOp& op) {
      return op.on_host && !compiler::IsCollective(op) && op.output == static_cast<int>(tensor);
    });
  }

  Task& AddHostTask(size_t position) {
    const NamedOp& op = graph_->ops[position];
    Task task;
    task.name = NameOf({position});
    task.host_op = position;
    for (const int input : op.inputs)
      if (graph_->tensors[static_cast<size_t>(input)].origin != NamedTensor::Origin::kConstant)
        task.tensors.push_back(PlaceOnHost(input));
    task.tensors.push_back(PlaceOnHost(op.output));
    plan_.tasks.push_back(std::move(task));
    return plan_.tasks.back();
  }

  // Its operand is of a kernel, or of another collective: it has a place and a layout.
  Task& AddCollective(size_t position) {
    const NamedOp& op = graph_->ops[position];
    const auto operand = static_cast<size_t>(op.inputs[0]);
    const auto output = static_cast<size_t>(op.output);
    const NamedTensor& result = graph_->tensors[output];
    if (KindOf(config_.workload) == WorkloadKind::kTaskGraph) {
      throw BadInput(
          "'{}' is what several cards do together, and the host waits for the card: a task graph "
          "has no such task; use workload.issue.mode = \"streams\" or \"program\"",
          result.name);
    }
    Task task;
    task.name = result.name;
    task.tensors = {places_[operand]};
    const StickLayout layout = plan_.tensors[static_cast<size_t>(places_[operand])].layout;
    task.collective = CollectiveCallOf(op, layout, config_.cards.algorithm);
    sticks_[output] =
        op.into >= 0 && sticks_[operand] == op.reduced[0] ? op.into : sticks_[operand];
    if (compiler::IsInPlace(op)) {
      WorkloadTensor& tensor = plan_.tensors[static_cast<size_t>(places_[operand])];
      places_[output] = places_[operand];
      tensor.name = result.name;
      tensor.is_output = IsOutput(op.output);
    } else {
      NamedTensor whole = result;
      whole.stick = sticks_[output];
      const StickLayout own = compiler::CallersLayout(*graph_, whole);
      const std::vector<int>& dims = graph_->tensors[operand].dims;
      const auto dim = std::find(dims.begin(), dims.end(), op.reduced[0]) - dims.begin();
      const bool scatters = op.op == "reduce_scatter";
      const int named = scatters ? op.reduced[0] : op.into;
      CheckPartsLieBehindEachOther(result.name, graph_->dims[static_cast<size_t>(named)].name,
                                   scatters ? layout : own, scatters ? own : layout,
                                   static_cast<int>(dim));
      task.tensors.push_back(places_[output] = AddTensor(op.output, own));
    }
    plan_.tasks.push_back(std::move(task));
    return plan_.tasks.back();
  }

  bool IsOutput(int tensor) const {
    const std::vector<int>& outputs = graph_->outputs;
    return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
  }

  Task& AddTask(const std::vector<size_t>& ops) {
    for (const size_t op : ops) {
      if (!graph_->ops[op].on_host) continue;
      const bool is_collective = compiler::IsCollective(graph_->ops[op]);
      if (ops.size() == 1) return is_collective ? AddCollective(op) : AddHostTask(op);
      throw BadInput("a loop is around '{}', which {}", NameOf({op}),
                     is_collective ? "several cards do together" : "the host computes");
    }
    const OpListPart part = TakeOut(*graph_, ops, sticks_, !own_plan_.empty());
    const std::string name = NameOf(ops);
    const CompiledPart& compiled = Compile(graph_->ops[ops[0]], name, part);
    Task task;
    task.name = name;
    task.kernel = compiled.kernel;
    for (const compiler::FrontEndArgument& argument : compiled.arguments) {
      task.tensors.push_back(argument.is_constant
                                 ? PlaceOfConstant(argument)
                                 : PlaceOf(part.tensors[static_cast<size_t>(argument.tensor)],
                                           argument.layout, task.name));
    }
    for (size_t i = 0; i < part.graph.outputs.size(); ++i) {
      const int output = part.tensors[static_cast<size_t>(part.graph.outputs[i])];
      const int stick = compiled.output_sticks[i];
      sticks_[static_cast<size_t>(output)] =
          stick < 0 ? stick : part.dims[static_cast<size_t>(stick)];
    }
    plan_.tasks.push_back(std::move(task));
    return plan_.tasks.back();
  }

  // Of its result; of several operations, of the first and the last.
  std::string NameOf(const std::vector<size_t>& ops) const {
    const auto result = [&](size_t op) {
      return graph_->tensors[static_cast<size_t>(graph_->ops[op].output)].name;
    };
    if (ops.size() == 1) return result(ops[0]);
    return fmt::format("{}..{}", result(ops.front()), result(ops.back()));
  }

  static std::vector<std::string> NamesOf(const OpListPart& part) {
    std::vector<std::string> names;
    for (const NamedOp& op : part.graph.ops)
      names.push_back(part.graph.tensors[static_cast<size_t>(op.output)].name);
    return names;
  }

  const CompiledPart& Compile(const NamedOp& op, const std::string& name, const OpListPart& part) {
    const auto known = compiled_.find(part.key);
    if (known != compiled_.end()) return known->second;
    const std::string kind = part.graph.ops.size() == 1 ? op.op : "part";
    const size_t earlier = kernels_of_[kind];
    OpListKernel kernel = CompileOpListKernel(
        config_, part.graph, earlier == 0 ? kind : fmt::format("{}_{}", kind, earlier + 1),
        compiler::PlanForPart(own_plan_, NamesOf(part)));
    kernels_of_[kind] = earlier + 1;
    CompiledPart compiled;
    compiled.kernel = plan_.kernels.size();
    compiled.arguments = std::move(kernel.arguments);
    compiled.output_sticks = std::move(kernel.output_sticks);
    for (const auto& lines : {part.warnings, kernel.warnings})
      for (const std::string& line : lines)
        plan_.warnings.push_back(fmt::format("{} (in {})", line, name));
    for (compiler::Decision& decision : kernel.decisions) {
      decision.subject += fmt::format(" (in {})", name);
      plan_.decisions.push_back(std::move(decision));
    }
    plan_.kernels.push_back(std::move(kernel.plan));
    return compiled_.emplace(part.key, std::move(compiled)).first->second;
  }

  // Position in TaskListPlan::tensors of one of the list.
  int PlaceOf(int index, const StickLayout& layout, const std::string& task) {
    int& place = places_[static_cast<size_t>(index)];
    if (place >= 0) {
      WorkloadTensor& tensor = plan_.tensors[static_cast<size_t>(place)];
      if (tensor.layout.device_size.empty()) tensor.layout = layout;  // only the host had it
      if (tensor.layout.device_size == layout.device_size &&
          tensor.layout.stride_map == layout.stride_map) {
        return place;
      }
      throw BadInput(
          "workload.ops: the operation that computes '{}' wants '{}' in another stick layout than "
          "the operations before it: give it two tensors, or both operations the same stick",
          task, tensor.name);
    }
    return place = AddTensor(index, layout);
  }

  // Of a tensor that a kernel reads or writes as well, it has that kernel's layout.
  int PlaceOnHost(int index) {
    int& place = places_[static_cast<size_t>(index)];
    return place >= 0 ? place : place = AddTensor(index, {});
  }

  int AddTensor(int index, const StickLayout& layout) {
    const NamedTensor& named = graph_->tensors[static_cast<size_t>(index)];
    WorkloadTensor tensor;
    tensor.name = named.name;
    tensor.is_input = named.origin == NamedTensor::Origin::kInput;
    tensor.is_output = IsOutput(index);
    tensor.shape = graph_->Shape(named);
    tensor.file = named.file;
    tensor.causal = named.causal;
    tensor.share = ShareOf(named);
    if (const int64_t limit = compiler::IndexLimit(*graph_, index); limit > 0)
      tensor.whole_below = limit;
    tensor.host_format = named.format;
    tensor.layout = layout;
    return Add(std::move(tensor));
  }

  // Constants of one value and layout are one tensor.
  int PlaceOfConstant(const compiler::FrontEndArgument& argument) {
    for (const WorkloadTensor& tensor : plan_.tensors) {
      if (tensor.constant == argument.value && tensor.host_format == argument.host_format &&
          tensor.layout.device_size == argument.layout.device_size)
        return tensor.position;
    }
    WorkloadTensor tensor;
    tensor.name = argument.name;  // the number, which is not a name of the list
    tensor.constant = argument.value;
    tensor.host_format = argument.host_format;
    tensor.layout = argument.layout;
    return Add(std::move(tensor));
  }

  int Add(WorkloadTensor tensor) {
    tensor.position = static_cast<int>(plan_.tensors.size());
    plan_.tensors.push_back(std::move(tensor));
    return plan_.tensors.back().position;
  }

  const RunConfig& config_;
  std::vector<OpTaskKeys> keys_;
  compiler::Plan own_plan_;  // of the list
  std::shared_ptr<NamedGraph> graph_;
  std::vector<int> sticks_;  // by position in the list's tensors
  std::vector<int> places_;  // likewise: in TaskListPlan::tensors, -1: not there yet
  std::map<std::string, CompiledPart> compiled_;  // by OpListPart::key
  std::map<std::string, size_t> kernels_of_;      // by operation
  TaskListPlan plan_;
};

}  // namespace

TaskListPlan PlanTaskList(const RunConfig& config) {
  TaskListPlanner planner(config);
  return KindOf(config.workload) == WorkloadKind::kOneProgram ? planner.PlanParts()
                                                              : planner.PlanOneByOne();
}

CompiledWorkload TaskListWorkload::Compile(const std::string& directory) {
  CompiledWorkload compiled;
  for (const BundlePlan& plan : plan_.kernels) {
    const compiler::Kernel kernel = CompileBundleKernel(plan);
    compiler::WriteSpyreCode(kernel, KernelDirectory(directory, plan));
    compiled.kernel_names.insert(kernel.name);
    compiled.lx[kernel.name] = {kernel.steps, kernel.lx};
    if (kernel.plan.cores_used > compiled.plan.cores_used) compiled.plan = kernel.plan;
  }
  compiled.directory = directory_ = directory;
  compiled.chunks.resize(plan_.tensors.size());
  return compiled;
}

std::unique_ptr<WorkloadRun> TaskListWorkload::Open(flex::RuntimeContext& context,
                                                    RunTensors& tensors) const {
  return std::make_unique<TaskListRun>(context, plan_, directory_, tensors);
}

Verification TaskListWorkload::Verify(const std::vector<HostData>& inputs,
                                      const std::vector<HostData>& outputs,
                                      const CheckOptions& options) const {
  TaskListVerifier verifier(plan_.tensors, inputs);
  size_t collective = 0;
  for (const Task& task : plan_.tasks) {
    if (task.collective) {
      if (options.collectives == nullptr) throw InternalError("'{}' was not observed", task.name);
      verifier.Run(*task.collective, options.card, options.collectives->at(collective++),
                   task.tensors);
    } else if (task.host_op) {
      verifier.Run(*plan_.operations, *task.host_op, task.tensors);
    } else {
      verifier.Run(plan_.kernels[task.kernel].launched, task.tensors);
    }
  }
  return verifier.Check(*plan_.operations, outputs, options);
}

std::vector<KernelFacts> TaskListWorkload::facts() const {
  std::vector<KernelFacts> facts;
  for (const BundlePlan& plan : plan_.kernels)
    if (plan.facts != nullptr) facts.push_back(*plan.facts);
  return facts;
}

std::vector<NamedCollective> TaskListWorkload::collectives() const {
  std::vector<NamedCollective> collectives;
  for (const Task& task : plan_.tasks)
    if (task.collective) collectives.push_back({task.name, *task.collective});
  return collectives;
}

compiler::Kernel TaskListWorkload::CompileKernel() const {
  if (plan_.is_cut) {
    throw BadInput(
        "the list of operations is cut into {} kernels, by its plan, by what the host computes or "
        "by what several cards do together; "
        "compile writes one, run leaves them all in its spyrecode directory",
        plan_.kernels.size());
  }
  throw BadInput(
      "workload.issue.mode = \"{}\" makes a program of each operation, and compile writes one; run "
      "leaves them all in its spyrecode directory, mode = \"program\" makes one of the list",
      Name(plan_.issue.mode));
}

std::unique_ptr<Workload> ResolveTaskList(const RunConfig& config) {
  return std::make_unique<TaskListWorkload>(PlanTaskList(config));
}

}  // namespace spyre::cosim
