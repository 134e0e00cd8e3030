// SPDX-License-Identifier: Apache-2.0
// A value of bundle.mlir as code generation can use it: a constant, plus arguments of the function,
// plus a step for each iteration of the loops around it. Plain data; arithmetic is checked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace spyre::compiler {

struct AffineValue {
  int64_t constant = 0;
  std::map<int, int64_t> arguments;  // position in Bundle::arguments -> coefficient, none is 0
  std::vector<int64_t> loops;        // bytes per iteration, outermost first; may end early
  // A dimension in units of so many elements, rounded up: nothing else is in the value then.
  int64_t divisor = 1;

  static AffineValue Constant(int64_t value);
  static AffineValue Argument(int position);
  static AffineValue Loop(size_t depth, int64_t first, int64_t step);

  bool IsConstant() const;
  // The one argument of which this is the plain value (divided by `divisor`).
  std::optional<int> PlainArgument() const;
};

// Nothing when the result is not such a value: an overflow, a product of two values that vary, a
// quotient or remainder of one, a divisor below 1.
std::optional<AffineValue> Sum(const AffineValue& a, const AffineValue& b);
std::optional<AffineValue> Product(const AffineValue& a, const AffineValue& b);
std::optional<AffineValue> FloorQuotient(const AffineValue& a, const AffineValue& b);
std::optional<AffineValue> CeilQuotient(const AffineValue& a, const AffineValue& b);
std::optional<AffineValue> Remainder(const AffineValue& a, const AffineValue& b);

}  // namespace spyre::compiler
