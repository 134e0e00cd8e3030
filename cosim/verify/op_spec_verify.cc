// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/op_spec_verify.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "cosim/reference/device_elements.h"
#include "cosim/reference/op_spec_reference.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/verify/rounding_limits.h"

namespace spyre::cosim {
namespace {

using compiler::KernelSource;
using compiler::SpecNode;

// Additions and elements that "sample" may cost; the bits are compared in any case.
constexpr double kSourceSampleWork = 1 << 26;

// Numbers of the kernel's arguments, in order: those of the bundle's tensors.
void FindArguments(const std::vector<SpecNode>& nodes, std::set<int>& arguments) {
  for (const SpecNode& node : nodes) {
    if (const auto* loop = std::get_if<compiler::LoopSpec>(&node))
      FindArguments(loop->body, arguments);
    const auto* op = std::get_if<compiler::OpSpec>(&node);
    if (op == nullptr) continue;
    for (const compiler::TensorArg& arg : op->args) {
      if (arg.memory == compiler::Memory::kHbm && arg.arg_index >= 0)
        arguments.insert(arg.arg_index);
    }
  }
}

// The argument as the source leaves it, in the host's order.
DoubleTensor ValuesOf(const WorkloadTensor& tensor, int argument, OpSpecReference& reference) {
  const auto offsets = HostOffsets(tensor.layout);
  const int bytes = DeviceElementBytes(tensor.layout.format);
  DoubleTensor values(static_cast<size_t>(tensor.elements()));
  std::vector<int64_t> index(tensor.shape.size(), 0);
  for (double& value : values) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += offsets[d][static_cast<size_t>(index[d])];
    value = reference.Value(argument, at, tensor.layout.format, bytes);
    for (size_t d = index.size(); d-- > 0 && ++index[d] == tensor.shape[d];) index[d] = 0;
  }
  return values;
}

}  // namespace

void MeasureAgainstSource(const KernelSource& source, const std::vector<WorkloadTensor>& tensors,
                          const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                          Verification& result) {
  std::set<int> numbers;
  FindArguments(source.body, numbers);
  const std::vector<int> arguments(numbers.begin(), numbers.end());
  ArgumentImages images;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_input)
      images[arguments.at(i)] = ToDeviceImage(tensors[i].layout, tensors[i].host_format, inputs[i]);
  }
  OpSpecReference ideal(source, images, Rounding::kNone);
  // Limits are not needed beside a tolerance that the user gave.
  std::unique_ptr<OpSpecReference> rounded;
  if (result.tolerance == 0)
    rounded = std::make_unique<OpSpecReference>(source, images, Rounding::kEveryResult);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_output) continue;
    const DoubleTensor values = ValuesOf(tensors[i], arguments[i], ideal);
    const DoubleTensor rounded_values =
        rounded == nullptr ? values : ValuesOf(tensors[i], arguments[i], *rounded);
    MeasureRounded(tensors[i], outputs[i], {}, values, rounded_values, result);
  }
  result.reference += fmt::format("; error against the OpSpec source in float64 over {} elements",
                                  result.error_elements);
  if (ideal.read_unwritten()) {
    result.reference += fmt::format(", {} not compared: the source reads what nothing has written",
                                    result.unjudged);
  }
}

Verification VerifyOpSpecs(const KernelSource& source, const LaunchedBundle& launched,
                           const std::vector<HostData>& inputs,
                           const std::vector<HostData>& outputs, const CheckOptions& options) {
  Verification result = VerifyBits(launched, inputs, outputs, options);
  const double work = OpSpecReference::Work(source);
  if (options.sample && work > kSourceSampleWork) {
    result.reference += fmt::format(
        "; not compared with the OpSpec source in float64, which takes {:.1e} operations "
        "(workload.verify = \"full\" does it)",
        work);
    return result;
  }
  MeasureAgainstSource(source, launched.tensors, inputs, outputs, result);
  return result;
}

}  // namespace spyre::cosim
