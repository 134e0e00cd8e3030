// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/decisions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "cosim/verify/position_decisions.h"
#include "cosim/verify/rounding_limits.h"
#include "runtime/compiler/list/dead_code.h"
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
  const std::vector<bool> live = compiler::LiveOperations(graph);
  for (size_t at = 0; at < graph.ops.size(); ++at) {
    if (!live[at]) continue;  // the caller need not have what it compares
    const NamedOp& op = graph.ops[at];
    const auto tensor = [&](size_t i) -> const NamedTensor& {
      return graph.tensors[static_cast<size_t>(op.inputs[i])];
    };
    if (!Compares(op) || (tensor(0).origin == NamedTensor::Origin::kInput &&
                          tensor(1).origin == NamedTensor::Origin::kInput))
      continue;
    NamedTensor difference = graph.tensors[static_cast<size_t>(op.output)];
    difference.format = tensor(tensor(0).origin == NamedTensor::Origin::kConstant ? 1 : 0).format;
    // In which a small difference would be none.
    if (difference.format == DataFormat::kSen143Fp8) difference.format = DataFormat::kSen169Fp16;
    const auto position = static_cast<int>(result.tensors.size());
    difference_of[op.output] = position;
    result.tensors.push_back(std::move(difference));
    result.ops.push_back({"sub", op.inputs, position, {}, {}});
    result.ops.back().on_host = op.on_host;
    result.outputs.push_back(position);
  }
  return result;
}

using Decisions = std::map<int, DoubleTensor>;  // by the positions of the comparisons' results

ResultHook Take(const Decisions& decisions) {
  return [&decisions](int tensor, DoubleTensor& values) {
    const auto decided = decisions.find(tensor);
    if (decided != decisions.end()) values = decided->second;
  };
}

// Some of the decisions are taken the other way: those of one part after the other. Each is in half
// of the parts, so that of two that are in different ones, each is taken the other way without the
// other. Two that a reduction over one dimension brings together are in different ones unless their
// distance is a multiple of the number of these codes.
constexpr unsigned kParts = 6;
constexpr std::array<uint8_t, 20> kCodes = {7,  11, 13, 14, 19, 21, 22, 25, 26, 28,
                                            35, 37, 38, 41, 42, 44, 49, 50, 52, 56};

class CloseDecisions {
 public:
  bool empty() const { return close_.empty(); }

  // Of one comparison: what it decides, differences of what it compares, and their shape.
  void Add(int tensor, const DoubleTensor& decisions, const DoubleTensor& ideal,
           const DoubleTensor& rounded, DataFormat format, const std::vector<int64_t>& shape) {
    const RoundingLimits limits(ideal, rounded, format);
    const uint64_t first = comparisons_++;
    for (size_t i = 0; i < ideal.size(); ++i) {
      // What is equal with and without roundings is the same number, as zeros of relu are. What is
      // infinite compares as a number in float64, and as none on the card.
      const bool is_close =
          !std::isfinite(ideal[i]) || !std::isfinite(rounded[i]) ||
          (std::fabs(ideal[i]) <= limits.Of(i) && !(ideal[i] == 0 && rounded[i] == 0));
      if (is_close) close_[tensor].push_back({i, PartsOf(i, shape, first), decisions[i]});
    }
  }

  // What an evaluation makes of them, in place of what it would decide: choose(decision as in
  // `ideal`, parts that it is one of, by bits). All other comparisons decide by what they are
  // given.
  template <typename Choose>
  ResultHook Taken(Choose choose) const {
    return [this, choose](int tensor, DoubleTensor& values) {
      const auto close = close_.find(tensor);
      if (close == close_.end()) return;
      for (const auto& [element, parts, decision] : close->second)
        values[element] = choose(decision, parts);
    };
  }

 private:
  struct Close {
    size_t element;
    uint8_t parts;
    double decision;
  };
  // A step along any dimension leads to another code.
  static uint8_t PartsOf(size_t element, const std::vector<int64_t>& shape, uint64_t first) {
    constexpr uint64_t kSteps[] = {1, 3, 7, 9, 11, 13};  // none has a divisor in common with 20
    auto at = static_cast<uint64_t>(element);
    uint64_t code = first;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const auto length = static_cast<uint64_t>(shape[shape.size() - 1 - dim]);
      code += at % length * kSteps[dim % std::size(kSteps)];
      at /= length;
    }
    return kCodes[code % kCodes.size()];
  }

  std::map<int, std::vector<Close>> close_;  // by the positions of the comparisons' results
  uint64_t comparisons_ = 0;
};

void Widen(OtherDecisions& others, const DoubleTensor& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    // What is not finite on one side may be anything between.
    const bool is_finite = std::isfinite(values[i]);
    // Of one decision there are two values, to the bit.
    if (!is_finite || (others.low[i] != others.high[i] && values[i] != others.low[i] &&
                       values[i] != others.high[i]))
      others.several[i] = true;
    others.low[i] = std::min(others.low[i], is_finite ? values[i] : -HUGE_VAL);
    others.high[i] = std::max(others.high[i], is_finite ? values[i] : HUGE_VAL);
  }
}

// Whatever these outputs are.
void LeaveOpen(const std::set<int>& outputs, GraphSides& sides) {
  for (const auto& [output, ideal] : sides.ideal) {
    OtherDecisions& others =
        sides.others
            .try_emplace(output, OtherDecisions{ideal, sides.rounded.at(output), ideal, ideal,
                                                std::vector<bool>(ideal.size())})
            .first->second;
    if (outputs.count(output) == 0) continue;
    std::fill(others.low.begin(), others.low.end(), -HUGE_VAL);
    std::fill(others.high.begin(), others.high.end(), HUGE_VAL);
    others.several.assign(ideal.size(), true);
  }
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
  NamedGraph wider = WithDifferences(graph, difference_of);
  const PositionDecisions positions(graph);
  wider.outputs.insert(wider.outputs.end(), positions.operands().begin(),
                       positions.operands().end());
  Decisions decisions;  // of the comparisons on which an output depends
  sides.ideal =
      EvaluateGraph(wider, inputs, Rounding::kNone, [&](int tensor, DoubleTensor& values) {
        if (difference_of.count(tensor) != 0) decisions[tensor] = values;
      });
  sides.rounded = EvaluateGraph(wider, inputs, Rounding::kEveryResult, Take(decisions));
  const std::set<int> undecided = positions.Undecided(sides.ideal, sides.rounded);
  for (const int operand : positions.operands()) {
    if (std::count(graph.outputs.begin(), graph.outputs.end(), operand) != 0) continue;
    sides.ideal.erase(operand);
    sides.rounded.erase(operand);
  }
  CloseDecisions close;
  for (const auto& [tensor, difference] : difference_of) {
    if (decisions.count(tensor) != 0) {
      close.Add(tensor, decisions.at(tensor), sides.ideal.at(difference),
                sides.rounded.at(difference), wider.tensors[static_cast<size_t>(difference)].format,
                wider.Shape(wider.tensors[static_cast<size_t>(difference)]));
    }
  }
  for (const auto& [unused, difference] : difference_of) {
    sides.ideal.erase(difference);
    sides.rounded.erase(difference);
  }
  if (close.empty()) {
    if (!undecided.empty()) LeaveOpen(undecided, sides);
    return sides;
  }
  const ResultHook all = close.Taken([](double decision, unsigned) { return 1 - decision; });
  const auto rounded = EvaluateGraph(graph, inputs, Rounding::kEveryResult, all);
  for (const auto& [output, ideal] : EvaluateGraph(graph, inputs, Rounding::kNone, all)) {
    const DoubleTensor& own = sides.ideal.at(output);
    OtherDecisions& others =
        sides.others[output] = {ideal, rounded.at(output), own, own, std::vector<bool>(own.size())};
    Widen(others, ideal);
  }
  const auto widen = [&](const ResultHook& some) {
    for (const auto& [output, values] : EvaluateGraph(graph, inputs, Rounding::kNone, some))
      Widen(sides.others.at(output), values);
  };
  widen(close.Taken([](double, unsigned) { return 0.0; }));
  widen(close.Taken([](double, unsigned) { return 1.0; }));
  for (unsigned part = 0; part < kParts; ++part) {
    widen(close.Taken([part](double decision, unsigned parts) {
      return (parts >> part & 1) != 0 ? 1 - decision : decision;
    }));
  }
  if (!undecided.empty()) LeaveOpen(undecided, sides);
  return sides;
}

}  // namespace spyre::cosim
