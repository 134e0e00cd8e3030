// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/extent.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/joined.h"
#include "base/ranges.h"
#include "runtime/compiler/ir/checked.h"

namespace spyre::compiler {
namespace {

constexpr size_t kMostTerms = 64;

}  // namespace

Extent::Factor Extent::Reduced(int64_t numerator, int64_t denominator) {
  for (const int64_t side : {numerator, denominator}) {
    // Its magnitude does not fit.
    if (side == std::numeric_limits<int64_t>::min()) throw BadInput("{} is not a size", side);
  }
  if (denominator < 0) {
    numerator = CheckedProduct(numerator, -1);
    denominator = CheckedProduct(denominator, -1);
  }
  const int64_t common = std::gcd(numerator, denominator);
  return {numerator / common, denominator / common};
}

void Extent::Add(const Powers& powers, const Factor& factor) {
  if (factor.numerator == 0) return;
  Factor& term = powers.empty() ? number_ : terms_[powers];
  const bool is_new = term.numerator == 0;
  term = is_new ? factor
                : Reduced(CheckedSum(CheckedProduct(term.numerator, factor.denominator),
                                     CheckedProduct(factor.numerator, term.denominator)),
                          CheckedProduct(term.denominator, factor.denominator));
  if (CountTerms() > kMostTerms) throw BadInput("a size has more than {} terms", kMostTerms);
  if (term.numerator == 0 && !powers.empty()) terms_.erase(powers);
}

Extent::Extent(int64_t value) : number_{value, 1} {}

Extent Extent::Symbol(const std::string& name) {
  Extent extent;
  extent.Add({{name, 1}}, {1, 1});
  return extent;
}

Extent Extent::From(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::kNumber:
      return {expression.number};
    case Expression::Kind::kSymbol:
      return Symbol(expression.symbol);
    case Expression::Kind::kAdd:
    case Expression::Kind::kMultiply: {
      const bool add = expression.kind == Expression::Kind::kAdd;
      Extent result = add ? 0 : 1;
      for (const Expression& operand : expression.operands) {
        result = add ? result + From(operand) : result * From(operand);
      }
      return result;
    }
    case Expression::Kind::kDivide:
      return From(expression.operands.at(0)) / From(expression.operands.at(1));
    default:
      throw BadInput("'{}' is not a size: it may have integers, symbols, + - * and /",
                     compiler::ToString(expression));
  }
}

Extent Extent::Parse(std::string_view text) { return From(ParseExpression(text)); }

bool Extent::is_number() const { return terms_.empty() && number_.denominator == 1; }

int64_t Extent::number() const {
  if (!is_number()) throw BadInput("{} is symbolic; an integer is needed", ToString());
  return number_.numerator;
}

Extent operator+(const Extent& a, const Extent& b) {
  Extent sum = a;
  b.ForEachTerm([&](const auto& powers, const auto& factor) { sum.Add(powers, factor); });
  return sum;
}

Extent operator*(const Extent& a, const Extent& b) {
  Extent product;
  a.ForEachTerm([&](const Extent::Powers& a_powers, const Extent::Factor& a_factor) {
    b.ForEachTerm([&](const Extent::Powers& b_powers, const Extent::Factor& b_factor) {
      Extent::Powers powers = a_powers;
      for (const auto& [symbol, power] : b_powers) {
        if ((powers[symbol] += power) == 0) powers.erase(symbol);
      }
      // Crosswise first: the parts stay small, and nothing overflows that need not.
      const Extent::Factor x = Extent::Reduced(a_factor.numerator, b_factor.denominator);
      const Extent::Factor y = Extent::Reduced(b_factor.numerator, a_factor.denominator);
      product.Add(powers, {CheckedProduct(x.numerator, y.numerator),
                           CheckedProduct(x.denominator, y.denominator)});
    });
  });
  return product;
}

Extent operator/(const Extent& a, const Extent& b) {
  if (b.CountTerms() != 1) {
    throw BadInput("{} cannot be divided by {}", a.ToString(), b.ToString());
  }
  Extent reciprocal;
  b.ForEachTerm([&](const Extent::Powers& powers, const Extent::Factor& factor) {
    Extent::Powers inverse;
    for (const auto& [symbol, power] : powers) inverse[symbol] = -power;
    reciprocal.Add(inverse, Extent::Reduced(factor.denominator, factor.numerator));
  });
  return a * reciprocal;
}

std::string Extent::TermText(const Powers& powers, const Factor& factor) {
  std::vector<std::string> above;
  std::vector<std::string> below;
  if (factor.numerator != 1) above.push_back(std::to_string(factor.numerator));
  if (factor.denominator != 1) below.push_back(std::to_string(factor.denominator));
  for (const auto& [symbol, power] : powers) {
    auto& side = power > 0 ? above : below;
    side.insert(side.end(), static_cast<size_t>(std::abs(power)), symbol);
  }
  if (above.empty()) above.emplace_back("1");
  std::string text = fmt::format("{}", Joined(above, "*"));
  if (below.size() == 1) text += "/" + below.front();
  if (below.size() > 1) text += fmt::format("/({})", Joined(below, "*"));
  return text;
}

std::string Extent::ToString() const {
  if (CountTerms() == 0) return "0";
  std::string text;
  ForEachTerm([&](const Powers& powers, const Factor& factor) {  // the number is written last
    text = TermText(powers, factor) + (text.empty() ? "" : " + " + text);
  });
  return text;
}

std::vector<Extent> ContiguousExtents(const std::vector<Extent>& size) {
  std::vector<Extent> stride(size.size(), 1);
  for (size_t i = size.size(); i-- > 1;) stride[i - 1] = stride[i] * size[i];
  return stride;
}

bool AllNumbers(const std::vector<Extent>& extents) {
  return AllFit(extents, [](const Extent& extent) { return extent.is_number(); });
}

std::vector<int64_t> Numbers(const std::vector<Extent>& extents) {
  std::vector<int64_t> numbers;
  numbers.reserve(extents.size());
  for (const Extent& extent : extents) numbers.push_back(extent.number());
  return numbers;
}

std::vector<Extent> Extents(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

}  // namespace spyre::compiler
