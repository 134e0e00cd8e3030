// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ops/op_funcs.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "base/nearest.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/ops/op_entries.h"

namespace spyre::compiler {

int ElementsInTurn(ConvertFn fn) {
  switch (fn) {
    case ConvertFn::kDl16ToFp32:
    case ConvertFn::kFp32ToDl16:
      return 4;
    case ConvertFn::kFp8ToDl16:
    case ConvertFn::kDl16ToFp8:
    case ConvertFn::kDl16ToInt8:
      return 8;
    case ConvertFn::kDl16ToFp8Wt:
    case ConvertFn::kDl16ToInt8Wt:
      break;
  }
  return 1;
}

const std::vector<OpFunc>& OpFuncs() {
  static const auto funcs = [] {
    std::vector<OpFunc> all;
    for (const OpEntry& entry : OpEntries())
      all.insert(all.end(), entry.op_funcs.begin(), entry.op_funcs.end());
    return all;
  }();
  return funcs;
}

const OpFunc* FindOpFunc(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const OpFunc*> names;
    for (const OpFunc& op : OpFuncs()) names[op.name] = &op;
    return names;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const OpFunc& RequireOpFunc(std::string_view name) {
  const OpFunc* op = FindOpFunc(name);
  if (op != nullptr && op->refusal.empty()) return *op;
  constexpr const char* kType = "Unsupported";
  constexpr const char* kKind = "unsupported_op";
  if (op != nullptr) {
    throw CompileError(kType, kKind,
                       fmt::format("OpFunc '{}' cannot be executed: {}", name, op->refusal));
  }
  std::vector<std::string> names;
  for (const OpFunc& known : OpFuncs()) names.emplace_back(known.name);
  throw CompileError(
      kType, kKind,
      fmt::format("'{}' is not an OpFunc that is known{}", name, DidYouMean(name, names)));
}

bool IsComparison(const OpFunc& func) {
  if (func.steps.size() != 1 || func.steps.front().op != Op::kVbinary) return false;
  switch (static_cast<BinaryFn>(func.steps.front().fn)) {
    case BinaryFn::kEqual:
    case BinaryFn::kNotEqual:
    case BinaryFn::kGreater:
    case BinaryFn::kGreaterEqual:
    case BinaryFn::kLess:
    case BinaryFn::kLessEqual:
      return true;
    default:
      return false;
  }
}

}  // namespace spyre::compiler
