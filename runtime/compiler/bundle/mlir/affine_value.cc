// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/bundle/mlir/affine_value.h"

#include <algorithm>
#include <limits>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

// a * b + c, or nothing.
std::optional<int64_t> MultiplyAdd(int64_t a, int64_t b, int64_t c) {
  int64_t product = 0;
  int64_t sum = 0;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum)) {
    return std::nullopt;
  }
  return sum;
}

// scale * a + b
std::optional<AffineValue> Combine(const AffineValue& a, int64_t scale, const AffineValue& b) {
  if (a.divisor != 1 || b.divisor != 1) return std::nullopt;
  AffineValue result = b;
  const auto constant = MultiplyAdd(a.constant, scale, b.constant);
  if (!constant) return std::nullopt;
  result.constant = *constant;
  for (const auto& [argument, coefficient] : a.arguments) {
    const auto sum = MultiplyAdd(coefficient, scale, result.arguments[argument]);
    if (!sum) return std::nullopt;
    result.arguments[argument] = *sum;
    if (*sum == 0) result.arguments.erase(argument);
  }
  result.loops.resize(std::max(a.loops.size(), b.loops.size()), 0);
  for (size_t i = 0; i < a.loops.size(); ++i) {
    const auto sum = MultiplyAdd(a.loops[i], scale, result.loops[i]);
    if (!sum) return std::nullopt;
    result.loops[i] = *sum;
  }
  return result;
}

// Both constants, the divisor at least 1.
bool CanDivide(const AffineValue& a, const AffineValue& b) {
  return a.IsConstant() && b.IsConstant() && b.constant >= 1;
}

int64_t Floor(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

AffineValue AffineValue::Constant(int64_t value) {
  AffineValue result;
  result.constant = value;
  return result;
}

AffineValue AffineValue::Argument(int position) {
  AffineValue result;
  result.arguments[position] = 1;
  return result;
}

AffineValue AffineValue::Loop(size_t depth, int64_t first, int64_t step) {
  AffineValue result;
  result.constant = first;
  result.loops.assign(depth + 1, 0);
  result.loops[depth] = step;
  return result;
}

bool AffineValue::IsConstant() const {
  return divisor == 1 && arguments.empty() && AllFit(loops, [](int64_t step) { return step == 0; });
}

std::optional<int> AffineValue::PlainArgument() const {
  AffineValue rest = *this;
  rest.arguments.clear();
  rest.divisor = 1;
  const bool plain = rest.IsConstant() && rest.constant == 0 && arguments.size() == 1 &&
                     arguments.begin()->second == 1;
  if (!plain) return std::nullopt;
  return arguments.begin()->first;
}

std::optional<AffineValue> Sum(const AffineValue& a, const AffineValue& b) {
  return Combine(a, 1, b);
}

std::optional<AffineValue> Product(const AffineValue& a, const AffineValue& b) {
  if (b.IsConstant()) return Combine(a, b.constant, AffineValue());
  if (a.IsConstant()) return Combine(b, a.constant, AffineValue());
  return std::nullopt;
}

std::optional<AffineValue> FloorQuotient(const AffineValue& a, const AffineValue& b) {
  if (!CanDivide(a, b)) return std::nullopt;
  return AffineValue::Constant(Floor(a.constant, b.constant));
}

std::optional<AffineValue> CeilQuotient(const AffineValue& a, const AffineValue& b) {
  if (CanDivide(a, b)) {
    const int64_t floor = Floor(a.constant, b.constant);
    return AffineValue::Constant(a.constant % b.constant == 0 ? floor : floor + 1);
  }
  if (!a.PlainArgument() || !b.IsConstant() || b.constant < 1) return std::nullopt;
  AffineValue result = a;
  if (__builtin_mul_overflow(a.divisor, b.constant, &result.divisor)) return std::nullopt;
  return result;
}

std::optional<AffineValue> Remainder(const AffineValue& a, const AffineValue& b) {
  if (!CanDivide(a, b)) return std::nullopt;
  return AffineValue::Constant(a.constant - Floor(a.constant, b.constant) * b.constant);
}

}  // namespace spyre::compiler
