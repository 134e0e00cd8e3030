// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/task_list_verify.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "cosim/reference/graph_reference.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/verify/op_list_verify.h"

namespace spyre::cosim {

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

Verification TaskListVerifier::CheckBits(const std::vector<HostData>& outputs,
                                         const CheckOptions& options) const {
  Verification result;
  result.tolerance = options.tolerance;
  for (size_t i = 0; i < images_.size(); ++i) {
    const WorkloadTensor& tensor = tensors_[i];
    if (!tensor.is_output) continue;
    CompareBits(tensor, outputs[i], OnHost(i), result);
  }
  result.reference = fmt::format(
      "bit-exact against the SDSC files of {} kernels executed element by element, {} elements",
      kernels_.size(), result.elements);
  return result;
}

Verification TaskListVerifier::Check(const compiler::NamedGraph& operations,
                                     const std::vector<HostData>& outputs,
                                     const CheckOptions& options) const {
  Verification result = CheckBits(outputs, options);
  MeasureAgainstOperations(operations, tensors_, inputs_, outputs, options, result);
  return result;
}

}  // namespace spyre::cosim
