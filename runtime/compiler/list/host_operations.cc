// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/host_operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/ranges.h"
#include "runtime/compiler/list/collectives.h"

namespace spyre::compiler {
namespace {

using EntryKind = OpEntry::Kind;

const NamedTensor& OperandOf(const NamedGraph& graph, const NamedOp& op, size_t i) {
  return graph.tensors[static_cast<size_t>(op.inputs[i])];
}

// A tensor whose type decides: no number, no indices, no condition.
bool IsTyped(const NamedGraph& graph, const NamedOp& op, const OpEntry& entry, size_t i) {
  if (entry.HasIndices() && i == 1) return false;
  if (entry.name == "where" && i == 0) return false;
  return OperandOf(graph, op, i).origin != NamedTensor::Origin::kConstant;
}

bool IsWhole(const NamedTensor& tensor) { return tensor.format == DataFormat::kIeeeInt32; }

// The operations of the card that give integers of integers, or compare them.
bool TakesIntegers(const OpEntry& entry) {
  static const std::vector<std::string_view> names = {
      "add",     "sub",     "mul",   "abs",  "neg",          "copy",      "relu",
      "maximum", "minimum", "sum",   "amax", "amin",         "prod",      "where",
      "clip",    "convert", "slice", "cat",  "index_select", "index_copy"};
  return entry.kind == EntryKind::kHost || entry.Compares() ||
         std::find(names.begin(), names.end(), entry.name) != names.end();
}

CompileError Refusal(const NamedOp& op, const NamedTensor& operand, const std::string& why) {
  return CompileError("Unsupported", "dtype",
                      fmt::format("'{}' of '{}', which is {}: {}", op.op, operand.name,
                                  HostTypeName(operand.format), why))
      .Subject(operand.name);
}

}  // namespace

bool IsOnHost(const NamedGraph& graph, const NamedOp& op) {
  const OpEntry& entry = *FindNamedOperation(op.op);
  if (entry.kind == EntryKind::kHost || entry.kind == EntryKind::kCollective) return true;
  if (entry.kind == EntryKind::kExtern) return false;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool is_condition = entry.name == "where" && i == 0;
    if ((IsTyped(graph, op, entry, i) || is_condition) && IsWhole(OperandOf(graph, op, i)))
      return true;
  }
  return false;
}

void CheckIntegers(const NamedGraph& graph, const NamedOp& op) {
  if (!op.on_host || IsCollective(op)) return;
  const OpEntry& entry = *FindNamedOperation(op.op);
  if (entry.HasIndices() && !IsWhole(OperandOf(graph, op, 1)))
    throw Refusal(op, OperandOf(graph, op, 1), "its indices are int32");
  const NamedTensor* whole = nullptr;
  const NamedTensor* other = nullptr;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!IsTyped(graph, op, entry, i)) continue;
    const NamedTensor& operand = OperandOf(graph, op, i);
    (IsWhole(operand) ? whole : other) = &operand;
  }
  if (whole == nullptr) return;
  if (!TakesIntegers(entry))
    throw Refusal(op, *whole, "this is no operation on integers; convert them first");
  if (other == nullptr) return;
  throw Refusal(
      op, *whole,
      fmt::format("'{}' is {}; convert one of them", other->name, HostTypeName(other->format)));
}

DataFormat HostResultFormat(const NamedGraph& graph, const NamedOp& op) {
  const OpEntry& entry = *FindNamedOperation(op.op);
  if (entry.Compares()) return DataFormat::kIeeeFp16;
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (IsTyped(graph, op, entry, i)) return OperandOf(graph, op, i).format;
  return DataFormat::kIeeeFp16;
}

bool HasHostOperation(const NamedGraph& graph) {
  return AnyFits(graph.ops, [](const NamedOp& op) { return op.on_host; });
}

void RequireNoHostOperation(const NamedGraph& graph) {
  for (const NamedOp& op : graph.ops) {
    if (!op.on_host) continue;
    const std::string& result = graph.tensors[static_cast<size_t>(op.output)].name;
    throw CompileError(
        "Unsupported", "host_operation",
        fmt::format("'{}' is {} ('{}'), between two kernels: there "
                    "is no one kernel of the list; `run` makes one of each part",
                    result,
                    IsCollective(op) ? "what several cards do together" : "computed by the host",
                    op.op))
        .Subject(result);
  }
}

}  // namespace spyre::compiler
