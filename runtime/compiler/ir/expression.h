// SPDX-License-Identifier: Apache-2.0
// Integer expressions over named symbols, as the front end writes coordinates and counts:
// integers, symbols, + - * /, floor(a), Mod(a, n). Plain values, any thread.
// Source: OpSpec source of the public compiler front end (docs/facts.md).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::compiler {

struct Expression {
  enum class Kind : uint8_t { kNumber, kSymbol, kAdd, kMultiply, kDivide, kFloor, kMod };

  Kind kind = Kind::kNumber;
  int64_t number = 0;  // kNumber
  std::string symbol;  // kSymbol
  std::vector<Expression>
      operands;  // kAdd, kMultiply: two or more; kDivide, kMod: two; kFloor: one

  static Expression Number(int64_t value);
  static Expression Symbol(std::string name);
};
using ExpressionKind = Expression::Kind;

inline constexpr int kMaxExpressionDepth = 64;  // operators within operators

// Throws BadInput with the column and what was expected; also for nesting deeper than 64 levels and
// numbers beyond 64 bits.
Expression ParseExpression(std::string_view text);
std::string ToString(const Expression& expression);  // parses again to an equal expression

// Every symbol needs a value. Quotients are exact rationals until floor() or Mod(): a result that
// is not an integer, a division by zero and an overflow of 64 bits are BadInput.
int64_t Evaluate(const Expression& expression, const std::map<std::string, int64_t>& values);

std::set<std::string> FreeSymbols(const Expression& expression);

}  // namespace spyre::compiler
