// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/task_list_verify.h"

#include <fmt/format.h>

#include <utility>

#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/verify/op_list_verify.h"

namespace spyre::cosim {

TaskListVerifier::TaskListVerifier(const std::vector<WorkloadTensor>& tensors,
                                   const std::vector<HostData>& inputs)
    : tensors_(tensors), inputs_(inputs), images_(tensors.size()) {
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

Verification TaskListVerifier::CheckBits(const std::vector<HostData>& outputs,
                                         const CheckOptions& options) const {
  Verification result;
  result.tolerance = options.tolerance;
  for (size_t i = 0; i < images_.size(); ++i) {
    const WorkloadTensor& tensor = tensors_[i];
    if (!tensor.is_output) continue;
    CompareBits(tensor, outputs[i], FromDeviceImage(tensor.layout, tensor.host_format, images_[i]),
                result);
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
