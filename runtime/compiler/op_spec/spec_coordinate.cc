// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/spec_coordinate.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

// Sizes and factors of coordinates stay far below: products of two need no overflow checks.
constexpr int64_t kMaxFactor = int64_t{1} << 31;

CompileError Unsupported(const std::string& what) {
  return {"Unsupported", "coordinate_expression", "device coordinate: " + what};
}

// A term on the way: floor() fixes the quotient, after which a factor may no longer cancel it.
struct Partial {
  CoordinateTerm term;
  bool floored = false;
};

struct Sum {
  int64_t constant = 0;
  int64_t constant_divisor = 1;  // until floor() or a factor takes it
  std::vector<Partial> terms;
};

int64_t Checked(int64_t factor) {
  if (factor < 0 || factor > kMaxFactor) {
    throw Unsupported("a factor of " + std::to_string(factor) + " is negative or too large");
  }
  return factor;
}

int64_t CheckedConstant(int64_t constant) {
  return constant < 0 && constant >= -kMaxFactor ? constant : Checked(constant);
}

class CoordinateReader {
 public:
  explicit CoordinateReader(const std::vector<IterationSymbol>& symbols) : symbols_(symbols) {}

  Sum Read(const Expression& expression, int depth) const {
    if (depth > kMaxExpressionDepth) throw Unsupported("nested too deep");
    switch (expression.kind) {
      case ExpressionKind::kNumber:
        return {CheckedConstant(expression.number), 1, {}};
      case ExpressionKind::kSymbol:
        return {0, 1, {{{Find(expression.symbol), 1, 0, 1}, false}}};
      case ExpressionKind::kAdd:
        return Add(expression, depth);
      case ExpressionKind::kMultiply:
        return Multiply(expression, depth);
      case ExpressionKind::kDivide:
        return Divide(Read(expression.operands.at(0), depth + 1),
                      Number(expression.operands.at(1), depth));
      case ExpressionKind::kFloor:
        return Floor(Read(expression.operands.at(0), depth + 1));
      case ExpressionKind::kMod:
        return Modulo(Read(expression.operands.at(0), depth + 1),
                      Number(expression.operands.at(1), depth));
    }
    throw Unsupported("unknown operation");
  }

 private:
  int Find(const std::string& name) const {
    const auto found = FindIf(symbols_, [&](const IterationSymbol& s) { return s.name == name; });
    if (found == symbols_.end()) {
      throw Unsupported("symbol '" + name + "' is not in the iteration space");
    }
    return static_cast<int>(found - symbols_.begin());
  }

  int64_t Number(const Expression& expression, int depth) const {
    const Sum sum = Read(expression, depth + 1);
    if (!sum.terms.empty() || sum.constant_divisor != 1 || sum.constant < 1) {
      throw Unsupported("divisor or modulus is not a positive integer");
    }
    return Checked(sum.constant);
  }

  Sum Add(const Expression& expression, int depth) const {
    Sum sum;
    for (const Expression& operand : expression.operands) {
      Sum part = Read(operand, depth + 1);
      if (part.constant_divisor != 1) throw Unsupported("a constant is not an integer");
      sum.constant = CheckedConstant(sum.constant + CheckedConstant(part.constant));
      sum.terms.insert(sum.terms.end(), part.terms.begin(), part.terms.end());
    }
    return sum;
  }

  Sum Multiply(const Expression& expression, int depth) const {
    Sum product{1, 1, {}};
    for (const Expression& operand : expression.operands) {
      Sum factor = Read(operand, depth + 1);
      if (!product.terms.empty() && !factor.terms.empty()) {
        throw Unsupported("a product of two symbols");
      }
      if (product.terms.empty()) std::swap(product, factor);
      product = Scale(Divide(std::move(product), factor.constant_divisor), factor.constant);
    }
    return product;
  }

  static Sum Scale(Sum sum, int64_t factor) {
    if (factor == 1) return sum;
    if (factor == 0) return {};
    if (!sum.terms.empty()) Checked(factor);
    sum.constant = CheckedConstant(CheckedConstant(sum.constant) * CheckedConstant(factor));
    for (Partial& partial : sum.terms) {
      CoordinateTerm& term = partial.term;
      const int64_t common = partial.floored ? 1 : std::gcd(factor, term.divisor);
      term.divisor /= common;
      const int64_t rest = factor / common;
      if (rest != 1 && partial.floored && term.divisor != 1) {
        throw Unsupported("a multiple of a rounded quotient");
      }
      term.step = Checked(term.step * rest);
      term.modulus = Checked(term.modulus * rest);
    }
    return sum;
  }

  static Sum Divide(Sum sum, int64_t divisor) {
    if (divisor == 1) return sum;
    if (sum.terms.empty()) {
      const int64_t common = std::gcd(sum.constant, divisor);
      sum.constant /= common;
      sum.constant_divisor = Checked(sum.constant_divisor * (divisor / common));
      return sum;
    }
    if (sum.terms.size() > 1 || sum.constant % divisor != 0) {
      throw Unsupported("a quotient of a sum");
    }
    sum.constant /= divisor;
    sum.terms.front().term.divisor = Checked(sum.terms.front().term.divisor * divisor);
    return sum;
  }

  static Sum Floor(Sum sum) {
    if (sum.constant_divisor != 1) {
      const int64_t divisor = sum.constant_divisor;
      sum.constant = sum.constant / divisor - (sum.constant % divisor < 0 ? 1 : 0);
      sum.constant_divisor = 1;
    }
    for (Partial& partial : sum.terms) partial.floored = true;
    return sum;
  }

  static Sum Modulo(Sum sum, int64_t modulus) {
    if (sum.terms.empty()) {
      if (sum.constant_divisor != 1) throw Unsupported("a constant is not an integer");
      return {(sum.constant % modulus + modulus) % modulus, 1, {}};
    }
    CoordinateTerm& term = sum.terms.front().term;
    if (sum.terms.size() > 1 || sum.constant != 0) throw Unsupported("a sum taken modulo");
    const int64_t whole = Checked(modulus * term.divisor);
    if (term.modulus != 0 && term.modulus % whole != 0 && whole % term.modulus != 0) {
      throw Unsupported("one modulus inside another");
    }
    term.modulus = term.modulus == 0 ? whole : std::min(term.modulus, whole);
    return sum;
  }

  const std::vector<IterationSymbol>& symbols_;
};

Expression Binary(ExpressionKind kind, Expression left, int64_t right) {
  Expression expression;
  expression.kind = kind;
  expression.operands = {std::move(left), Expression::Number(right)};
  return expression;
}

Expression TermExpression(const CoordinateTerm& term, const std::string& symbol) {
  Expression expression = Expression::Symbol(symbol);
  if (term.step != 1) {
    Expression product;
    product.kind = ExpressionKind::kMultiply;
    product.operands = {Expression::Number(term.step), std::move(expression)};
    expression = std::move(product);
  }
  if (term.modulus != 0)
    expression = Binary(ExpressionKind::kMod, std::move(expression), term.modulus);
  if (term.divisor != 1) {
    Expression floor;
    floor.kind = ExpressionKind::kFloor;
    floor.operands = {Binary(ExpressionKind::kDivide, std::move(expression), term.divisor)};
    expression = std::move(floor);
  }
  return expression;
}

}  // namespace

Coordinate ToCoordinate(const Expression& expression, const std::vector<IterationSymbol>& symbols) {
  const Sum sum = CoordinateReader(symbols).Read(expression, 0);
  if (sum.constant_divisor != 1) throw Unsupported("a constant is not an integer");
  Coordinate coordinate;
  coordinate.constant = sum.constant;
  for (const Partial& partial : sum.terms) {
    CoordinateTerm term = partial.term;
    const int64_t common = std::gcd(std::gcd(term.step, term.modulus), term.divisor);
    term.step /= common;
    term.modulus /= common;
    term.divisor /= common;
    if (coordinate.Uses(term.variable)) throw Unsupported("a symbol twice in one coordinate");
    coordinate.terms.push_back(term);
  }
  return coordinate;
}

Expression ToExpression(const Coordinate& coordinate, const std::vector<IterationSymbol>& symbols) {
  std::vector<Expression> summands;
  for (const CoordinateTerm& term : coordinate.terms) {
    summands.push_back(TermExpression(term, symbols.at(static_cast<size_t>(term.variable)).name));
  }
  if (coordinate.constant != 0 || summands.empty()) {
    summands.push_back(Expression::Number(coordinate.constant));
  }
  if (summands.size() == 1) return std::move(summands.front());
  Expression sum;
  sum.kind = ExpressionKind::kAdd;
  sum.operands = std::move(summands);
  return sum;
}

}  // namespace spyre::compiler
