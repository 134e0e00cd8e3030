// SPDX-License-Identifier: Apache-2.0
// A size of a loop or a trip count that may hold symbols: a sum of products of symbols with
// rational factors, kept in one normal form, so that equal extents compare equal and a division is
// undone by the multiplication. Plain values, any thread.
//
// Errors: BadInput for text that is not such an expression, for a division by zero or by a sum of
// symbols, when a factor leaves 64 bits, and for a sum of more than 64 terms.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/compiler/ir/expression.h"

namespace spyre::compiler {

class Extent {
 public:
  Extent() = default;     // 0
  Extent(int64_t value);  // implicit: most extents are numbers
  static Extent Symbol(const std::string& name);
  static Extent From(const Expression& expression);  // integers, symbols, + - * /
  static Extent Parse(std::string_view text);

  bool is_number() const;        // an integer without symbols
  int64_t number() const;        // of such a one; throws BadInput otherwise
  std::string ToString() const;  // "128", "s0/4", "128/s0", "s0/4 + 1"; Parse gives it back

  friend Extent operator*(const Extent& a, const Extent& b);
  friend Extent operator/(const Extent& a, const Extent& b);  // exact, never rounded
  friend Extent operator+(const Extent& a, const Extent& b);
  friend bool operator==(const Extent& a, const Extent& b) {
    return a.number_ == b.number_ && a.terms_ == b.terms_;
  }
  friend bool operator!=(const Extent& a, const Extent& b) { return !(a == b); }

 private:
  struct Factor {  // in lowest terms, denominator above 0
    int64_t numerator = 0;
    int64_t denominator = 1;
    bool operator==(const Factor& other) const {
      return numerator == other.numerator && denominator == other.denominator;
    }
  };
  using Powers = std::map<std::string, int>;  // symbol -> exponent, never 0

  static Factor Reduced(int64_t numerator, int64_t denominator);
  static std::string TermText(const Powers& powers, const Factor& factor);
  void Add(const Powers& powers, const Factor& factor);
  size_t CountTerms() const { return terms_.size() + (number_.numerator == 0 ? 0 : 1); }
  // visit(powers, factor), the number first.
  template <typename Visit>
  void ForEachTerm(const Visit& visit) const {
    if (number_.numerator != 0) visit(Powers(), number_);
    for (const auto& [powers, factor] : terms_) visit(powers, factor);
  }

  Factor number_;                   // the term without symbols: most extents have no other
  std::map<Powers, Factor> terms_;  // the others; factors are never 0
};

// Row-major strides of a tensor of these sizes, in elements.
std::vector<Extent> ContiguousExtents(const std::vector<Extent>& size);

bool AllNumbers(const std::vector<Extent>& extents);
std::vector<int64_t> Numbers(const std::vector<Extent>& extents);  // throws BadInput for a symbol
std::vector<Extent> Extents(const std::vector<int64_t>& numbers);

}  // namespace spyre::compiler
