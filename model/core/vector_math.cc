#include "model/core/vector_math.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "model/contract/dlf_bits.h"
#include "model/contract/error.h"
#include "model/contract/formats.h"

#define SPYRE_INLINE inline __attribute__((always_inline))

namespace spyre::model {
namespace {

constexpr uint16_t kSignBit = 0x8000;
constexpr int kUnaryCount = static_cast<int>(UnaryFn::kReciprocal) + 1;
constexpr int kCodes = 65536;

bool IsNinf(uint16_t code) { return (code & 0x7FFF) == 0x7FFF; }

// The real function in double. Its error is some 1e-16, the distance of every result from the
// nearest rounding boundary is larger (the test over all inputs holds that), so that rounding once
// from here is correct.
double Evaluate(UnaryFn fn, double x) {
  switch (fn) {
    case UnaryFn::kExp:
      return std::exp(x);
    case UnaryFn::kGelu:
      return 0.5 * x * std::erfc(-x * 0.70710678118654752440);
    case UnaryFn::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case UnaryFn::kTanh:
      return std::tanh(x);
    case UnaryFn::kSqrt:
      return std::sqrt(x);
    case UnaryFn::kRsqrt:
      return 1.0 / std::sqrt(x);
    case UnaryFn::kReciprocal:
      return 1.0 / x;
    default:
      throw BadInput("unary function {} of the vector unit is unknown; the largest is {}",
                     static_cast<int>(fn), kUnaryCount - 1);
  }
}

using Table = std::array<uint16_t, kCodes>;

const Table& TableOf(UnaryFn fn) {
  static std::array<std::unique_ptr<Table>, kUnaryCount> tables;
  static std::array<std::once_flag, kUnaryCount> built;
  const auto index = static_cast<size_t>(fn);
  if (index >= tables.size()) Evaluate(fn, 0);  // says what is wrong
  std::call_once(built[index], [&] {
    auto table = std::make_unique<Table>();
    for (int code = 0; code < kCodes; ++code) {
      const auto input = static_cast<uint16_t>(code);
      (*table)[code] =
          IsNinf(input) ? kDlfNan : DlfFromDouble(Evaluate(fn, double{DlfToFloat(input)}));
    }
    tables[index] = std::move(table);
  });
  return *tables[index];
}

// The functions that are simpler on the code than through a table.
SPYRE_INLINE uint16_t OnCode(UnaryFn fn, uint16_t a) {
  const bool ninf = (a & 0x7FFF) == 0x7FFF;
  switch (fn) {
    case UnaryFn::kNeg:
      return ninf ? kDlfNan : static_cast<uint16_t>(a ^ kSignBit);
    case UnaryFn::kAbs:
      return static_cast<uint16_t>(a & 0x7FFF);
    case UnaryFn::kRelu:
      return ninf ? kDlfNan : ((a & kSignBit) != 0 ? uint16_t{0} : a);
    default:
      return a;  // kCopy
  }
}

// fn over `count` elements read and written by `load` and `store`; the loop vectorises because fn
// and both accessors are inlined. The results go through a local block so that dst may be an
// operand.
template <typename Out, typename Fn>
SPYRE_INLINE void ForLanes(void* dst, Fn fn) {
  Out result[kStickLanes];
  for (int lane = 0; lane < kStickLanes; ++lane) result[lane] = fn(lane);
  std::memcpy(dst, result, sizeof result);
}

template <UnaryFn kFn>
SPYRE_INLINE void CodeStick(uint16_t* dst, const uint16_t* a) {
  uint16_t in[kStickLanes];
  std::memcpy(in, a, sizeof in);
  ForLanes<uint16_t>(dst, [&](int lane) { return OnCode(kFn, in[lane]); });
}

SPYRE_INLINE float Larger(float a, float b) {
  const float larger = a < b ? b : a;  // a if equal or a is NaN
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
  }
  return a;
}

template <BinaryFn kFn>
SPYRE_INLINE void BinaryLanes(uint16_t* dst, const uint16_t* a, const uint16_t* b,
                              bool broadcast_lane0) {
  uint16_t in_a[kStickLanes];
  uint16_t in_b[kStickLanes];
  std::memcpy(in_a, a, sizeof in_a);
  if (broadcast_lane0) {
    uint16_t first;
    std::memcpy(&first, b, sizeof first);
    for (uint16_t& lane : in_b) lane = first;
  } else {
    std::memcpy(in_b, b, sizeof in_b);
  }
  ForLanes<uint16_t>(dst, [&](int lane) {
    const float value =
        Binary<kFn>(FloatOf(FloatBitsFromDlf(in_a[lane])), FloatOf(FloatBitsFromDlf(in_b[lane])));
    return static_cast<uint16_t>(DlfFromFloatBits(BitsOf(value)));
  });
}

template <ReduceFn kFn>
SPYRE_INLINE float Combine(float a, float b) {
  return kFn == ReduceFn::kSum ? a + b : (kFn == ReduceFn::kMax ? Larger(a, b) : Smaller(a, b));
}

// Calls `fn` with the ReduceFn as a compile-time constant.
template <typename Fn>
SPYRE_INLINE auto WithReduce(ReduceFn reduce, Fn fn) {
  switch (reduce) {
    case ReduceFn::kSum:
      return fn(std::integral_constant<ReduceFn, ReduceFn::kSum>{});
    case ReduceFn::kMax:
      return fn(std::integral_constant<ReduceFn, ReduceFn::kMax>{});
    case ReduceFn::kMin:
      return fn(std::integral_constant<ReduceFn, ReduceFn::kMin>{});
  }
  throw BadInput("reduction {} of the vector unit is unknown; 0 sum, 1 max, 2 min",
                 static_cast<int>(reduce));
}

}  // namespace

uint16_t ApplyUnary(UnaryFn fn, uint16_t a) {
  return fn <= UnaryFn::kRelu ? OnCode(fn, a) : TableOf(fn)[a];
}

SPYRE_VECTOR_CLONES
void UnaryStick(UnaryFn fn, uint16_t* dst, const uint16_t* a) {
  switch (fn) {
    case UnaryFn::kCopy:
      return CodeStick<UnaryFn::kCopy>(dst, a);
    case UnaryFn::kNeg:
      return CodeStick<UnaryFn::kNeg>(dst, a);
    case UnaryFn::kAbs:
      return CodeStick<UnaryFn::kAbs>(dst, a);
    case UnaryFn::kRelu:
      return CodeStick<UnaryFn::kRelu>(dst, a);
    default:
      break;
  }
  const Table& table = TableOf(fn);
  uint16_t in[kStickLanes];
  std::memcpy(in, a, sizeof in);
  ForLanes<uint16_t>(dst, [&](int lane) { return table[in[lane]]; });
}

SPYRE_VECTOR_CLONES
void BinaryStick(BinaryFn fn, uint16_t* dst, const uint16_t* a, const uint16_t* b,
                 bool broadcast_lane0) {
  switch (fn) {
    case BinaryFn::kAdd:
      return BinaryLanes<BinaryFn::kAdd>(dst, a, b, broadcast_lane0);
    case BinaryFn::kSub:
      return BinaryLanes<BinaryFn::kSub>(dst, a, b, broadcast_lane0);
    case BinaryFn::kMul:
      return BinaryLanes<BinaryFn::kMul>(dst, a, b, broadcast_lane0);
    case BinaryFn::kDiv:
      return BinaryLanes<BinaryFn::kDiv>(dst, a, b, broadcast_lane0);
    case BinaryFn::kMax:
      return BinaryLanes<BinaryFn::kMax>(dst, a, b, broadcast_lane0);
    case BinaryFn::kMin:
      return BinaryLanes<BinaryFn::kMin>(dst, a, b, broadcast_lane0);
  }
  throw BadInput("binary function {} of the vector unit is unknown; the largest is {}",
                 static_cast<int>(fn), static_cast<int>(BinaryFn::kMin));
}

float ReduceIdentity(ReduceFn fn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return WithReduce(fn, [&](auto reduce) {
    return reduce == ReduceFn::kSum ? 0.0F : (reduce == ReduceFn::kMax ? -kInfinity : kInfinity);
  });
}

float CombineFp32(ReduceFn fn, float a, float b) {
  return WithReduce(fn, [&](auto reduce) { return Combine<reduce()>(a, b); });
}

float ReduceLanes(ReduceFn fn, const uint16_t* a, int lanes) {
  const float identity = ReduceIdentity(fn);
  return WithReduce(fn, [&](auto reduce) {
    float wide[kStickLanes];
    for (int lane = 0; lane < kStickLanes; ++lane) {
      uint16_t code;
      std::memcpy(&code, a + lane, sizeof code);
      wide[lane] = FloatOf(FloatBitsFromDlf(code));
    }
    float result = identity;
    for (int lane = 0; lane < lanes; ++lane) result = Combine<reduce()>(result, wide[lane]);
    return result;
  });
}

SPYRE_VECTOR_CLONES
void CombineStick(ReduceFn fn, float* acc, const uint16_t* a) {
  float old[kStickLanes];
  uint16_t in[kStickLanes];
  std::memcpy(old, acc, sizeof old);
  std::memcpy(in, a, sizeof in);
  WithReduce(fn, [&](auto reduce) {
    ForLanes<float>(acc, [&](int lane) {
      return Combine<reduce()>(old[lane], FloatOf(FloatBitsFromDlf(in[lane])));
    });
  });
}

void CombineBlock(ReduceFn fn, float* dst, const float* a, const float* b, size_t count) {
  WithReduce(fn, [&](auto reduce) {
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
void RoundStick(uint16_t* dst, const float* acc, int64_t divisor) {
  const float by = divisor > 1 ? static_cast<float>(divisor) : 1.0F;  // x / 1 is x
  float in[kStickLanes];
  std::memcpy(in, acc, sizeof in);
  ForLanes<uint16_t>(dst, [&](int lane) {
    return static_cast<uint16_t>(DlfFromFloatBits(BitsOf(in[lane] / by)));
  });
}

void RoundLane0(uint16_t* dst, float acc, int64_t divisor) {
  uint16_t result[kStickLanes] = {
      DlfFromFloat(divisor > 1 ? acc / static_cast<float>(divisor) : acc)};
  std::memcpy(dst, result, sizeof result);
}

}  // namespace spyre::model
