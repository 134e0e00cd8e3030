// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/decisions.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cosim/verify/rounding_limits.h"
#include "runtime/compiler/ops/op_entries.h"

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedOp;
using compiler::NamedTensor;

bool Compares(const NamedOp& op) {
  const compiler::OpEntry* entry = compiler::FindNamedOperation(op.op);
  return entry != nullptr && entry->Compares();
}

// The graph with another output for each comparison, the difference of what is compared, by the
// position of the comparison's result. Inputs are as the card has them: of two of them the card
// decides as float64 does.
NamedGraph WithDifferences(const NamedGraph& graph, std::map<int, int>& difference_of) {
  NamedGraph result = graph;
  for (const NamedOp& op : graph.ops) {
    const auto tensor = [&](size_t i) -> const NamedTensor& {
      return graph.tensors[static_cast<size_t>(op.inputs[i])];
    };
    if (!Compares(op) || (tensor(0).origin == NamedTensor::Origin::kInput &&
                          tensor(1).origin == NamedTensor::Origin::kInput))
      continue;
    NamedTensor difference = graph.tensors[static_cast<size_t>(op.output)];
    difference.format = tensor(tensor(0).origin == NamedTensor::Origin::kConstant ? 1 : 0).format;
    const auto position = static_cast<int>(result.tensors.size());
    difference_of[op.output] = position;
    result.tensors.push_back(std::move(difference));
    result.ops.push_back({"sub", op.inputs, position, {}, {}});
    result.outputs.push_back(position);
  }
  return result;
}

}  // namespace

GraphSides EvaluateSides(const NamedGraph& graph, const std::map<int, DoubleTensor>& inputs,
                         bool derive) {
  GraphSides sides;
  if (!derive) {
    sides.ideal = EvaluateGraph(graph, inputs);
    return sides;
  }
  std::map<int, int> difference_of;
  const NamedGraph wider = WithDifferences(graph, difference_of);
  std::map<int, DoubleTensor> decisions;
  sides.ideal =
      EvaluateGraph(wider, inputs, Rounding::kNone, [&](int tensor, DoubleTensor& values) {
        if (difference_of.count(tensor) != 0) decisions[tensor] = values;
      });
  sides.rounded =
      EvaluateGraph(wider, inputs, Rounding::kEveryResult, [&](int tensor, DoubleTensor& values) {
        if (difference_of.count(tensor) != 0) values = decisions.at(tensor);
      });
  bool is_any_close = false;
  for (const auto& [tensor, difference] : difference_of) {
    const DoubleTensor& ideal = sides.ideal.at(difference);
    const DoubleTensor& rounded = sides.rounded.at(difference);
    const RoundingLimits limits(ideal, rounded,
                                wider.tensors[static_cast<size_t>(difference)].format);
    DoubleTensor& decided = decisions.at(tensor);
    for (size_t i = 0; i < ideal.size(); ++i) {
      // What is equal with and without roundings is the same number, as zeros of relu are.
      if (!(std::fabs(ideal[i]) <= limits.Of(i)) || (ideal[i] == 0 && rounded[i] == 0)) continue;
      decided[i] = 1 - decided[i];
      is_any_close = true;
    }
  }
  for (const auto& [unused, difference] : difference_of) {
    sides.ideal.erase(difference);
    sides.rounded.erase(difference);
  }
  if (is_any_close) {
    sides.other =
        EvaluateGraph(graph, inputs, Rounding::kNone, [&](int tensor, DoubleTensor& values) {
          if (difference_of.count(tensor) != 0) values = decisions.at(tensor);
        });
  }
  return sides;
}

}  // namespace spyre::cosim
