#include "model/core/vector_math.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "model/contract/error.h"
#include "model/contract/formats.h"

namespace spyre::model {
namespace {

constexpr int kCodes = 65536;
using Stick = std::array<uint16_t, kStickLanes>;
using AccStick = std::array<float, kStickLanes>;
const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr UnaryFn kUnary[] = {UnaryFn::kCopy, UnaryFn::kNeg,   UnaryFn::kAbs,       UnaryFn::kRelu,
                              UnaryFn::kExp,  UnaryFn::kGelu,  UnaryFn::kSigmoid,   UnaryFn::kTanh,
                              UnaryFn::kSqrt, UnaryFn::kRsqrt, UnaryFn::kReciprocal};
constexpr BinaryFn kBinary[] = {BinaryFn::kAdd, BinaryFn::kSub, BinaryFn::kMul,
                                BinaryFn::kDiv, BinaryFn::kMax, BinaryFn::kMin};
constexpr ReduceFn kReduce[] = {ReduceFn::kSum, ReduceFn::kMax, ReduceFn::kMin};

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
                                         UnaryFn::kReciprocal));

TEST(VectorMath, SpecialValuesAreTheDocumentedOnes) {
  for (const UnaryFn fn : kUnary) {
    EXPECT_EQ(ApplyUnary(fn, 0x7FFF), 0x7FFF) << static_cast<int>(fn);
    EXPECT_EQ(ApplyUnary(fn, 0xFFFF), fn == UnaryFn::kCopy ? 0xFFFF : 0x7FFF);
  }
  EXPECT_EQ(ApplyUnary(UnaryFn::kExp, 0), DlfFromFloat(1));
  EXPECT_EQ(ApplyUnary(UnaryFn::kExp, DlfFromFloat(100)), 0x7FFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kExp, DlfFromFloat(-100)), 0);
  EXPECT_EQ(ApplyUnary(UnaryFn::kReciprocal, 0), 0x7FFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kReciprocal, 0x8000), 0xFFFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kSqrt, 0x8000), 0x8000);
  EXPECT_EQ(ApplyUnary(UnaryFn::kSqrt, DlfFromFloat(-1)), 0x7FFF);
  EXPECT_EQ(ApplyUnary(UnaryFn::kRsqrt, DlfFromFloat(4)), DlfFromFloat(0.5F));
  EXPECT_EQ(ApplyUnary(UnaryFn::kGelu, 0x8000), 0x8000);
}

TEST(VectorMath, CopyNegAbsAndReluActOnTheCode) {
  for (int code = 0; code < kCodes; ++code) {
    const auto input = static_cast<uint16_t>(code);
    EXPECT_EQ(ApplyUnary(UnaryFn::kCopy, input), input);
    EXPECT_EQ(ApplyUnary(UnaryFn::kNeg, input), IsNinf(code) ? kDlfNan : code ^ 0x8000);
    EXPECT_EQ(ApplyUnary(UnaryFn::kAbs, input), code & 0x7FFF);
    EXPECT_EQ(ApplyUnary(UnaryFn::kRelu, input),
              IsNinf(code) ? kDlfNan : (code >= 0x8000 ? 0 : code));
  }
}

TEST(VectorMath, AStickIsItsLanesAndMayBeItsOwnOperand) {
  for (const UnaryFn fn : kUnary) {
    for (int first = 0; first < kCodes; first += kStickLanes) {
      Stick stick;
      for (int lane = 0; lane < kStickLanes; ++lane) {
        stick[lane] = static_cast<uint16_t>(first + lane);
      }
      UnaryStick(fn, stick.data(), stick.data());
      for (int lane = 0; lane < kStickLanes; ++lane) {
        ASSERT_EQ(stick[lane], ApplyUnary(fn, static_cast<uint16_t>(first + lane)));
      }
    }
  }
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
    default:
      return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
  }
}

TEST(VectorMath, BinaryFunctionsAreOneFp32OperationAndOneRounding) {
  std::mt19937 random(11);
  for (const BinaryFn fn : kBinary) {
    for (const bool broadcast : {false, true}) {
      for (int round = 0; round < 500; ++round) {
        Stick a;
        Stick b;
        for (int lane = 0; lane < kStickLanes; ++lane) {
          a[lane] = static_cast<uint16_t>(random());
          b[lane] = static_cast<uint16_t>(lane % 7 == 0 ? a[lane] : random());
        }
        const Stick other = b;
        Stick result;
        BinaryStick(fn, result.data(), a.data(), b.data(), broadcast);
        for (int lane = 0; lane < kStickLanes; ++lane) {
          const float expected =
              InFp32(fn, DlfToFloat(a[lane]), DlfToFloat(other[broadcast ? 0 : lane]));
          ASSERT_EQ(result[lane], DlfFromFloat(expected)) << static_cast<int>(fn);
        }
        BinaryStick(fn, b.data(), a.data(), b.data(), broadcast);
        ASSERT_EQ(b, result) << "dst is operand b";
      }
    }
  }
}

TEST(VectorMath, MaxAndMinPropagateNinfAndKeepTheFirstOfEqualZeros) {
  const auto apply = [](BinaryFn fn, uint16_t a, uint16_t b) {
    Stick left;
    Stick right;
    left.fill(a);
    right.fill(b);
    BinaryStick(fn, left.data(), left.data(), right.data(), false);
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

TEST(VectorMath, ReductionsStartAtTheirIdentityAndPropagateNan) {
  EXPECT_EQ(ReduceIdentity(ReduceFn::kSum), 0.0F);
  EXPECT_EQ(ReduceIdentity(ReduceFn::kMax), -kInf);
  EXPECT_EQ(ReduceIdentity(ReduceFn::kMin), kInf);
  for (const ReduceFn fn : kReduce) {
    EXPECT_EQ(CombineFp32(fn, ReduceIdentity(fn), -3.25F), -3.25F);
    EXPECT_TRUE(std::isnan(CombineFp32(fn, kNan, 1)));
    EXPECT_TRUE(std::isnan(CombineFp32(fn, 1, kNan)));
  }
  EXPECT_EQ(CombineFp32(ReduceFn::kSum, 2, 3), 5.0F);
  EXPECT_EQ(CombineFp32(ReduceFn::kMax, 2, 3), 3.0F);
  EXPECT_EQ(CombineFp32(ReduceFn::kMin, 2, 3), 2.0F);
}

TEST(VectorMath, LanesAreReducedInIncreasingOrderUpToTheCount) {
  Stick stick{};
  stick[0] = DlfFromFloat(1);
  stick[1] = DlfFromFloat(16777216);
  stick[2] = DlfFromFloat(1);
  stick[3] = 0x7FFF;
  EXPECT_EQ(ReduceLanes(ReduceFn::kSum, stick.data(), 0), 0.0F);
  EXPECT_EQ(ReduceLanes(ReduceFn::kSum, stick.data(), 3), 16777216.0F);  // each 1 is lost in turn
  EXPECT_EQ(ReduceLanes(ReduceFn::kMax, stick.data(), 3), 16777216.0F);
  EXPECT_EQ(ReduceLanes(ReduceFn::kMin, stick.data(), 3), 1.0F);
  EXPECT_TRUE(std::isnan(ReduceLanes(ReduceFn::kMax, stick.data(), 4)));
}

TEST(VectorMath, SticksAndBlocksCombineLaneByLane) {
  std::mt19937 random(13);
  for (const ReduceFn fn : kReduce) {
    Stick stick;
    AccStick acc;
    for (int lane = 0; lane < kStickLanes; ++lane) {
      stick[lane] = static_cast<uint16_t>(random());
      acc[lane] = DlfToFloat(static_cast<uint16_t>(random()));
    }
    AccStick combined = acc;
    CombineStick(fn, combined.data(), stick.data());
    AccStick block;
    CombineBlock(fn, block.data(), acc.data(), combined.data(), 63);
    for (int lane = 0; lane < 63; ++lane) {
      const float once = CombineFp32(fn, acc[lane], DlfToFloat(stick[lane]));
      const float twice = CombineFp32(fn, acc[lane], once);
      EXPECT_TRUE(combined[lane] == once || (std::isnan(combined[lane]) && std::isnan(once)));
      EXPECT_TRUE(block[lane] == twice || (std::isnan(block[lane]) && std::isnan(twice)));
    }
  }
}

TEST(VectorMath, RoundingDividesInFp32FirstIfAskedTo) {
  std::mt19937 random(17);
  for (const int64_t divisor : {0, 1, 3, 4096}) {
    AccStick acc;
    for (float& value : acc) value = std::ldexp(static_cast<float>(random()), -20);
    Stick result;
    RoundStick(result.data(), acc.data(), divisor);
    for (int lane = 0; lane < kStickLanes; ++lane) {
      const float value = divisor > 1 ? acc[lane] / static_cast<float>(divisor) : acc[lane];
      EXPECT_EQ(result[lane], DlfFromFloat(value)) << divisor;
    }
    Stick alone;
    alone.fill(0xDEAD);
    RoundLane0(alone.data(), acc[0], divisor);
    EXPECT_EQ(alone[0], result[0]);
    for (int lane = 1; lane < kStickLanes; ++lane) EXPECT_EQ(alone[lane], 0);
  }
}

TEST(VectorMath, UnknownFunctionsAreRefused) {
  Stick stick{};
  AccStick acc{};
  EXPECT_THROW(ApplyUnary(static_cast<UnaryFn>(11), 0), Error);
  EXPECT_THROW(UnaryStick(static_cast<UnaryFn>(200), stick.data(), stick.data()), Error);
  EXPECT_THROW(
      BinaryStick(static_cast<BinaryFn>(6), stick.data(), stick.data(), stick.data(), false),
      Error);
  EXPECT_THROW(CombineFp32(static_cast<ReduceFn>(3), 0, 0), Error);
  EXPECT_THROW(CombineStick(static_cast<ReduceFn>(3), acc.data(), stick.data()), Error);
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
}  // namespace spyre::model
