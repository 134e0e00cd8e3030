// SPDX-License-Identifier: Apache-2.0
#include "model/core/vector_math.h"

#include <array>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "model/contract/dlf_bits.h"
#include "model/core/vector_lanes.h"

namespace spyre::model {
namespace {

// Of two values: a if equal or a is NaN, b if b is NaN.
SPYRE_INLINE float Larger(float a, float b) {
  const float larger = a < b ? b : a;
  return b != b ? b : larger;
}
SPYRE_INLINE float Smaller(float a, float b) {
  const float smaller = b < a ? b : a;
  return b != b ? b : smaller;
}

template <BinaryFn kFn>
SPYRE_INLINE float Binary(float a, float b) {
  switch (kFn) {
    case BinaryFn::kAdd:
      return a + b;
    case BinaryFn::kSub:
      return a - b;
    case BinaryFn::kMul:
      return a * b;
    case BinaryFn::kDiv:
      return a / b;
    case BinaryFn::kMax:
      return Larger(a, b);
    case BinaryFn::kMin:
      return Smaller(a, b);
    case BinaryFn::kRevSub:
      return b - a;
    case BinaryFn::kRevDiv:
      return b / a;
    case BinaryFn::kEqual:
      return a == b ? 1.0F : 0.0F;
    case BinaryFn::kNotEqual:
      return a != b ? 1.0F : 0.0F;
    case BinaryFn::kGreater:
      return a > b ? 1.0F : 0.0F;
    case BinaryFn::kGreaterEqual:
      return a >= b ? 1.0F : 0.0F;
    case BinaryFn::kLess:
      return a < b ? 1.0F : 0.0F;
    case BinaryFn::kLessEqual:
      return a <= b ? 1.0F : 0.0F;
    case BinaryFn::kSelect:
    case BinaryFn::kNormScale:
      break;  // no functions of two values
  }
  return a;
}

template <typename Lanes, BinaryFn kFn>
SPYRE_INLINE void BinaryLanes(uint8_t flags, void* dst, const void* a, const void* b) {
  using Code = typename Lanes::Code;
  Code in_a[Lanes::kCount];
  Code in_b[Lanes::kCount];
  LoadLanes<Lanes>(in_a, a, (flags & kBroadcastALane0) != 0);
  LoadLanes<Lanes>(in_b, b, (flags & kBroadcastLane0) != 0);
  if (kFn == BinaryFn::kSelect) {
    Code old[Lanes::kCount];
    LoadLanes<Lanes>(old, dst, false);
    ForLanes<Code, Lanes::kCount>(dst, [&](int lane) SPYRE_INLINE_LAMBDA {
      return Lanes::Value(in_a[lane]) != 0 ? in_b[lane] : old[lane];
    });
    return;
  }
  ForLanes<Code, Lanes::kCount>(dst, [&](int lane) SPYRE_INLINE_LAMBDA {
    return Lanes::Round(Binary<kFn>(Lanes::Value(in_a[lane]), Lanes::Value(in_b[lane])));
  });
}

// kNormScale: mean and mean square in lanes 0 and 1 of a, epsilon in lane 0 of b.
template <typename Lanes>
void NormScale(void* dst, const void* a, const void* b) {
  typename Lanes::Code in[2];
  typename Lanes::Code epsilon;
  std::memcpy(in, a, sizeof in);
  std::memcpy(&epsilon, b, sizeof epsilon);
  const float mean = Lanes::Value(in[0]);
  const float variance = Lanes::Value(in[1]) - mean * mean;
  const float root = variance + Lanes::Value(epsilon);
  typename Lanes::Code result[Lanes::kCount] = {
      Lanes::Round(static_cast<float>(1.0 / std::sqrt(double{root})))};
  std::memcpy(dst, result, sizeof result);
}

// Calls body(constant) with `fn` as a compile-time constant, for the functions of two values.
template <typename Body>
SPYRE_INLINE void WithBinary(BinaryFn fn, Body body) {
  switch (fn) {
#define SPYRE_CASE(id, ...) \
  case BinaryFn::id:        \
    return body(std::integral_constant<BinaryFn, BinaryFn::id>{});
    SPYRE_BINARY_FUNCTIONS(SPYRE_CASE)
#undef SPYRE_CASE
  }
  throw BadInput("binary function {} of the vector unit is unknown; the largest is {}",
                 static_cast<int>(fn), kBinaryFnCount - 1);
}

// What a reduction makes of an element before it combines it.
template <ReduceFn kFn>
SPYRE_INLINE float Element(float x) {
  if (kFn == ReduceFn::kSumOfSquares) return x * x;
  if (kFn == ReduceFn::kAbsMax) return FloatOf(BitsOf(x) & 0x7FFFFFFF);
  return x;
}

template <ReduceFn kFn>
SPYRE_INLINE float Combine(float a, float b) {
  switch (kFn) {
    case ReduceFn::kSum:
    case ReduceFn::kSumOfSquares:
      return a + b;
    case ReduceFn::kMax:
    case ReduceFn::kAbsMax:
      return Larger(a, b);
    case ReduceFn::kMin:
      return Smaller(a, b);
    case ReduceFn::kProd:
      return a * b;
  }
  return a;
}

// Calls `fn` with the ReduceFn as a compile-time constant.
template <typename Fn>
SPYRE_INLINE auto WithReduce(ReduceFn reduce, Fn fn) {
  switch (reduce) {
#define SPYRE_CASE(id, ...) \
  case ReduceFn::id:        \
    return fn(std::integral_constant<ReduceFn, ReduceFn::id>{});
    SPYRE_REDUCE_FUNCTIONS(SPYRE_CASE)
#undef SPYRE_CASE
  }
  throw BadInput("reduction {} of the vector unit is unknown; the largest is {}",
                 static_cast<int>(reduce), kReduceFnCount - 1);
}

ReduceFn ReduceOf(uint8_t fn) { return static_cast<ReduceFn>(fn & kFnMask); }

// How kVround changes a value before it rounds it.
struct Scaling {
  float divide = 1.0F;  // x / 1 and x * 1 are x
  float multiply = 1.0F;
};
Scaling ScalingOf(uint8_t fn, uint64_t operand) {
  if ((fn & kRoundScale) != 0) return {1.0F, FloatOf(static_cast<uint32_t>(operand))};
  return {operand > 1 ? static_cast<float>(operand) : 1.0F, 1.0F};
}

}  // namespace

SPYRE_VECTOR_CLONES
void BinaryStick(uint8_t fn, void* dst, const void* a, const void* b) {
  const auto function = static_cast<BinaryFn>(fn & kFnMask);
  WithLanes(fn, [&](auto lanes) SPYRE_INLINE_LAMBDA {
    using Lanes = decltype(lanes);
    if (function == BinaryFn::kNormScale) return NormScale<Lanes>(dst, a, b);
    WithBinary(function, [&](auto constant) SPYRE_INLINE_LAMBDA {
      BinaryLanes<Lanes, constant()>(fn, dst, a, b);
    });
  });
}

float ReduceIdentity(ReduceFn fn) {
  return WithReduce(fn, [&](auto reduce) SPYRE_INLINE_LAMBDA {
    return static_cast<float>(IdentityOf(reduce()));
  });
}

float CombineFp32(ReduceFn fn, float a, float b) {
  return WithReduce(fn, [&](auto reduce) SPYRE_INLINE_LAMBDA { return Combine<reduce()>(a, b); });
}

float ReduceLanes(uint8_t fn, const void* a, int lanes) {
  const float identity = ReduceIdentity(ReduceOf(fn));
  return WithLanes(fn, [&](auto format) SPYRE_INLINE_LAMBDA {
    using Lanes = decltype(format);
    return WithReduce(ReduceOf(fn), [&](auto reduce) SPYRE_INLINE_LAMBDA {
      typename Lanes::Code in[Lanes::kCount];
      LoadLanes<Lanes>(in, a, false);
      float wide[Lanes::kCount];
      for (int lane = 0; lane < Lanes::kCount; ++lane) {
        wide[lane] = Element<reduce()>(Lanes::Value(in[lane]));
      }
      float result = identity;
      for (int lane = 0; lane < lanes; ++lane) result = Combine<reduce()>(result, wide[lane]);
      return result;
    });
  });
}

SPYRE_VECTOR_CLONES
void CombineStick(uint8_t fn, float* acc, const void* a) {
  WithLanes(fn, [&](auto format) SPYRE_INLINE_LAMBDA {
    using Lanes = decltype(format);
    float old[Lanes::kCount];
    typename Lanes::Code in[Lanes::kCount];
    std::memcpy(old, acc, sizeof old);
    LoadLanes<Lanes>(in, a, false);
    WithReduce(ReduceOf(fn), [&](auto reduce) SPYRE_INLINE_LAMBDA {
      ForLanes<float, Lanes::kCount>(acc, [&](int lane) SPYRE_INLINE_LAMBDA {
        return Combine<reduce()>(old[lane], Element<reduce()>(Lanes::Value(in[lane])));
      });
    });
  });
}

void CombineBlock(ReduceFn fn, float* dst, const float* a, const float* b, size_t count) {
  WithReduce(fn, [&](auto reduce) SPYRE_INLINE_LAMBDA {
    for (size_t i = 0; i < count; ++i) {
      float x;
      float y;
      std::memcpy(&x, a + i, sizeof x);
      std::memcpy(&y, b + i, sizeof y);
      x = Combine<reduce()>(x, y);
      std::memcpy(dst + i, &x, sizeof x);
    }
  });
}

SPYRE_VECTOR_CLONES
void RoundStick(uint8_t fn, void* dst, const float* acc, uint64_t operand) {
  const Scaling scaling = ScalingOf(fn, operand);
  WithLanes(fn, [&](auto format) SPYRE_INLINE_LAMBDA {
    using Lanes = decltype(format);
    using Code = typename Lanes::Code;
    const float divide = scaling.divide;
    const float multiply = scaling.multiply;
    if ((fn & (kRoundLane0 | kRoundLane1)) != 0) {
      float value;
      std::memcpy(&value, acc, sizeof value);
      const Code code = Lanes::Round(value / divide * multiply);
      const size_t lane = (fn & kRoundLane0) != 0 ? 0 : 1;
      if (lane == 0) std::memset(dst, 0, Lanes::kCount * sizeof code);
      std::memcpy(static_cast<uint8_t*>(dst) + lane * sizeof code, &code, sizeof code);
      return;
    }
    float in[Lanes::kCount];
    std::memcpy(in, acc, sizeof in);
    ForLanes<Code, Lanes::kCount>(dst, [&](int lane) SPYRE_INLINE_LAMBDA {
      return Lanes::Round(in[lane] / divide * multiply);
    });
  });
}

}  // namespace spyre::model
