#include "cosim/issue_workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cosim/bundle_workload.h"
#include "cosim/graph_workload.h"
#include "model/contract/error.h"
#include "runtime/compiler/decompose.h"
#include "runtime/compiler/front_end.h"

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedOp;
using compiler::NamedTensor;

// One operation taken out of its list, under names that depend on what it is alone: operations that
// compute the same on the same shapes and layouts give equal texts.
struct Single {
  NamedGraph graph;
  std::vector<int> tensors, dims;  // of the list, by position in graph.tensors and graph.dims
  std::string key;
};

constexpr const char* kResult = "out";

Single TakeOut(const NamedGraph& list, const NamedOp& op, const std::vector<int>& sticks) {
  Single single;
  NamedGraph& graph = single.graph;
  std::map<int, int> dims;
  const auto dim = [&](int index) {
    const auto [it, added] = dims.emplace(index, static_cast<int>(dims.size()));
    if (added) {
      single.dims.push_back(index);
      graph.dims.push_back(
          {fmt::format("d{}", it->second), list.dims[static_cast<size_t>(index)].size});
    }
    return it->second;
  };
  std::map<int, int> tensors;
  const auto tensor = [&](int index, bool is_output) {
    const auto [it, added] = tensors.emplace(index, static_cast<int>(tensors.size()));
    if (!added) return it->second;
    const NamedTensor& from = list.tensors[static_cast<size_t>(index)];
    NamedTensor to;
    to.name = is_output ? kResult : fmt::format("in{}", it->second);
    to.origin = is_output ? NamedTensor::Origin::kComputed : NamedTensor::Origin::kInput;
    if (from.origin == NamedTensor::Origin::kConstant) {
      to.origin = from.origin;
      to.value = from.value;
      to.name = from.name;
    }
    for (const int d : from.dims) to.dims.push_back(dim(d));
    const int stick = sticks[static_cast<size_t>(index)];
    if (!is_output) to.stick = stick >= 0 ? dim(stick) : stick;
    single.key += fmt::format(" {}[", to.name);
    for (const int d : to.dims)
      single.key += fmt::format(" {}={}", d, graph.dims[static_cast<size_t>(d)].size);
    single.key += fmt::format("|{}]", to.stick);
    graph.tensors.push_back(std::move(to));
    single.tensors.push_back(index);
    return it->second;
  };
  NamedOp copy;
  copy.op = op.op;
  copy.constants = op.constants;
  single.key = op.op;
  for (const auto& [name, value] : op.constants) single.key += fmt::format(" {}={}", name, value);
  for (const int input : op.inputs) {
    copy.inputs.push_back(tensor(input, false));
    single.key += fmt::format(" <-{}", copy.inputs.back());
  }
  copy.output = tensor(op.output, true);
  for (const int d : op.reduced) {
    copy.reduced.push_back(dim(d));
    single.key += fmt::format(" over {}", copy.reduced.back());
  }
  graph.outputs = {copy.output};
  graph.ops.push_back(std::move(copy));
  return single;
}

// What the front end made of an operation, and of the list, in order of the kernel's arguments.
struct Compiled {
  size_t kernel = 0;  // position in IssueWork::kernels
  std::vector<compiler::FrontEndArgument> arguments;
  int output_stick = NamedTensor::kNoChoice;  // position in Single::graph.dims, or kSparse
};

class Resolver {
 public:
  explicit Resolver(const RunConfig& config)
      : config_(config), graph_(std::make_shared<NamedGraph>(ReadGraph(config.workload, &keys_))) {
    if (graph_->hints.empty()) return;
    throw BadInput(
        "workload.hints are loops around operations, but workload.issue.mode = \"{}\" makes a "
        "kernel of each operation: leave them out, or use mode = \"program\"",
        config.workload.issue.mode);
  }

  Workload Resolve() {
    PlanInputs();
    for (size_t i = 0; i < graph_->ops.size(); ++i) AddTask(i);
    const auto plural = [](size_t count) { return count == 1 ? "" : "s"; };
    workload_.description =
        fmt::format("{} operation{} issued by {} as {} kernel{}", work_.tasks.size(),
                    plural(work_.tasks.size()), config_.workload.issue.mode, work_.kernels.size(),
                    plural(work_.kernels.size()));
    workload_.timing_only = !config_.workload.functional;
    workload_.graph = graph_;
    workload_.issue = std::make_shared<const IssueWork>(std::move(work_));
    return std::move(workload_);
  }

 private:
  // Inputs have the stick that the whole list wants; results get theirs as operations compile.
  void PlanInputs() {
    const NamedGraph planned = compiler::PlanSticks(compiler::Decompose(*graph_));
    sticks_.assign(graph_->tensors.size(), NamedTensor::kNoChoice);
    places_.assign(graph_->tensors.size(), -1);
    for (size_t i = 0; i < graph_->tensors.size(); ++i) {
      if (graph_->tensors[i].origin != NamedTensor::Origin::kInput) continue;
      const auto same =
          std::find_if(planned.tensors.begin(), planned.tensors.end(),
                       [&](const auto& other) { return other.name == graph_->tensors[i].name; });
      if (same != planned.tensors.end()) sticks_[i] = same->stick;  // dimensions are the same
    }
  }

  void AddTask(size_t index) {
    const NamedOp& op = graph_->ops[index];
    const Single single = TakeOut(*graph_, op, sticks_);
    const Compiled& compiled = Compile(op, single);
    IssueTask task;
    task.name = graph_->tensors[static_cast<size_t>(op.output)].name;
    task.kernel = compiled.kernel;
    for (const compiler::FrontEndArgument& argument : compiled.arguments) {
      task.tensors.push_back(argument.is_constant
                                 ? PlaceOfConstant(argument)
                                 : PlaceOf(single.tensors[static_cast<size_t>(argument.tensor)],
                                           argument.layout, task.name));
    }
    const int stick = compiled.output_stick;
    sticks_[static_cast<size_t>(op.output)] =
        stick < 0 ? stick : single.dims[static_cast<size_t>(stick)];
    task.stream = keys_[index].stream;
    task.after = keys_[index].after;
    work_.tasks.push_back(std::move(task));
  }

  const Compiled& Compile(const NamedOp& op, const Single& single) {
    const auto known = compiled_.find(single.key);
    if (known != compiled_.end()) return known->second;
    const compiler::FrontEndResult result =
        compiler::CompileNamedGraph(single.graph, GraphOptions(config_));
    Compiled compiled;
    compiled.kernel = work_.kernels.size();
    compiled.arguments = result.arguments;
    for (const NamedTensor& tensor : result.primitives.tensors)
      if (tensor.name == kResult) compiled.output_stick = tensor.stick;
    compiler::Bundle bundle = compiler::EmitBundle(result.source, compiler::DialectFor(result));
    const size_t same_op = ++kernels_of_[op.op];
    bundle.name = same_op == 1 ? op.op : fmt::format("{}_{}", op.op, same_op);
    RunConfig without_dims = config_;
    without_dims.workload.dims.clear();  // of the list, not of a bundle
    work_.kernels.push_back(
        MakeBundleWorkload(without_dims, std::move(bundle), ShapesOf(single.graph, result)));
    return compiled_.emplace(single.key, std::move(compiled)).first->second;
  }

  // Position in Workload::tensors of one of the list.
  int PlaceOf(int index, const StickLayout& layout, const std::string& task) {
    int& place = places_[static_cast<size_t>(index)];
    if (place >= 0) {
      const WorkloadTensor& tensor = workload_.tensors[static_cast<size_t>(place)];
      if (tensor.layout.device_size == layout.device_size &&
          tensor.layout.stride_map == layout.stride_map) {
        return place;
      }
      throw BadInput(
          "workload.ops: the operation that computes '{}' wants '{}' in another stick layout than "
          "the operations before it: give it two tensors, or both operations the same stick",
          task, tensor.name);
    }
    const NamedTensor& named = graph_->tensors[static_cast<size_t>(index)];
    WorkloadTensor tensor;
    tensor.name = named.name;
    tensor.is_input = named.origin == NamedTensor::Origin::kInput;
    tensor.is_output =
        std::find(graph_->outputs.begin(), graph_->outputs.end(), index) != graph_->outputs.end();
    tensor.shape = graph_->Shape(named);
    tensor.file = named.file;
    tensor.layout = layout;
    return place = Add(std::move(tensor));
  }

  // Constants of one value and layout are one tensor.
  int PlaceOfConstant(const compiler::FrontEndArgument& argument) {
    for (const WorkloadTensor& tensor : workload_.tensors) {
      if (tensor.constant == argument.value &&
          tensor.layout.device_size == argument.layout.device_size)
        return tensor.position;
    }
    WorkloadTensor tensor;
    tensor.name = argument.name;  // the number, which is no name of the list
    tensor.constant = argument.value;
    tensor.layout = argument.layout;
    return Add(std::move(tensor));
  }

  int Add(WorkloadTensor tensor) {
    tensor.position = static_cast<int>(workload_.tensors.size());
    workload_.tensors.push_back(std::move(tensor));
    return workload_.tensors.back().position;
  }

  const RunConfig& config_;
  std::vector<OpIssueKeys> keys_;
  std::shared_ptr<NamedGraph> graph_;
  std::vector<int> sticks_;                   // by position in the list's tensors
  std::vector<int> places_;                   // likewise: in Workload::tensors, -1: not there yet
  std::map<std::string, Compiled> compiled_;  // by Single::key
  std::map<std::string, size_t> kernels_of_;  // by operation
  IssueWork work_;
  Workload workload_;
};

}  // namespace

bool HasIssue(const WorkloadConfig& workload) {
  return HasGraph(workload) && workload.issue.mode != "program";
}

void CheckIssueKeys(const WorkloadConfig& workload) {
  const IssueConfig& issue = workload.issue;
  const IssueConfig usual;
  if (issue.mode != "program" && !HasGraph(workload)) {
    throw BadInput(
        "workload.issue.mode = \"{}\" makes a kernel of each operation of a list, and there is no "
        "list (workload.graph or workload.ops)",
        issue.mode);
  }
  const auto refuse = [&](const char* key, bool given, const std::vector<std::string>& modes) {
    if (!given || std::count(modes.begin(), modes.end(), issue.mode) != 0) return;
    throw BadInput("workload.issue.{} is for mode = \"{}\", and workload.issue.mode is \"{}\"", key,
                   fmt::join(modes, "\" or \""), issue.mode);
  };
  refuse("streams", issue.streams != usual.streams, {"streams", "task_graph"});
  refuse("dependencies", issue.dependencies != usual.dependencies, {"streams"});
  refuse("deps", issue.deps != usual.deps, {"task_graph"});
  refuse("release", issue.release != usual.release, {"task_graph"});
  refuse("window", issue.window != usual.window, {"task_graph"});
  if ((issue.window & (issue.window - 1)) != 0) {
    throw BadInput("workload.issue.window = {} tasks must be a power of two", issue.window);
  }
}

Workload ResolveIssue(const RunConfig& config) { return Resolver(config).Resolve(); }

}  // namespace spyre::cosim
