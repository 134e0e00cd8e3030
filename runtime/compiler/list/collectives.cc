// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/collectives.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/ranges.h"
#include "runtime/compiler/list/graph_rewriter.h"

namespace spyre::compiler {
namespace {

const NamedTensor& ResultOf(const NamedGraph& graph, const NamedOp& op) {
  return graph.tensors[static_cast<size_t>(op.output)];
}

// What a kernel computes for this collective and nobody else.
bool IsForItAlone(const NamedGraph& graph, const NamedOp& collective) {
  const int operand = collective.inputs[0];
  if (std::count(graph.outputs.begin(), graph.outputs.end(), operand) != 0) return false;
  bool of_kernel = false;
  int64_t readers = 0;
  for (const NamedOp& op : graph.ops) {
    readers += std::count(op.inputs.begin(), op.inputs.end(), operand);
    if (op.output == operand) of_kernel = !op.on_host;
  }
  return of_kernel && readers == 1;
}

void CheckCard(const NamedGraph& graph, const NamedOp& op, const char* key, uint64_t cards) {
  const auto given = op.constants.find(key);
  if (given == op.constants.end()) return;
  const double card = given->second;
  if (card >= 0 && card < static_cast<double>(cards) &&
      card == static_cast<double>(CardOf(op, key)))
    return;
  throw BadInput("'{}' ({}): {} = {}: there are {} cards, numbered from 0",
                 ResultOf(graph, op).name, op.op, key, card, cards);
}

void CheckParts(const NamedGraph& graph, const NamedOp& op, uint64_t cards) {
  const NamedDim& dim = graph.dims[static_cast<size_t>(op.reduced[0])];
  const NamedDim& into = graph.dims[static_cast<size_t>(op.into)];
  const bool scatters = op.op == "reduce_scatter";
  const NamedDim& whole = scatters ? dim : into;
  const NamedDim& part = scatters ? into : dim;
  if (whole.size == part.size * static_cast<int64_t>(cards)) return;
  throw BadInput("'{}' ({}): {} = {} is not the {} = {} of each of {} cards: {}",
                 ResultOf(graph, op).name, op.op, whole.name, whole.size, part.name, part.size,
                 cards, part.size * static_cast<int64_t>(cards));
}

}  // namespace

bool IsCollective(const NamedOp& op) {
  const OpEntry* const entry = FindNamedOperation(op.op);
  return entry != nullptr && entry->kind == OpEntry::Kind::kCollective;
}

bool HasCollective(const NamedGraph& graph) { return AnyFits(graph.ops, IsCollective); }

bool IsInPlace(const NamedOp& op) { return op.into < 0; }

size_t CardOf(const NamedOp& op, const char* key) {
  const auto given = op.constants.find(key);
  if (given != op.constants.end()) return static_cast<size_t>(std::max(0.0, given->second));
  return std::string(key) == "peer" ? 1 : 0;
}

std::vector<int> CollectiveDims(const NamedGraph& graph, const NamedOp& op) {
  const NamedTensor& input = graph.tensors[static_cast<size_t>(op.inputs[0])];
  if (input.origin == NamedTensor::Origin::kConstant)
    throw BadInput("'{}' of a number: it is for tensors", op.op);
  const bool adds = op.op == "all_reduce" || op.op == "reduce" || op.op == "reduce_scatter";
  if (adds && input.format != DataFormat::kIeeeFp16) {
    throw CompileError("Unsupported", "dtype",
                       fmt::format("'{}' of '{}', which is {}: cards add float16", op.op,
                                   input.name, HostTypeName(input.format)))
        .Subject(input.name);
  }
  if (input.format != DataFormat::kIeeeFp16 && input.format != DataFormat::kIeeeFp32) {
    throw CompileError("Unsupported", "dtype",
                       fmt::format("'{}' of '{}', which is {}: cards give each other float16 and "
                                   "float32",
                                   op.op, input.name, HostTypeName(input.format)))
        .Subject(input.name);
  }
  if (!FindNamedOperation(op.op)->has_dim) return input.dims;
  if (op.reduced.size() != 1 || op.into < 0)
    throw BadInput("'{}' needs `dim` and `into`: one dimension, and the one it becomes", op.op);
  const NamedDim& dim = graph.dims[static_cast<size_t>(op.reduced[0])];
  const NamedDim& into = graph.dims[static_cast<size_t>(op.into)];
  if (!HasDim(input.dims, op.reduced[0]))
    throw BadInput("dimension '{}' is not in {} {}", dim.name, input.name, graph.ShapeText(input));
  if (HasDim(input.dims, op.into)) {
    throw BadInput("'{}' into '{}', a dimension that {} {} has already; give it another name",
                   op.op, into.name, input.name, graph.ShapeText(input));
  }
  const bool scatters = op.op == "reduce_scatter";
  const int64_t whole = scatters ? dim.size : into.size, part = scatters ? into.size : dim.size;
  if (whole % part != 0) {
    throw BadInput("'{}' of {} = {} into {} = {}: the whole must be the parts of all cards", op.op,
                   dim.name, dim.size, into.name, into.size);
  }
  std::vector<int> dims = input.dims;
  std::replace(dims.begin(), dims.end(), op.reduced[0], op.into);
  return dims;
}

void CheckCollectives(const NamedGraph& graph, uint64_t cards) {
  for (const NamedOp& op : graph.ops) {
    if (!IsCollective(op)) continue;
    const NamedTensor& result = ResultOf(graph, op);
    if (cards == 1) {
      throw BadInput("'{}' ({}) is what several cards do together, and cards.count is 1",
                     result.name, op.op)
          .Subject("cards.count");
    }
    CheckCard(graph, op, "root", cards);
    CheckCard(graph, op, "peer", cards);
    if (op.op == "send" && CardOf(op, "root") == CardOf(op, "peer"))
      throw BadInput("'{}' (send): peer = {} is root: a card sends to another one", result.name,
                     CardOf(op, "peer"));
    if (!IsInPlace(op)) CheckParts(graph, op, cards);
    std::vector<int> dims = graph.tensors[static_cast<size_t>(op.inputs[0])].dims;
    if (!IsInPlace(op)) std::replace(dims.begin(), dims.end(), op.reduced[0], op.into);
    if (dims == result.dims) continue;
    throw BadInput(
        "'{}' ({}): `dims` = {} is another order than that of its operand, and the cards "
        "move elements as they lie",
        result.name, op.op, graph.ShapeText(result));
  }
}

std::vector<size_t> CopyOperandsOfCollectives(NamedGraph& graph) {
  GraphRewriter rewriter(graph);
  std::vector<size_t> origins;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    NamedOp op = graph.ops[i];
    if (IsCollective(op) && !IsForItAlone(graph, op)) {
      rewriter.Begin(-1);
      NamedTensor copy = graph.tensors[static_cast<size_t>(op.inputs[0])];
      const int own = rewriter.NewTensor(ResultOf(graph, op).name + ".own", copy.dims);
      rewriter.tensor(own).format = copy.format;
      rewriter.Append({"copy", {op.inputs[0]}, own, {}, {}});
      origins.push_back(i);
      op.inputs[0] = own;
    }
    rewriter.Begin(static_cast<int>(i));
    rewriter.Append(std::move(op));
    origins.push_back(i);
  }
  graph = rewriter.Finish();
  return origins;
}

}  // namespace spyre::compiler
