// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/op_list_verify.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/ranges.h"
#include "cosim/reference/graph_reference.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/verify/decisions.h"
#include "cosim/verify/rounding_limits.h"
#include "cosim/verify/sample.h"
#include "model/contract/formats.h"

namespace spyre::cosim {

DoubleTensor DeviceValues(const WorkloadTensor& tensor, const HostData& data,
                          const std::vector<int64_t>& elements) {
  DoubleTensor values(elements.empty() ? static_cast<size_t>(tensor.elements()) : elements.size());
  constexpr int64_t kGrain = 1 << 14;
  ParallelFor(static_cast<int64_t>(values.size()), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = elements.empty() ? i : elements[static_cast<size_t>(i)];
      const uint64_t bits = HostBits(tensor.host_format, data.data(), at);
      values[static_cast<size_t>(i)] = tensor.host_format == DataFormat::kIeeeFp16
                                           ? DlfToFloat(DlfFromHalf(static_cast<uint16_t>(bits)))
                                           : HostValue(tensor.host_format, bits);
    }
  });
  return values;
}

namespace {

// Position in the graph of the tensor with this name.
int Find(const compiler::NamedGraph& graph, const std::string& name) {
  const auto it = FindIf(graph.tensors, [&](const auto& tensor) { return tensor.name == name; });
  return it == graph.tensors.end() ? -1 : static_cast<int>(it - graph.tensors.begin());
}

}  // namespace

void MeasureAgainstOperations(const compiler::NamedGraph& operations,
                              const std::vector<WorkloadTensor>& tensors,
                              const std::vector<HostData>& inputs,
                              const std::vector<HostData>& outputs, const CheckOptions& options,
                              Verification& result) {
  std::optional<GraphSample> sample;
  if (options.sample) sample.emplace(operations, options.seed);
  const compiler::NamedGraph& graph = sample ? sample->graph() : operations;
  const auto elements = [&](int position) {
    return sample ? sample->ElementsOf(position) : std::vector<int64_t>();
  };
  std::map<int, DoubleTensor> values;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int position = Find(operations, tensors[i].name);
    if (tensors[i].is_input && position >= 0)
      values[position] = DeviceValues(tensors[i], inputs[i], elements(position));
  }
  // Limits are not needed beside a tolerance that the user gave.
  const bool derive = result.tolerance == 0;
  const GraphSides sides = EvaluateSides(graph, values, derive);
  int64_t total = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_output) continue;
    const int position = Find(operations, tensors[i].name);
    total += tensors[i].elements();
    MeasureRounded(tensors[i], outputs[i], elements(position), sides.ideal.at(position),
                   (derive ? sides.rounded : sides.ideal).at(position), result,
                   sides.others.empty() ? nullptr : &sides.others.at(position));
  }
  result.reference +=
      fmt::format("; error against the list of operations in float64 over {}{} elements",
                  result.error_elements, sample ? fmt::format(" of {}", total) : "");
}

Verification VerifyOpList(const compiler::NamedGraph& operations, const LaunchedBundle& launched,
                          const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                          const CheckOptions& options) {
  Verification result = VerifyBits(launched, inputs, outputs, options);
  MeasureAgainstOperations(operations, launched.tensors, inputs, outputs, options, result);
  if (result.not_finite > 0) result.overflow = FirstOverflow(launched, inputs);
  return result;
}

}  // namespace spyre::cosim
