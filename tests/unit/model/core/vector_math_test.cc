// SPDX-License-Identifier: Apache-2.0
#include "model/core/vector_math.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "base/error.h"
#include "model/contract/dlf_bits.h"
#include "model/contract/formats.h"

namespace spyre::model::vector_math_test {
namespace {

constexpr int kCodes = 65536;
using Stick = std::array<uint16_t, kStickLanes>;
using AccStick = std::array<float, kStickLanes>;
const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

#define SPYRE_VALUE(id, ...) UnaryFn::id,
constexpr UnaryFn kUnary[] = {SPYRE_UNARY_FUNCTIONS(SPYRE_VALUE)};
#undef SPYRE_VALUE
constexpr BinaryFn kBinary[] = {BinaryFn::kAdd,      BinaryFn::kSub,      BinaryFn::kMul,
                                BinaryFn::kDiv,      BinaryFn::kMax,      BinaryFn::kMin,
                                BinaryFn::kRevSub,   BinaryFn::kRevDiv,   BinaryFn::kEqual,
                                BinaryFn::kNotEqual, BinaryFn::kGreater,  BinaryFn::kGreaterEqual,
                                BinaryFn::kLess,     BinaryFn::kLessEqual};

bool IsNinf(int code) { return (code & 0x7FFF) == 0x7FFF; }

// The value the bits of a positive code would have, also for 0 (2^-31) and NINF (2^33 - 2^23): the
// grid on which results are rounded.
long double Grid(int code) { return std::ldexp(1 + (code & 511) / 512.0L, (code >> 9) - 31); }

// Ties away from zero: code c holds what lies in [midpoint(c - 1, c), midpoint(c, c + 1)).
uint16_t RoundLongDouble(long double value) {
  if (std::isnan(value)) return kDlfNan;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  const long double magnitude = std::fabs(value);
  int low = 0;
  int high = 0x7FFF;
  while (low < high) {  // the largest code whose lower boundary is not above the magnitude
    const int middle = (low + high + 1) / 2;
    if ((Grid(middle - 1) + Grid(middle)) / 2 <= magnitude) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return static_cast<uint16_t>(sign | low);
}

long double Exact(UnaryFn fn, long double x) {
  switch (fn) {
    case UnaryFn::kExp:
      return std::exp(x);
    case UnaryFn::kGelu:
      return x * 0.5L * std::erfc(-x / std::sqrt(2.0L));
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
      return x > 50 ? x + std::exp(-x) : std::log1p(std::exp(x));
    case UnaryFn::kMish:
      return x * std::tanh(Exact(UnaryFn::kSoftplus, x));
    case UnaryFn::kFloor:
      return std::floor(x);
    case UnaryFn::kRelu:
      return x > 0 ? x : 0;
    case UnaryFn::kRelu6:
      return x > 6 ? 6 : x > 0 ? x : 0;
    case UnaryFn::kAbs:
      return std::fabs(x);
    case UnaryFn::kNeg:
      return -x;
    case UnaryFn::kCopy:
      return x;
    default:
      ADD_FAILURE() << "not a function of the value";
      return 0;
  }
}

class RealFunction : public testing::TestWithParam<UnaryFn> {};

TEST_P(RealFunction, IsCorrectlyRoundedForEveryInput) {
  for (int code = 0; code < kCodes; ++code) {
    const auto input = static_cast<uint16_t>(code);
    const uint16_t result = ApplyUnary(GetParam(), input);
    const uint16_t expected =
        IsNinf(code) ? kDlfNan : RoundLongDouble(Exact(GetParam(), DlfToFloat(input)));
    ASSERT_EQ(result, expected) << "input " << code << " = " << DlfToFloat(input);
  }
}

TEST_P(RealFunction, IsWithinHalfAUnitInTheLastPlaceForEveryInput) {
  for (int code = 0; code < kCodes; ++code) {
    const auto input = static_cast<uint16_t>(code);
    const uint16_t result = ApplyUnary(GetParam(), input);
    if (IsNinf(code) || IsNinf(result) || (result & 0x7FFF) == 0) continue;
    const long double unit = std::ldexp(1 / 512.0L, ((result >> 9) & 63) - 31);
    const long double error = std::fabs(DlfToFloat(result) - Exact(GetParam(), DlfToFloat(input)));
    ASSERT_LE(error, unit / 2) << "input " << code << " = " << DlfToFloat(input);
  }
}

INSTANTIATE_TEST_SUITE_P(VectorMath, RealFunction,
                         testing::Values(UnaryFn::kExp, UnaryFn::kGelu, UnaryFn::kSigmoid,
                                         UnaryFn::kTanh, UnaryFn::kSqrt, UnaryFn::kRsqrt,
                                         UnaryFn::kReciprocal, UnaryFn::kLog, UnaryFn::kSilu,
                                         UnaryFn::kSoftplus, UnaryFn::kMish, UnaryFn::kFloor));

// Every exponent, both signs, and what lies near 0 and 1.
TEST(VectorMath, Fp32FunctionsAreWithinTheDocumentedErrorOnSamples) {
  std::mt19937 random(23);
  for (const UnaryFn fn : kUnary) {
    for (int sample = 0; sample < 200'000; ++sample) {
      const bool tame = sample % 2 == 0;
      const float input = tame ? static_cast<float>(static_cast<int32_t>(random())) * 0x1p-27F
                               : FloatOf(static_cast<uint32_t>(random()));
      if (std::isnan(input) || std::isinf(input)) continue;
      const float result = ApplyUnary(fn, input);
      const long double exact = Exact(fn, input);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(result)) << static_cast<int>(fn) << " of " << input;
        continue;
      }
      const long double nearest = static_cast<float>(exact);
      if (std::isinf(nearest)) {
        ASSERT_EQ(result, nearest);
        continue;
      }
      const int exponent = exact == 0 ? -126 : std::max(-126, std::ilogb(exact));
      const long double unit = std::ldexp(1.0L, exponent - 23);
      ASSERT_LE(std::fabs(result - exact), 0.501L * unit)
          << static_cast<int>(fn) << " of " << input;
    }
    EXPECT_EQ(BitsOf(ApplyUnary(fn, kNan)), kFloatNanBits);
    const float negative_nan = FloatOf(0xFFC00001);
    EXPECT_EQ(BitsOf(ApplyUnary(fn, negative_nan)),
              fn == UnaryFn::kCopy ? 0xFFC00001 : kFloatNanBits);
  }
  EXPECT_EQ(ApplyUnary(UnaryFn::kExp, 1000.0F), kInf);
  EXPECT_EQ(ApplyUnary(UnaryFn::kLog, 0.0F), -kInf);
  EXPECT_EQ(ApplyUnary(UnaryFn::kRelu6, kInf), 6.0F);
}

TEST(VectorMath, SpecialValuesAreTheDocumentedOnes) {
  for (const UnaryFn fn : kUnary) {
    EXPECT_EQ(ApplyUnary(fn, uint16_t{0x7FFF}), 0x7FFF) << static_cast<int>(fn);
    EXPECT_EQ(ApplyUnary(fn, uint16_t{0xFFFF}), fn == UnaryFn::kCopy ? 0xFFFF : 0x7FFF);
  }
  EXPECT_EQ(ApplyUnary(UnaryFn::kExp, uint16_t{0}), DlfFromFloat(1));
  EXPECT_EQ(ApplyUnary(UnaryFn::kExp, DlfFromFloat(100)), 0x7FFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kExp, DlfFromFloat(-100)), 0);
  EXPECT_EQ(ApplyUnary(UnaryFn::kReciprocal, uint16_t{0}), 0x7FFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kReciprocal, uint16_t{0x8000}), 0xFFFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kSqrt, uint16_t{0x8000}), 0x8000);
  EXPECT_EQ(ApplyUnary(UnaryFn::kSqrt, DlfFromFloat(-1)), 0x7FFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kRsqrt, DlfFromFloat(4)), DlfFromFloat(0.5F));
  EXPECT_EQ(ApplyUnary(UnaryFn::kGelu, uint16_t{0x8000}), 0x8000);
}

TEST(VectorMath, CopyNegAbsAndReluActOnTheCode) {
  for (int code = 0; code < kCodes; ++code) {
    const auto input = static_cast<uint16_t>(code);
    EXPECT_EQ(ApplyUnary(UnaryFn::kCopy, input), input);
    EXPECT_EQ(ApplyUnary(UnaryFn::kNeg, input), IsNinf(code) ? kDlfNan : code ^ 0x8000);
    EXPECT_EQ(ApplyUnary(UnaryFn::kAbs, input), code & 0x7FFF);
    EXPECT_EQ(ApplyUnary(UnaryFn::kRelu, input),
              IsNinf(code) ? kDlfNan : (code >= 0x8000 ? 0 : code));
    const float six = code >= 0x8000 ? 0.0F : std::min(DlfToFloat(input), 6.0F);
    EXPECT_EQ(ApplyUnary(UnaryFn::kRelu6, input), IsNinf(code) ? kDlfNan : DlfFromFloat(six));
  }
  EXPECT_EQ(ApplyUnary(UnaryFn::kLog, uint16_t{0}), 0xFFFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kLog, DlfFromFloat(-1)), 0x7FFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kSilu, uint16_t{0x8000}), 0x8000);
  EXPECT_EQ(ApplyUnary(UnaryFn::kMish, uint16_t{0x8000}), 0x8000);
  EXPECT_EQ(ApplyUnary(UnaryFn::kFloor, uint16_t{0x8000}), 0x8000);
  EXPECT_EQ(ApplyUnary(UnaryFn::kFloor, DlfFromFloat(-0.25F)), DlfFromFloat(-1));
}

TEST(VectorMath, AStickIsItsLanesAndMayBeItsOwnOperand) {
  for (const UnaryFn fn : kUnary) {
    for (int first = 0; first < kCodes; first += kStickLanes) {
      Stick stick;
      for (int lane = 0; lane < kStickLanes; ++lane) {
        stick[lane] = static_cast<uint16_t>(first + lane);
      }
      UnaryStick(FnByte(fn), stick.data(), stick.data());
      for (int lane = 0; lane < kStickLanes; ++lane) {
        ASSERT_EQ(stick[lane], ApplyUnary(fn, static_cast<uint16_t>(first + lane)));
      }
    }
  }
}

TEST(VectorMath, UnaryFlagsChooseTheFormatAndSpreadLane0) {
  std::array<float, kFp32StickLanes> stick;
  for (int lane = 0; lane < kFp32StickLanes; ++lane) stick[lane] = 0.25F * lane - 3;
  std::array<float, kFp32StickLanes> result;
  for (const UnaryFn fn : kUnary) {
    UnaryStick(FnByte(fn, kFp32Sticks), result.data(), stick.data());
    for (int lane = 0; lane < kFp32StickLanes; ++lane)
      EXPECT_EQ(BitsOf(result[lane]), BitsOf(ApplyUnary(fn, stick[lane])));
    UnaryStick(FnByte(fn, kFp32Sticks | kBroadcastALane0), result.data(), stick.data());
    for (const float value : result) EXPECT_EQ(BitsOf(value), BitsOf(ApplyUnary(fn, stick[0])));
  }
  Stick codes;
  for (int lane = 0; lane < kStickLanes; ++lane) codes[lane] = static_cast<uint16_t>(0x3000 + lane);
  UnaryStick(FnByte(UnaryFn::kExp, kBroadcastALane0), codes.data(), codes.data());
  for (const uint16_t code : codes) EXPECT_EQ(code, ApplyUnary(UnaryFn::kExp, uint16_t{0x3000}));
}

float InFp32(BinaryFn fn, float a, float b) {
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
      return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
    case BinaryFn::kMin:
      return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    case BinaryFn::kRevSub:
      return b - a;
    case BinaryFn::kRevDiv:
      return b / a;
    case BinaryFn::kEqual:
      return a == b ? 1 : 0;
    case BinaryFn::kNotEqual:
      return std::isnan(a) || std::isnan(b) || a < b || a > b ? 1 : 0;
    case BinaryFn::kGreater:
      return std::isgreater(a, b) ? 1 : 0;
    case BinaryFn::kGreaterEqual:
      return std::isgreaterequal(a, b) ? 1 : 0;
    case BinaryFn::kLess:
      return std::isless(a, b) ? 1 : 0;
    default:
      return std::islessequal(a, b) ? 1 : 0;
  }
}

TEST(VectorMath, BinaryFunctionsAreOneFp32OperationAndOneRounding) {
  std::mt19937 random(11);
  for (const BinaryFn fn : kBinary) {
    for (const uint8_t flags : {0, 0x40, 0x80, 0xC0}) {
      for (int round = 0; round < 200; ++round) {
        Stick a;
        Stick b;
        for (int lane = 0; lane < kStickLanes; ++lane) {
          a[lane] = static_cast<uint16_t>(random());
          b[lane] = static_cast<uint16_t>(lane % 7 == 0 ? a[lane] : random());
        }
        const Stick other = b;
        Stick result;
        BinaryStick(FnByte(fn, flags), result.data(), a.data(), b.data());
        for (int lane = 0; lane < kStickLanes; ++lane) {
          const float expected = InFp32(fn, DlfToFloat(a[(flags & 0x40) != 0 ? 0 : lane]),
                                        DlfToFloat(other[(flags & 0x80) != 0 ? 0 : lane]));
          ASSERT_EQ(result[lane], DlfFromFloat(expected)) << static_cast<int>(fn);
        }
        BinaryStick(FnByte(fn, flags), b.data(), a.data(), b.data());
        ASSERT_EQ(b, result) << "dst is operand b";
      }
    }
  }
}

TEST(VectorMath, BinaryFunctionsOnFp32SticksAreTheIeeeOperations) {
  std::mt19937 random(12);
  for (const BinaryFn fn : kBinary) {
    for (const uint8_t flags : {0x20, 0x60, 0xA0, 0xE0}) {
      for (int round = 0; round < 200; ++round) {
        std::array<uint32_t, kFp32StickLanes> a;
        std::array<uint32_t, kFp32StickLanes> b;
        for (int lane = 0; lane < kFp32StickLanes; ++lane) {
          a[lane] = static_cast<uint32_t>(random());
          b[lane] = lane % 7 == 0 ? a[lane] : static_cast<uint32_t>(random());
        }
        std::array<uint32_t, kFp32StickLanes> result;
        BinaryStick(FnByte(fn, flags), result.data(), a.data(), b.data());
        for (int lane = 0; lane < kFp32StickLanes; ++lane) {
          const float expected = InFp32(fn, FloatOf(a[(flags & 0x40) != 0 ? 0 : lane]),
                                        FloatOf(b[(flags & 0x80) != 0 ? 0 : lane]));
          ASSERT_EQ(result[lane], std::isnan(expected) ? kFloatNanBits : BitsOf(expected))
              << static_cast<int>(fn);
        }
      }
    }
  }
}

TEST(VectorMath, SelectKeepsDstWhereAIsZeroAndMovesCodesOtherwise) {
  Stick condition{};
  condition[1] = 0x8000;  // -0
  condition[2] = DlfFromFloat(0.001F);
  condition[3] = 0x7FFF;
  Stick values;
  values.fill(0xFFFF);  // moved as it is, not rounded to 0x7FFF
  Stick dst;
  dst.fill(0x1234);
  BinaryStick(FnByte(BinaryFn::kSelect), dst.data(), condition.data(), values.data());
  EXPECT_EQ(dst[0], 0x1234);
  EXPECT_EQ(dst[1], 0x1234);
  EXPECT_EQ(dst[2], 0xFFFF);
  EXPECT_EQ(dst[3], 0xFFFF);
  std::array<float, kFp32StickLanes> wide_condition{};
  wide_condition[5] = 0x1p-140F;  // a subnormal is not 0
  std::array<float, kFp32StickLanes> wide_values;
  wide_values.fill(7);
  std::array<float, kFp32StickLanes> wide{};
  BinaryStick(FnByte(BinaryFn::kSelect, kFp32Sticks | kBroadcastLane0), wide.data(),
              wide_condition.data(), wide_values.data());
  for (int lane = 0; lane < kFp32StickLanes; ++lane) EXPECT_EQ(wide[lane], lane == 5 ? 7.0F : 0.0F);
}

TEST(VectorMath, MaxAndMinPropagateNinfAndKeepTheFirstOfEqualZeros) {
  const auto apply = [](BinaryFn fn, uint16_t a, uint16_t b) {
    Stick left;
    Stick right;
    left.fill(a);
    right.fill(b);
    BinaryStick(FnByte(fn), left.data(), left.data(), right.data());
    return left[63];
  };
  const uint16_t one = DlfFromFloat(1);
  for (const BinaryFn fn : {BinaryFn::kMax, BinaryFn::kMin}) {
    EXPECT_EQ(apply(fn, one, 0xFFFF), 0x7FFF);
    EXPECT_EQ(apply(fn, 0x7FFF, one), 0x7FFF);
    EXPECT_EQ(apply(fn, 0, 0x8000), 0);
    EXPECT_EQ(apply(fn, 0x8000, 0), 0x8000);
  }
}

TEST(VectorMath, UnknownFunctionsAreRefused) {
  Stick stick{};
  AccStick acc{};
  EXPECT_THROW(ApplyUnary(static_cast<UnaryFn>(17), uint16_t{0}), Error);
  EXPECT_THROW(ApplyUnary(static_cast<UnaryFn>(17), 0.0F), Error);
  EXPECT_THROW(UnaryStick(31, stick.data(), stick.data()), Error);
  EXPECT_THROW(BinaryStick(16, stick.data(), stick.data(), stick.data()), Error);
  EXPECT_THROW(CombineFp32(static_cast<ReduceFn>(kReduceFnCount), 0, 0), Error);
  EXPECT_THROW(CombineStick(kReduceFnCount, acc.data(), stick.data()), Error);
}

TEST(VectorMath, TablesMayBeBuiltByThreadsAtOnce) {
  std::vector<uint16_t> results(4);
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (uint16_t& result : results) {
    threads.emplace_back([&result] { result = ApplyUnary(UnaryFn::kTanh, DlfFromFloat(0.5F)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const uint16_t result : results) EXPECT_EQ(result, DlfFromDouble(std::tanh(0.5)));
}

}  // namespace
}  // namespace spyre::model::vector_math_test
