#include "cosim/issue_verify.h"

#include <fmt/format.h>

#include "cosim/bundle_reference.h"
#include "cosim/bundle_verify.h"
#include "cosim/device_elements.h"
#include "cosim/graph_verify.h"
#include "cosim/issue_workload.h"

namespace spyre::cosim {
namespace {

using Images = std::vector<std::vector<uint8_t>>;  // device images, by tensor

void RunTask(const IssueTask& task, const Workload& kernel, Images& images) {
  const compiler::Bundle& bundle = kernel.bundle->bundle;
  BundleMemory memory = ReferenceMemory(kernel, false);
  const std::vector<int> arguments = TensorArguments(bundle);
  for (size_t i = 0; i < task.tensors.size(); ++i) {
    if (kernel.tensors[i].is_input)
      memory.image(arguments[i]) = images[static_cast<size_t>(task.tensors[i])];
  }
  RunBundleReference(bundle, kernel.bundle->dimensions, memory);
  for (size_t i = 0; i < task.tensors.size(); ++i) {
    if (kernel.tensors[i].is_output)
      images[static_cast<size_t>(task.tensors[i])] = std::move(memory.image(arguments[i]));
  }
}

}  // namespace

Verification VerifyIssue(const WorkloadConfig& config, const Workload& workload,
                         const std::vector<HostData>& inputs,
                         const std::vector<HostData>& outputs) {
  Images images(workload.tensors.size());
  for (size_t i = 0; i < images.size(); ++i) {
    const WorkloadTensor& tensor = workload.tensors[i];
    if (tensor.is_input) images[i] = ToDeviceImage(tensor.layout, tensor.host_format, inputs[i]);
  }
  for (const IssueTask& task : workload.issue->tasks)
    RunTask(task, workload.issue->kernels[task.kernel], images);
  Verification result;
  for (size_t i = 0; i < images.size(); ++i) {
    const WorkloadTensor& tensor = workload.tensors[i];
    if (!tensor.is_output) continue;
    CompareBits(tensor, outputs[i], FromDeviceImage(tensor.layout, tensor.host_format, images[i]),
                result);
  }
  result.reference = fmt::format(
      "bit-exact against the SDSC files of {} kernels executed element by element, {} elements",
      workload.issue->kernels.size(), result.elements);
  if (config.verify == "sample") return result;
  MeasureAgainstOperations(workload, inputs, outputs, result);
  result.reference += fmt::format("; error against the list of operations in float64 over {}",
                                  result.error_elements);
  return result;
}

}  // namespace spyre::cosim
