// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ops/op_list.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "runtime/compiler/ops/op_entries.h"

namespace spyre::compiler {
namespace {

bool IsInput(const OpFuncValue& value, int index) {
  return value.kind == OpFuncValue::Kind::kInput && value.index == index;
}

// The kind of kernel that is one instruction of the entry's inputs, or one reduction of them.
std::optional<OperationKind> KindOf(const OpEntry& entry) {
  if (entry.name == "softmax") return OperationKind::kSoftmax;
  if (!entry.listed || entry.op_funcs.empty()) return std::nullopt;
  if (entry.kind == OpEntry::Kind::kMatmul) return OperationKind::kMatmul;
  if (entry.kind == OpEntry::Kind::kReduction) return OperationKind::kReduction;
  const OpFunc& func = entry.op_funcs.front();
  if (func.steps.size() != 1 || !func.constants.empty()) return std::nullopt;
  const OpFuncStep& step = func.steps.front();
  if (step.op == Op::kVunary) return OperationKind::kUnary;
  const bool binary = func.inputs == 2 && IsInput(step.a, 0) && IsInput(step.b, 1);
  return binary ? std::optional(OperationKind::kBinary) : std::nullopt;
}

uint8_t FunctionOf(OperationKind kind, const OpEntry& entry) {
  switch (kind) {
    case OperationKind::kUnary:
    case OperationKind::kBinary:
      return entry.op_funcs.front().steps.front().fn;
    case OperationKind::kReduction:
      return static_cast<uint8_t>(entry.op_funcs.front().reduction.first);
    case OperationKind::kMatmul:
    case OperationKind::kSoftmax:
      break;
  }
  return 0;
}

}  // namespace

const std::vector<Operation>& Operations() {
  static const auto operations = [] {
    std::vector<Operation> all;
    for (const OpEntry& entry : OpEntries()) {
      const std::optional<OperationKind> kind = KindOf(entry);
      if (!kind) continue;
      if (*kind == OperationKind::kMatmul) {  // without and with batches
        all.push_back({entry.name, *kind, 0, {"mm"}, {"m", "k", "n"}, {}});
        all.push_back({"batchmatmul", *kind, 0, {"bmm"}, {"batch", "m", "k", "n"}, {}});
      } else {
        all.push_back({entry.name,
                       *kind,
                       FunctionOf(*kind, entry),
                       entry.aliases,
                       {"cols"},
                       {"batch", "rows"}});
      }
    }
    return all;
  }();
  return operations;
}

const Operation* FindOperation(std::string_view name_or_alias) {
  for (const Operation& operation : Operations()) {
    const auto& aliases = operation.aliases;
    if (operation.name == name_or_alias ||
        std::find(aliases.begin(), aliases.end(), name_or_alias) != aliases.end()) {
      return &operation;
    }
  }
  return nullptr;
}

const Operation& RequireOperation(std::string_view name_or_alias) {
  if (const Operation* operation = FindOperation(name_or_alias)) return *operation;
  std::vector<std::string> names;
  std::string all;
  for (const Operation& operation : Operations()) {
    all += all.empty() ? "" : ", ";
    all += operation.name;
    names.emplace_back(operation.name);
    names.insert(names.end(), operation.aliases.begin(), operation.aliases.end());
  }
  throw BadInput("operation '{}' is not known (known: {}){}", name_or_alias, all,
                 DidYouMean(name_or_alias, names));
}

}  // namespace spyre::compiler
