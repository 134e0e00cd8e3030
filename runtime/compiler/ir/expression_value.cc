// SPDX-License-Identifier: Apache-2.0
// Values of expressions: exact rationals, 64 bits above and below the line.
#include <limits>
#include <utility>

#include "base/error.h"
#include "runtime/compiler/ir/expression.h"

namespace spyre::compiler {
namespace {

// A reduced fraction with a positive denominator.
struct Rational {
  int64_t numerator = 0;
  int64_t denominator = 1;
};

__extension__ using Wide = __int128;

Rational Reduced(Wide numerator, Wide denominator) {
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Wide a = numerator < 0 ? -numerator : numerator;
  Wide b = denominator;
  while (b != 0) {
    a = std::exchange(b, a % b);
  }
  if (a > 1) {
    numerator /= a;
    denominator /= a;
  }
  constexpr Wide kMax = std::numeric_limits<int64_t>::max();
  if (numerator > kMax || numerator < -kMax - 1 || denominator > kMax) {
    throw BadInput("the value does not fit 64 bits");
  }
  return {static_cast<int64_t>(numerator), static_cast<int64_t>(denominator)};
}

Rational Plus(const Rational& a, const Rational& b) {
  // Below 2^127: each product of two 64-bit values is at most 2^126.
  return Reduced(Wide{a.numerator} * b.denominator + Wide{b.numerator} * a.denominator,
                 Wide{a.denominator} * b.denominator);
}
Rational Times(const Rational& a, const Rational& b) {
  return Reduced(Wide{a.numerator} * b.numerator, Wide{a.denominator} * b.denominator);
}
Rational Over(const Rational& a, const Rational& b) {
  if (b.numerator == 0) throw BadInput("division by zero");
  return Reduced(Wide{a.numerator} * b.denominator, Wide{a.denominator} * b.numerator);
}
Rational Floored(const Rational& a) {
  // Denominators are positive. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  const int64_t quotient = a.numerator / a.denominator;
  return {a.numerator % a.denominator < 0 ? quotient - 1 : quotient, 1};
}

Rational Value(const Expression& expression, const std::map<std::string, int64_t>& values) {
  switch (expression.kind) {
    case ExpressionKind::kNumber:
      return {expression.number, 1};
    case ExpressionKind::kSymbol: {
      const auto it = values.find(expression.symbol);
      if (it == values.end()) throw BadInput("symbol '{}' has no value", expression.symbol);
      return {it->second, 1};
    }
    case ExpressionKind::kAdd:
    case ExpressionKind::kMultiply: {
      Rational result = Value(expression.operands.front(), values);
      for (size_t i = 1; i < expression.operands.size(); ++i) {
        const Rational next = Value(expression.operands[i], values);
        result = expression.kind == ExpressionKind::kAdd ? Plus(result, next) : Times(result, next);
      }
      return result;
    }
    case ExpressionKind::kDivide:
      return Over(Value(expression.operands[0], values), Value(expression.operands[1], values));
    case ExpressionKind::kFloor:
      return Floored(Value(expression.operands[0], values));
    case ExpressionKind::kMod: {
      // a - n floor(a / n): the sign is the divisor's.
      const Rational a = Value(expression.operands[0], values);
      const Rational n = Value(expression.operands[1], values);
      const Rational whole = Times(n, Floored(Over(a, n)));
      return Reduced(Wide{a.numerator} * whole.denominator - Wide{whole.numerator} * a.denominator,
                     Wide{a.denominator} * whole.denominator);
    }
  }
  throw InternalError("expression of an unknown kind");
}

}  // namespace

int64_t Evaluate(const Expression& expression, const std::map<std::string, int64_t>& values) {
  try {
    const Rational value = Value(expression, values);
    if (value.denominator != 1) {
      throw BadInput("the value {}/{} is not an integer", value.numerator, value.denominator);
    }
    return value.numerator;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    throw error.Within(fmt::format("expression '{}'", ToString(expression).substr(0, 120)));
  }
}

}  // namespace spyre::compiler
