// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/mlir/affine_evaluation.h"

#include <mlir/IR/AffineExpr.h>

namespace spyre::compiler {
namespace {

using mlir::AffineExprKind;

std::optional<AffineValue> Difference(const AffineValue& a, const AffineValue& b) {
  const auto negative = Product(b, AffineValue::Constant(-1));
  return negative ? Sum(a, *negative) : std::nullopt;
}

std::optional<AffineValue> Evaluate(mlir::AffineExpr expression, unsigned dims,
                                    const std::vector<AffineValue>& operands) {
  if (const auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expression)) {
    return AffineValue::Constant(constant.getValue());
  }
  if (const auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(expression)) {
    return operands.at(dim.getPosition());
  }
  if (const auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expression)) {
    return operands.at(dims + symbol.getPosition());
  }
  const auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expression);
  const auto a = Evaluate(binary.getLHS(), dims, operands);
  const auto b = Evaluate(binary.getRHS(), dims, operands);
  if (!a || !b) return std::nullopt;
  switch (expression.getKind()) {
    case AffineExprKind::Add:
      return Sum(*a, *b);
    case AffineExprKind::Mul:
      return Product(*a, *b);
    case AffineExprKind::Mod:
      return Remainder(*a, *b);
    case AffineExprKind::FloorDiv:
      return FloorQuotient(*a, *b);
    case AffineExprKind::CeilDiv:
      return CeilQuotient(*a, *b);
    default:
      return std::nullopt;
  }
}

}  // namespace

BinaryOperation FindBinary(const std::string& name) {
  if (name == "arith.addi") return Sum;
  if (name == "arith.subi") return Difference;
  if (name == "arith.muli") return Product;
  if (name == "arith.ceildivsi" || name == "arith.ceildivui") return CeilQuotient;
  if (name == "arith.floordivsi") return FloorQuotient;
  return nullptr;
}

std::optional<AffineValue> EvaluateMap(mlir::AffineMap map,
                                       const std::vector<AffineValue>& operands) {
  return Evaluate(map.getResult(0), map.getNumDims(), operands);
}

}  // namespace spyre::compiler
