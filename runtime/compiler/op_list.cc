#include "runtime/compiler/op_list.h"

#include <algorithm>
#include <numeric>

#include "model/contract/error.h"

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

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
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
      Reduction("sum", ReduceFn::kSum),
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
  std::string_view nearest;
  size_t least = SIZE_MAX;
  std::string all;
  for (const Operation& operation : Operations()) {
    all += all.empty() ? "" : ", ";
    all += operation.name;
    std::vector<std::string_view> names = operation.aliases;
    names.push_back(operation.name);
    for (std::string_view name : names) {
      const size_t distance = EditDistance(name_or_alias, name);
      if (distance < least) {
        least = distance;
        nearest = name;
      }
    }
  }
  throw BadInput("operation '{}' is not supported; the nearest known one is '{}'. Known: {}",
                 name_or_alias, nearest, all);
}

}  // namespace spyre::compiler
