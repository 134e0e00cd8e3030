// SPDX-License-Identifier: Apache-2.0
// What the functions of the vector instructions give for one element: written from program.h alone,
// for the interpreter of programs and for what kernels should store.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "model/contract/program.h"

namespace spyre::compiler::harness {

template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
}

inline double UnaryValue(UnaryFn fn, double x) {
  switch (fn) {
    case UnaryFn::kCopy:
      return x;
    case UnaryFn::kNeg:
      return -x;
    case UnaryFn::kAbs:
      return std::fabs(x);
    case UnaryFn::kRelu:
      return x > 0 ? x : x == x ? 0.0 : x;
    case UnaryFn::kExp:
      return std::exp(x);
    case UnaryFn::kGelu:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case UnaryFn::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryFn::kTanh:
      return std::tanh(x);
    case UnaryFn::kSqrt:
      return std::sqrt(x);
    case UnaryFn::kRsqrt:
      return 1 / std::sqrt(x);
    case UnaryFn::kReciprocal:
      return 1 / x;
    case UnaryFn::kLog:
      return std::log(x);
    case UnaryFn::kSilu:
      return x / (1 + std::exp(-x));
    case UnaryFn::kSoftplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case UnaryFn::kMish:
      return x * std::tanh(UnaryValue(UnaryFn::kSoftplus, x));
    case UnaryFn::kRelu6:
      return x > 6 ? 6 : x > 0 ? x : x == x ? 0.0 : x;
    case UnaryFn::kFloor:
      return std::floor(x);
  }
  Fail("unary function {}", static_cast<int>(fn));
}

inline float BinaryValue(BinaryFn fn, float a, float b) {
  switch (fn) {
    case BinaryFn::kAdd:
      return a + b;
    case BinaryFn::kSub:
      return a - b;
    case BinaryFn::kMul:
      return a * b;
    case BinaryFn::kDiv:
      return a / b;
    case BinaryFn::kMax:
      return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    case BinaryFn::kMin:
      return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case BinaryFn::kRevSub:
      return b - a;
    case BinaryFn::kRevDiv:
      return b / a;
    case BinaryFn::kEqual:
      return a == b ? 1 : 0;
    case BinaryFn::kNotEqual:
      return a == b ? 0 : 1;
    case BinaryFn::kGreater:
      return a > b ? 1 : 0;
    case BinaryFn::kGreaterEqual:
      return a >= b ? 1 : 0;
    case BinaryFn::kLess:
      return a < b ? 1 : 0;
    case BinaryFn::kLessEqual:
      return a <= b ? 1 : 0;
    case BinaryFn::kSelect:
    case BinaryFn::kNormScale:
      break;  // not a function of two values
  }
  Fail("binary function {}", static_cast<int>(fn));
}

inline float FoldElement(ReduceFn fn, float x) {
  return fn == ReduceFn::kSumOfSquares ? x * x : fn == ReduceFn::kAbsMax ? std::fabs(x) : x;
}
inline float FoldValue(ReduceFn fn, float a, float b) {
  if (fn == ReduceFn::kSum || fn == ReduceFn::kSumOfSquares) return a + b;
  if (fn == ReduceFn::kProd) return a * b;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(b) ? b : a;
  return fn == ReduceFn::kMin ? std::min(a, b) : std::max(a, b);
}
inline float FoldStart(ReduceFn fn) {
  if (fn == ReduceFn::kProd) return 1.0F;
  return fn == ReduceFn::kMax ? -INFINITY : fn == ReduceFn::kMin ? INFINITY : 0.0F;
}

}  // namespace spyre::compiler::harness
