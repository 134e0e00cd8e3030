// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/position_decisions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/ranges.h"
#include "cosim/verify/rounding_limits.h"
#include "runtime/compiler/list/dead_code.h"

namespace spyre::cosim {
namespace {

using compiler::NamedGraph;
using compiler::NamedOp;
using compiler::NamedTensor;

bool IsOrder(std::string_view op) { return op == "argsort" || op == "topkindex"; }
bool IsBest(std::string_view op) { return op == "argmax" || op == "argmin"; }

bool Decides(const NamedGraph& graph, const NamedOp& op) {
  const bool cuts = op.op == "floordiv" || (op.op == "convert" && op.on_host);
  if (!IsOrder(op.op) && !IsBest(op.op) && !cuts) return false;
  const NamedTensor& operand = graph.tensors[static_cast<size_t>(op.inputs[0])];
  return operand.origin == NamedTensor::Origin::kComputed &&
         operand.format != DataFormat::kIeeeInt32;
}

}  // namespace

PositionDecisions::PositionDecisions(const NamedGraph& graph) : graph_(graph) {
  const std::vector<bool> live = compiler::LiveOperations(graph);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!live[i] || !Decides(graph, graph.ops[i])) continue;
    ops_.push_back(&graph.ops[i]);
    operands_.insert(graph.ops[i].inputs[0]);
  }
}

bool PositionDecisions::IsClose(const NamedOp& op, const DoubleTensor& ideal,
                                const DoubleTensor& rounded) const {
  const NamedTensor& operand = graph_.tensors[static_cast<size_t>(op.inputs[0])];
  const RoundingLimits limits(ideal, rounded, operand.format);
  const auto known = [&](size_t i) { return std::isfinite(ideal[i]) && std::isfinite(rounded[i]); };
  if (op.op == "floordiv") return true;  // its quotients are not at hand
  if (op.op == "convert") {
    for (size_t i = 0; i < ideal.size(); ++i) {
      const double beside = std::fabs(ideal[i] - std::nearbyint(ideal[i]));
      const bool is_whole = beside == 0 && ideal[i] == rounded[i];
      if (!known(i) || (!is_whole && beside <= limits.Of(i))) return true;
    }
    return false;
  }
  // What is equal with and without roundings is the same number.
  const auto may_swap = [&](size_t a, size_t b) {
    if (!known(a) || !known(b)) return true;
    if (ideal[a] == ideal[b] && rounded[a] == rounded[b]) return false;
    return std::fabs(ideal[a] - ideal[b]) <= limits.Of(a) + limits.Of(b);
  };
  // Lines of elements among which it decides, by what is left of their places.
  std::map<int64_t, std::vector<size_t>> lines;
  for (size_t i = 0; i < ideal.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t line = 0, step = 1;
    for (auto dim = operand.dims.rbegin(); dim != operand.dims.rend(); ++dim) {
      const int64_t size = graph_.dims[static_cast<size_t>(*dim)].size;
      if (!compiler::HasDim(op.reduced, *dim)) {
        line += rest % size * step;
        step *= size;
      }
      rest /= size;
    }
    lines[line].push_back(i);
  }
  for (auto& [unused, line] : lines) {
    std::sort(line.begin(), line.end(), [&](size_t a, size_t b) { return ideal[a] < ideal[b]; });
    if (op.op == "argmax") std::reverse(line.begin(), line.end());
    for (size_t i = 1; i < line.size(); ++i) {
      if (may_swap(IsBest(op.op) ? line[0] : line[i - 1], line[i])) return true;
    }
  }
  return false;
}

std::set<int> PositionDecisions::Undecided(const std::map<int, DoubleTensor>& ideal,
                                           const std::map<int, DoubleTensor>& rounded) const {
  std::set<int> follows;
  for (const NamedOp* op : ops_) {
    const int operand = op->inputs[0];
    if (IsClose(*op, ideal.at(operand), rounded.at(operand))) follows.insert(op->output);
  }
  if (follows.empty()) return follows;
  for (const NamedOp& op : graph_.ops) {
    if (AnyFits(op.inputs, [&](int input) { return follows.count(input) != 0; }))
      follows.insert(op.output);
  }
  std::set<int> outputs;
  for (const int output : graph_.outputs)
    if (follows.count(output) != 0) outputs.insert(output);
  return outputs;
}

}  // namespace spyre::cosim
