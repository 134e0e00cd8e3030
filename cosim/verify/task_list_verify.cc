// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/task_list_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/graph_reference.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/verify/op_list_verify.h"
#include "runtime/compiler/list/collectives.h"

namespace spyre::cosim {
namespace {

// On the host, with every bit of the card's.
DataFormat ExactFormat(const WorkloadTensor& tensor) {
  return tensor.layout.format == DataFormat::kSen169Fp16 ? DataFormat::kIeeeFp32
                                                         : tensor.host_format;
}
HostData Exact(const WorkloadTensor& tensor, const std::vector<uint8_t>& image) {
  return FromDeviceImage(tensor.layout, ExactFormat(tensor), image);
}

}  // namespace

TaskListVerifier::TaskListVerifier(const std::vector<WorkloadTensor>& tensors,
                                   const std::vector<HostData>& inputs)
    : tensors_(tensors), inputs_(inputs), images_(tensors.size()), host_(tensors.size()) {
  for (size_t i = 0; i < images_.size(); ++i) {
    const WorkloadTensor& tensor = tensors[i];
    if (tensor.is_input) images_[i] = ToDeviceImage(tensor.layout, tensor.host_format, inputs[i]);
  }
}

void TaskListVerifier::Run(const LaunchedBundle& kernel, const std::vector<int>& positions) {
  kernels_.insert(&kernel);
  BundleMemory memory = ReferenceMemory(kernel, false);
  const std::vector<int> arguments = TensorArguments(kernel.bundle);
  for (size_t i = 0; i < positions.size(); ++i) {
    if (kernel.tensors[i].is_input)
      memory.image(arguments[i]) = images_[static_cast<size_t>(positions[i])];
  }
  RunBundleReference(kernel.bundle, kernel.dimensions, memory);
  for (size_t i = 0; i < positions.size(); ++i) {
    if (kernel.tensors[i].is_output)
      images_[static_cast<size_t>(positions[i])] = std::move(memory.image(arguments[i]));
  }
}

HostData TaskListVerifier::OnHost(size_t tensor) const {
  if (tensors_[tensor].is_input) return inputs_[tensor];
  if (!host_[tensor].empty()) return host_[tensor];
  return FromDeviceImage(tensors_[tensor].layout, tensors_[tensor].host_format, images_[tensor]);
}

void TaskListVerifier::Run(const compiler::NamedGraph& operations, size_t op,
                           const std::vector<int>& positions) {
  compiler::NamedGraph alone = operations;
  alone.ops = {operations.ops[op]};
  alone.outputs = {alone.ops[0].output};
  std::map<int, DoubleTensor> values;
  size_t next = 0;
  for (const int input : alone.ops[0].inputs) {
    if (operations.tensors[static_cast<size_t>(input)].origin ==
        compiler::NamedTensor::Origin::kConstant)
      continue;
    const auto tensor = static_cast<size_t>(positions[next++]);
    values[input] = DeviceValues(tensors_[tensor], OnHost(tensor), {});
  }
  const DoubleTensor result = EvaluateGraph(alone, std::move(values)).at(alone.outputs[0]);
  const auto output = static_cast<size_t>(positions.back());
  const WorkloadTensor& tensor = tensors_[output];
  host_[output].resize(static_cast<size_t>(tensor.host_bytes()));
  StoreHost(tensor.host_format, result.data(), tensor.elements(), host_[output].data(), 0);
  images_[output] = ToDeviceImage(tensor.layout, tensor.host_format, host_[output]);
}

void TaskListVerifier::Run(const runtime::CollectiveCall& call, size_t card,
                           const CollectiveImages& images, const std::vector<int>& positions) {
  const auto operand = static_cast<size_t>(positions.front());
  const auto result = static_cast<size_t>(positions.back());
  const WorkloadTensor& tensor = tensors_[operand];
  Observed observed{operand,
                    result,
                    Exact(tensor, images.before),
                    Exact(tensor, images_[operand]),
                    {},
                    FromDeviceImage(tensor.layout, tensor.host_format, images.before)};
  if (runtime::Gathers(call.collective)) {
    images_[result] = images.result;
    std::copy(images.before.begin(), images.before.end(),
              images_[result].begin() + static_cast<ptrdiff_t>(card * call.bytes));
  } else if (operand != result) {
    const auto bytes = static_cast<size_t>(tensors_[result].layout.DeviceBytes());
    const auto begin = images.after.begin() + static_cast<ptrdiff_t>(card * bytes);
    images_[result].assign(begin, begin + static_cast<ptrdiff_t>(bytes));
  } else {
    images_[result] = images.after;
  }
  observed.after = Exact(tensors_[result], images_[result]);
  collectives_.push_back(std::move(observed));
}

Verification TaskListVerifier::CheckBits(const std::vector<HostData>& outputs,
                                         const CheckOptions& options) const {
  Verification result;
  result.tolerance = options.tolerance;
  for (size_t i = 0; i < images_.size(); ++i) {
    const WorkloadTensor& tensor = tensors_[i];
    if (!tensor.is_output) continue;
    CompareBits(tensor, outputs[i], OnHost(i), result);
  }
  for (const Observed& observed : collectives_) {
    WorkloadTensor tensor = tensors_[observed.operand];
    tensor.host_format = ExactFormat(tensor);
    CompareBits(tensor, observed.before, observed.expected, result);
  }
  result.reference = fmt::format(
      "bit-exact against the SDSC files of {} kernels executed element by element, {} elements",
      kernels_.size(), result.elements);
  return result;
}

// Between collectives the list is worked out in float64: what a collective takes is an output, and
// what it gives an input.
Verification TaskListVerifier::Check(const compiler::NamedGraph& operations,
                                     const std::vector<HostData>& outputs,
                                     const CheckOptions& options) const {
  Verification result = CheckBits(outputs, options);
  compiler::NamedGraph graph = operations;
  std::vector<WorkloadTensor> tensors = tensors_;
  std::vector<HostData> given = inputs_, got = outputs;
  graph.ops.clear();
  graph.hints.clear();
  const auto add = [&](int position, size_t as, bool is_input, const HostData& data) {
    WorkloadTensor tensor = tensors_[as];
    tensor.name = graph.tensors[static_cast<size_t>(position)].name;
    if (is_input) tensor.host_format = ExactFormat(tensor);
    tensor.is_input = is_input;
    tensor.is_output = !is_input;
    tensors.push_back(std::move(tensor));
    given.push_back(is_input ? data : HostData());
    got.push_back(is_input ? HostData() : data);
  };
  size_t collective = 0;
  for (const compiler::NamedOp& op : operations.ops) {
    if (!compiler::IsCollective(op)) {
      graph.ops.push_back(op);
      continue;
    }
    const Observed& observed = collectives_.at(collective++);
    graph.tensors[static_cast<size_t>(op.output)].origin = compiler::NamedTensor::Origin::kInput;
    auto& wanted = graph.outputs;
    wanted.erase(std::remove(wanted.begin(), wanted.end(), op.output), wanted.end());
    wanted.push_back(op.inputs[0]);
    tensors[observed.result].is_output = false;
    add(op.inputs[0], observed.operand, false, observed.on_host);
    add(op.output, observed.result, true, observed.after);
  }
  MeasureAgainstOperations(graph, tensors, given, got, options, result);
  return result;
}

}  // namespace spyre::cosim
