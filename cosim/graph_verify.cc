#include "cosim/graph_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cosim/bundle_verify.h"
#include "cosim/graph_reference.h"
#include "cosim/reference_numbers.h"
#include "model/contract/formats.h"

namespace spyre::cosim {
namespace {

constexpr int kSmallestHalfExponent = -24;

// As the card holds them.
DoubleTensor DeviceValues(const WorkloadTensor& tensor, const HostData& data) {
  DoubleTensor values(static_cast<size_t>(tensor.elements()));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const auto half = static_cast<uint16_t>(HostBits(tensor.host_format, data.data(), i));
    values[static_cast<size_t>(i)] = DlfToFloat(DlfFromHalf(half));
  }
  return values;
}

// Position in the graph of the tensor with this name.
int Find(const compiler::NamedGraph& graph, const std::string& name) {
  const auto it = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                               [&](const auto& tensor) { return tensor.name == name; });
  return it == graph.tensors.end() ? -1 : static_cast<int>(it - graph.tensors.begin());
}

void Measure(const WorkloadTensor& tensor, const HostData& got, const DoubleTensor& ideal,
             Verification& result) {
  double max_error = 0, max_ideal = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = HostValue(tensor.host_format, HostBits(tensor.host_format, got.data(), i));
    const double expected = ideal[static_cast<size_t>(i)];
    if (!std::isfinite(value) || !std::isfinite(expected)) continue;
    ++result.error_elements;
    const double error = std::fabs(value - expected);
    max_error = std::max(max_error, error);
    max_ideal = std::max(max_ideal, std::fabs(expected));
    const double ulp = std::max(SenUlp(expected), std::ldexp(1, kSmallestHalfExponent));
    result.max_ulp_error = std::max(result.max_ulp_error, error / ulp);
  }
  result.max_abs_error = std::max(result.max_abs_error, max_error);
  if (max_ideal > 0)
    result.max_relative_error = std::max(result.max_relative_error, max_error / max_ideal);
}

}  // namespace

void MeasureAgainstOperations(const Workload& workload, const std::vector<HostData>& inputs,
                              const std::vector<HostData>& outputs, Verification& result) {
  const compiler::NamedGraph& graph = *workload.graph;
  std::map<int, DoubleTensor> values;
  for (size_t i = 0; i < workload.tensors.size(); ++i) {
    const WorkloadTensor& tensor = workload.tensors[i];
    const int position = Find(graph, tensor.name);
    if (tensor.is_input && position >= 0) values[position] = DeviceValues(tensor, inputs[i]);
  }
  const std::map<int, DoubleTensor> ideal = EvaluateGraph(graph, std::move(values));
  for (size_t i = 0; i < workload.tensors.size(); ++i) {
    const WorkloadTensor& tensor = workload.tensors[i];
    if (tensor.is_output) Measure(tensor, outputs[i], ideal.at(Find(graph, tensor.name)), result);
  }
}

Verification VerifyGraph(const WorkloadConfig& config, const Workload& workload,
                         const std::vector<HostData>& inputs,
                         const std::vector<HostData>& outputs) {
  WorkloadConfig bits_only = config;
  bits_only.verify = "sample";
  Verification result = VerifyBundle(bits_only, workload, inputs, outputs);
  if (config.verify == "sample") return result;
  MeasureAgainstOperations(workload, inputs, outputs, result);
  result.reference = fmt::format(
      "bit-exact against the SDSC files executed element by element, {} of {} elements; error "
      "against the list of operations in float64 over {} elements",
      result.elements, result.elements, result.error_elements);
  return result;
}

}  // namespace spyre::cosim
