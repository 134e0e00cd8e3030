// SPDX-License-Identifier: Apache-2.0
// The unary functions of the vector unit: on codes, through tables, or on fp32.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "model/contract/dlf_bits.h"
#include "model/contract/formats.h"
#include "model/core/vector_lanes.h"
#include "model/core/vector_math.h"

namespace spyre::model {
namespace {

constexpr uint16_t kSignBit = 0x8000;
constexpr uint16_t kDlfSix = (kDlfBias + 2) << kDlfFractionBits | 256;  // 1.5 * 2^2
constexpr int kCodes = 65536;

bool IsNinf(uint16_t code) { return (code & 0x7FFF) == 0x7FFF; }

// log(1 + exp(x)) without overflow.
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

// x * tanh(softplus(x)): with e = exp(x), tanh(log(1 + e)) is (e^2 + 2e) / (e^2 + 2e + 2).
double Mish(double x) {
  constexpr double kLarge = 40;  // from here on the factor is 1 in double
  if (x > kLarge) return x;
  const double e = std::exp(x);
  const double sum = e * (e + 2);
  return x * (sum / (sum + 2));
}

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
    case UnaryFn::kLog:
      return std::log(x);
    case UnaryFn::kSilu:
      return x / (1.0 + std::exp(-x));
    case UnaryFn::kSoftplus:
      return Softplus(x);
    case UnaryFn::kMish:
      return Mish(x);
    case UnaryFn::kFloor:
      return std::floor(x);
    default:
      throw BadInput("unary function {} of the vector unit is unknown; the largest is {}",
                     static_cast<int>(fn), kUnaryFnCount - 1);
  }
}

using Table = std::array<uint16_t, kCodes>;

const Table& TableOf(UnaryFn fn) {
  static std::array<std::unique_ptr<Table>, kUnaryFnCount> tables;
  static std::array<std::once_flag, kUnaryFnCount> built;
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
constexpr bool IsOnCode(UnaryFn fn) { return fn <= UnaryFn::kRelu || fn == UnaryFn::kRelu6; }

SPYRE_INLINE uint16_t OnCode(UnaryFn fn, uint16_t a) {
  const bool ninf = (a & 0x7FFF) == 0x7FFF;
  const uint16_t positive = (a & kSignBit) != 0 ? uint16_t{0} : a;
  switch (fn) {
    case UnaryFn::kNeg:
      return ninf ? kDlfNan : static_cast<uint16_t>(a ^ kSignBit);
    case UnaryFn::kAbs:
      return static_cast<uint16_t>(a & 0x7FFF);
    case UnaryFn::kRelu:
      return ninf ? kDlfNan : positive;
    case UnaryFn::kRelu6:
      return ninf ? kDlfNan : std::min(positive, kDlfSix);  // codes of positives are in order
    default:
      return a;  // kCopy
  }
}

template <UnaryFn kFn>
SPYRE_INLINE void CodeStick(uint16_t* dst, const uint16_t* in) {
  ForLanes<uint16_t, kStickLanes>(
      dst, [&](int lane) SPYRE_INLINE_LAMBDA { return OnCode(kFn, in[lane]); });
}

SPYRE_VECTOR_CLONES
void Sen169Stick(UnaryFn fn, uint16_t* dst, const uint16_t* in) {
  switch (fn) {
    case UnaryFn::kCopy:
      return CodeStick<UnaryFn::kCopy>(dst, in);
    case UnaryFn::kNeg:
      return CodeStick<UnaryFn::kNeg>(dst, in);
    case UnaryFn::kAbs:
      return CodeStick<UnaryFn::kAbs>(dst, in);
    case UnaryFn::kRelu:
      return CodeStick<UnaryFn::kRelu>(dst, in);
    case UnaryFn::kRelu6:
      return CodeStick<UnaryFn::kRelu6>(dst, in);
    default:
      break;
  }
  const Table& table = TableOf(fn);
  ForLanes<uint16_t, kStickLanes>(dst,
                                  [&](int lane) SPYRE_INLINE_LAMBDA { return table[in[lane]]; });
}

uint32_t OnFp32(UnaryFn fn, uint32_t a) {
  constexpr uint32_t kSign = 0x80000000;
  constexpr float kSix = 6;
  const float value = FloatOf(a);
  const bool nan = value != value;
  switch (fn) {
    case UnaryFn::kCopy:
      return a;
    case UnaryFn::kNeg:
      return nan ? kFloatNanBits : a ^ kSign;
    case UnaryFn::kAbs:
      return nan ? kFloatNanBits : a & ~kSign;
    case UnaryFn::kRelu:
      return nan ? kFloatNanBits : (value > 0 ? a : 0);
    case UnaryFn::kRelu6:
      return nan ? kFloatNanBits : (value > 0 ? BitsOf(std::min(value, kSix)) : 0);
    default:
      return Fp32Lanes::Round(static_cast<float>(Evaluate(fn, double{value})));
  }
}

}  // namespace

bool IsSimple(UnaryFn fn) { return IsOnCode(fn) || fn == UnaryFn::kFloor; }

uint16_t ApplyUnary(UnaryFn fn, uint16_t a) {
  return IsOnCode(fn) ? OnCode(fn, a) : TableOf(fn)[a];
}

float ApplyUnary(UnaryFn fn, float a) { return FloatOf(OnFp32(fn, BitsOf(a))); }

void UnaryStick(uint8_t fn, void* dst, const void* a) {
  const auto function = static_cast<UnaryFn>(fn & kFnMask);
  const bool lane0 = (fn & kBroadcastALane0) != 0;
  if ((fn & kFp32Sticks) != 0) {
    uint32_t in[kFp32StickLanes];
    LoadLanes<Fp32Lanes>(in, a, lane0);
    ForLanes<uint32_t, kFp32StickLanes>(
        dst, [&](int lane) SPYRE_INLINE_LAMBDA { return OnFp32(function, in[lane]); });
    return;
  }
  uint16_t in[kStickLanes];
  LoadLanes<Sen169Lanes>(in, a, lane0);
  Sen169Stick(function, static_cast<uint16_t*>(dst), in);
}

}  // namespace spyre::model
