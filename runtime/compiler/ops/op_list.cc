// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ops/op_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace spyre::compiler {
namespace {

Operation Unary(std::string_view name, UnaryFn fn, std::vector<std::string_view> aliases = {}) {
  return {name,     OperationKind::kUnary, static_cast<uint8_t>(fn), std::move(aliases),
          {"cols"}, {"batch", "rows"}};
}

Operation Binary(std::string_view name, BinaryFn fn, std::vector<std::string_view> aliases = {}) {
  return {name,     OperationKind::kBinary, static_cast<uint8_t>(fn), std::move(aliases),
          {"cols"}, {"batch", "rows"}};
}

Operation Reduction(std::string_view name, ReduceFn fn,
                    std::vector<std::string_view> aliases = {}) {
  return {name,     OperationKind::kReduction, static_cast<uint8_t>(fn), std::move(aliases),
          {"cols"}, {"batch", "rows"}};
}

}  // namespace

const std::vector<Operation>& Operations() {
  static const std::vector<Operation> operations = {
      {"matmul", OperationKind::kMatmul, 0, {"mm"}, {"m", "k", "n"}, {}},
      {"batchmatmul", OperationKind::kMatmul, 0, {"bmm"}, {"batch", "m", "k", "n"}, {}},
      Unary("copy", UnaryFn::kCopy, {"identity", "clone"}),
      Unary("neg", UnaryFn::kNeg),
      Unary("abs", UnaryFn::kAbs),
      Unary("relu", UnaryFn::kRelu, {"relufwd"}),
      Unary("exp", UnaryFn::kExp),
      Unary("gelu", UnaryFn::kGelu, {"gelufwd"}),
      Unary("sigmoid", UnaryFn::kSigmoid),
      Unary("tanh", UnaryFn::kTanh),
      Unary("sqrt", UnaryFn::kSqrt),
      Unary("rsqrt", UnaryFn::kRsqrt),
      Unary("reciprocal", UnaryFn::kReciprocal),
      Binary("add", BinaryFn::kAdd),
      Binary("sub", BinaryFn::kSub),
      Binary("mul", BinaryFn::kMul),
      Binary("div", BinaryFn::kDiv, {"realdiv", "truediv"}),
      Binary("max", BinaryFn::kMax, {"maximum"}),
      Binary("min", BinaryFn::kMin, {"minimum"}),
      Reduction("sum", ReduceFn::kSum, {"sumrow"}),
      Reduction("amax", ReduceFn::kMax),
      Reduction("amin", ReduceFn::kMin),
      Reduction("mean", ReduceFn::kSum),
      {"softmax", OperationKind::kSoftmax, 0, {}, {"cols"}, {"batch", "rows"}},
  };
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
