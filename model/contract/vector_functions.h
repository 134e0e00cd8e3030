// SPDX-License-Identifier: Apache-2.0
// The functions of the vector unit: one line each. Enumerations, names of the assembler and the
// tables of the documentation come from these lines. A function's number is its place in the list;
// programs on disk hold it, so new lines go to the end.
//
// Each line is X(identifier, name, meaning). model/core computes them; cosim/reference says by name
// what they mean in real numbers. Pure data, any thread.
#pragma once

#include <cmath>
#include <cstdint>

namespace spyre {

// Of two operands. Comparisons give 1.0 or 0.0.
#define SPYRE_BINARY_FUNCTIONS(X)                                             \
  X(kAdd, "add", "a + b")                                                     \
  X(kSub, "sub", "a - b")                                                     \
  X(kMul, "mul", "a * b")                                                     \
  X(kDiv, "div", "a / b")                                                     \
  X(kMax, "max", "the larger; NaN if either is")                              \
  X(kMin, "min", "the smaller; NaN if either is")                             \
  X(kRevSub, "revsub", "b - a")                                               \
  X(kRevDiv, "revdiv", "b / a")                                               \
  X(kEqual, "equal", "a == b")                                                \
  X(kNotEqual, "notequal", "a != b")                                          \
  X(kGreater, "greater", "a > b")                                             \
  X(kGreaterEqual, "greaterequal", "a >= b")                                  \
  X(kLess, "less", "a < b")                                                   \
  X(kLessEqual, "lessequal", "a <= b")                                        \
  X(kSelect, "select", "b where a is not 0; elsewhere the destination stays") \
  X(kNormScale, "normscale", "lane 0: 1 / sqrt(a[1] - a[0]^2 + b[0]); other lanes: 0")

// Of one operand.
#define SPYRE_UNARY_FUNCTIONS(X)              \
  X(kCopy, "copy", "x")                       \
  X(kNeg, "neg", "-x")                        \
  X(kAbs, "abs", "|x|")                       \
  X(kRelu, "relu", "max(x, 0)")               \
  X(kExp, "exp", "e^x")                       \
  X(kGelu, "gelu", "x/2 * erfc(-x / sqrt 2)") \
  X(kSigmoid, "sigmoid", "1 / (1 + exp(-x))") \
  X(kTanh, "tanh", "tanh x")                  \
  X(kSqrt, "sqrt", "the square root")         \
  X(kRsqrt, "rsqrt", "1 / sqrt(x)")           \
  X(kReciprocal, "reciprocal", "1 / x")       \
  X(kLog, "log", "the natural logarithm")     \
  X(kSilu, "silu", "x * sigmoid(x)")          \
  X(kSoftplus, "softplus", "log(1 + exp(x))") \
  X(kMish, "mish", "x * tanh(softplus(x))")   \
  X(kRelu6, "relu6", "min(max(x, 0), 6)")     \
  X(kFloor, "floor", "the largest integer <= x")

// Of many elements, in fp32: X(identifier, name, value of no elements, meaning).
#define SPYRE_REDUCE_FUNCTIONS(X)                                     \
  X(kSum, "sum", 0, "the sum")                                        \
  X(kMax, "max", -HUGE_VAL, "the largest; NaN if any is")             \
  X(kMin, "min", HUGE_VAL, "the smallest; NaN if any is")             \
  X(kSumOfSquares, "sumofsquares", 0, "the sum of squares")           \
  X(kAbsMax, "absmax", 0, "the largest magnitude; NaN if any is NaN") \
  X(kProd, "prod", 1, "the product")

#define SPYRE_ENUMERATOR(id, ...) id,
enum class BinaryFn : uint8_t { SPYRE_BINARY_FUNCTIONS(SPYRE_ENUMERATOR) };
enum class UnaryFn : uint8_t { SPYRE_UNARY_FUNCTIONS(SPYRE_ENUMERATOR) };
enum class ReduceFn : uint8_t { SPYRE_REDUCE_FUNCTIONS(SPYRE_ENUMERATOR) };
#undef SPYRE_ENUMERATOR

#define SPYRE_ONE(...) +1  // NOLINT(bugprone-macro-parentheses): a sum of them
inline constexpr int kBinaryFnCount = 0 SPYRE_BINARY_FUNCTIONS(SPYRE_ONE);
inline constexpr int kUnaryFnCount = 0 SPYRE_UNARY_FUNCTIONS(SPYRE_ONE);
inline constexpr int kReduceFnCount = 0 SPYRE_REDUCE_FUNCTIONS(SPYRE_ONE);
#undef SPYRE_ONE

constexpr double IdentityOf(ReduceFn fn) {
#define SPYRE_IDENTITY(id, name, identity, ...) identity,
  constexpr double kIdentities[] = {SPYRE_REDUCE_FUNCTIONS(SPYRE_IDENTITY)};
#undef SPYRE_IDENTITY
  return kIdentities[static_cast<int>(fn)];
}

}  // namespace spyre
