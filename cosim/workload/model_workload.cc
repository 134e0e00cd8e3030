// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/model_workload.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "base/error.h"
#include "cosim/verify/decoder_verify.h"
#include "cosim/verify/task_list_verify.h"
#include "cosim/workload/decoder_kernels.h"
#include "cosim/workload/decoder_tables.h"
#include "cosim/workload/op_list_kernel.h"

namespace spyre::cosim {
namespace {

using Use = DecoderTensor::Use;

// A compiled kernel, and where its arguments come from.
struct PlacedKernel {
  struct Argument {
    size_t tensor = 0;        // of the step's, by position in DecoderStep::tensors
    int constant = kNoPlace;  // or in TaskListPlan::tensors
    static constexpr int kNoPlace = -1;
  };
  std::vector<Argument> arguments;  // in launch order
};

class ModelPlanner {
 public:
  explicit ModelPlanner(const RunConfig& config)
      : config_(config), stack_(BuildDecoderStack(DecoderSizesOf(config.workload.model))) {
    plan_.sizes = DecoderSizesOf(config.workload.model);
  }

  ModelPlan Plan() {
    const ModelConfig& model = config_.workload.model;
    if (!model.load_weights && config_.workload.functional) {
      throw BadInput(
          "workload.model.load_weights = false: a run with data (workload.functional = true) needs "
          "them; leave the key out, or set workload.functional = false");
    }
    AddTensors();
    Summarize();
    RefuseWhatDoesNotFit();
    for (const DecoderKernel& kernel : stack_.kernels) kernels_.push_back(Compile(kernel));
    for (const DecoderStep& step : stack_.steps) AddTask(step);
    TaskListPlan& list = plan_.list;
    list.issue.mode = IssueMode::kStreams;
    list.issue.dependencies = StreamDependencies::kOneStream;
    list.loads_resident = model.load_weights;
    const DecoderSizes& sizes = plan_.sizes;
    list.description = fmt::format(
        "decoder stack of {} layer{}: batch {}, {} new token{} each, context {}, as {} "
        "launches of {} kernels",
        sizes.layers, sizes.layers == 1 ? "" : "s", sizes.batch, sizes.sequence,
        sizes.sequence == 1 ? "" : "s", sizes.context, list.tasks.size(), list.kernels.size());
    return std::move(plan_);
  }

 private:
  void AddTensors() {
    const DecoderTables tables(plan_.sizes);
    for (const DecoderTensor& planned : stack_.tensors) {
      WorkloadTensor tensor;
      tensor.name = planned.name;
      tensor.is_input = planned.is_input;
      tensor.is_output = planned.is_output;
      tensor.shape = planned.shape;
      tensor.layout = DefaultLayout(planned.shape, DataFormat::kSen169Fp16);
      if (config_.workload.functional) GiveData(planned, tables, tensor);
      const int place = Add(std::move(tensor));
      if (planned.is_input && planned.use != Use::kActivation) plan_.list.resident.push_back(place);
    }
  }

  // Weights for which results keep the magnitude of what they are made of.
  void GiveData(const DecoderTensor& planned, const DecoderTables& tables,
                WorkloadTensor& tensor) const {
    if (planned.use == Use::kTable) {
      tensor.data = tables.Data(planned.name);
    } else if (planned.use == Use::kWeight && planned.shape.size() == 1) {
      tensor.mean = 1;
      tensor.scale = 0.25;
    } else if (planned.use == Use::kWeight) {
      const int64_t inputs =
          plan_.sizes.linear_weights ? planned.shape.back() : planned.shape.front();
      tensor.scale = std::sqrt(3.0 / static_cast<double>(inputs));
    }
  }

  int Add(WorkloadTensor tensor) {
    tensor.position = static_cast<int>(plan_.list.tensors.size());
    plan_.list.tensors.push_back(std::move(tensor));
    return plan_.list.tensors.back().position;
  }

  void Summarize() {
    const DecoderSizes& sizes = plan_.sizes;
    ModelSummary& summary = plan_.summary;
    summary.layers = static_cast<uint64_t>(sizes.layers);
    summary.batch = static_cast<uint64_t>(sizes.batch);
    summary.sequence = static_cast<uint64_t>(sizes.sequence);
    summary.context = static_cast<uint64_t>(sizes.context);
    summary.vocabulary = static_cast<uint64_t>(sizes.vocabulary);
    for (size_t i = 0; i < stack_.tensors.size(); ++i) {
      const WorkloadTensor& tensor = plan_.list.tensors[i];
      const auto bytes = static_cast<uint64_t>(tensor.layout.DeviceBytes());
      switch (stack_.tensors[i].use) {
        case Use::kWeight:
          summary.weight_bytes += bytes;
          summary.parameters += static_cast<uint64_t>(tensor.elements());
          break;
        case Use::kKvCache:
          summary.cache_bytes += bytes;
          break;
        case Use::kActivation:
          summary.activation_bytes += bytes;
          break;
        case Use::kTable:
          summary.table_bytes += bytes;
          break;
      }
    }
    for (const DecoderStep& step : stack_.steps)
      summary.tasks.push_back({step.layer, Name(stack_.kernels[step.kernel].part)});
  }

  void RefuseWhatDoesNotFit() const {
    const ModelSummary& m = plan_.summary;
    const uint64_t held = m.weight_bytes + m.cache_bytes + m.activation_bytes + m.table_bytes;
    const uint64_t usable = config_.card.usable_bytes();
    if (held <= usable) return;
    throw BadInput(
        "workload.model: {} bytes of weights, {} of KV cache (batch {}, context {}), {} of "
        "activations and {} of tables are {} bytes, the card has {} (card.memory.capacity_gib "
        "without card.memory.ecc_gib); use fewer layers, a smaller batch or a shorter context",
        m.weight_bytes, m.cache_bytes, m.batch, m.context, m.activation_bytes, m.table_bytes, held,
        usable)
        .Subject("workload.model")
        .Value(held)
        .Remedy(fmt::format("{} bytes at most", usable));
  }

  PlacedKernel Compile(const DecoderKernel& kernel) {
    PlacedKernel placed;
    if (const auto* copy = std::get_if<RowCopy>(&kernel.work)) {
      plan_.list.kernels.push_back(CompileRowCopy(config_, *copy, kernel.name));
      placed.arguments = {{0}, {1}};
      return placed;
    }
    const auto& graph = std::get<compiler::NamedGraph>(kernel.work);
    OpListKernel compiled = CompileOpListKernel(config_, graph, kernel.name);
    for (const compiler::FrontEndArgument& argument : compiled.arguments) {
      if (argument.is_constant) {
        placed.arguments.push_back({0, PlaceOfConstant(argument)});
      } else {
        placed.arguments.push_back({static_cast<size_t>(argument.tensor)});
      }
    }
    for (const std::string& line : compiled.warnings)
      plan_.list.warnings.push_back(fmt::format("{} (in {})", line, kernel.name));
    plan_.list.kernels.push_back(std::move(compiled.plan));
    return placed;
  }

  int PlaceOfConstant(const compiler::FrontEndArgument& argument) {
    for (size_t i = stack_.tensors.size(); i < plan_.list.tensors.size(); ++i)
      if (plan_.list.tensors[i].constant == argument.value) return static_cast<int>(i);
    WorkloadTensor tensor;
    tensor.name = argument.name;  // the number
    tensor.constant = argument.value;
    tensor.layout = argument.layout;
    plan_.summary.table_bytes += static_cast<uint64_t>(tensor.layout.DeviceBytes());
    const int place = Add(std::move(tensor));
    plan_.list.resident.push_back(place);
    return place;
  }

  void AddTask(const DecoderStep& step) {
    Task task;
    task.name = step.name;
    task.kernel = step.kernel;
    for (const PlacedKernel::Argument& argument : kernels_[step.kernel].arguments) {
      task.tensors.push_back(argument.constant != PlacedKernel::Argument::kNoPlace
                                 ? argument.constant
                                 : static_cast<int>(step.tensors[argument.tensor]));
    }
    plan_.list.tasks.push_back(std::move(task));
  }

  const RunConfig& config_;
  const DecoderStack stack_;
  std::vector<PlacedKernel> kernels_;  // by position in stack_.kernels
  ModelPlan plan_;
};

}  // namespace

ModelPlan PlanModel(const RunConfig& config) { return ModelPlanner(config).Plan(); }

Verification ModelWorkload::Verify(const std::vector<HostData>& inputs,
                                   const std::vector<HostData>& outputs,
                                   const CheckOptions& options) const {
  const TaskListPlan& list = tasks_.plan();
  TaskListVerifier verifier(list.tensors, inputs);
  for (const Task& task : list.tasks)
    verifier.Run(list.kernels[task.kernel].launched, task.tensors);
  Verification result = verifier.CheckBits(outputs, options);
  DecoderShape shape;
  shape.layers = sizes_.layers;
  shape.hidden = sizes_.hidden;
  shape.mlp = sizes_.mlp;
  shape.heads = sizes_.heads;
  shape.kv_heads = sizes_.kv_heads;
  shape.head_size = sizes_.head_size;
  shape.batch = sizes_.batch;
  shape.sequence = sizes_.sequence;
  shape.context = sizes_.context;
  shape.vocabulary = sizes_.vocabulary;
  MeasureAgainstDecoder(shape, sizes_.linear_weights, list.tensors, inputs, outputs, result);
  return result;
}

compiler::Kernel ModelWorkload::CompileKernel() const {
  throw BadInput(
      "a model is many programs, and compile writes one; run leaves them all in its spyrecode "
      "directory");
}

std::unique_ptr<Workload> ResolveModel(const RunConfig& config) {
  return std::make_unique<ModelWorkload>(PlanModel(config));
}

}  // namespace spyre::cosim
