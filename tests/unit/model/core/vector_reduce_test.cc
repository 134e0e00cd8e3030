// SPDX-License-Identifier: Apache-2.0
// Reductions of sticks in fp32, the rounding of their results, and the scale of a norm.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "model/contract/dlf_bits.h"
#include "model/contract/formats.h"
#include "model/core/vector_math.h"

namespace spyre::model::vector_reduce_test {
namespace {

using Stick = std::array<uint16_t, kStickLanes>;
using AccStick = std::array<float, kStickLanes>;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
#define SPYRE_VALUE(id, ...) ReduceFn::id,
constexpr ReduceFn kReduce[] = {SPYRE_REDUCE_FUNCTIONS(SPYRE_VALUE)};
#undef SPYRE_VALUE

TEST(VectorReduce, ReductionsStartAtTheirIdentityAndPropagateNan) {
  EXPECT_EQ(ReduceIdentity(ReduceFn::kSum), 0.0F);
  EXPECT_EQ(ReduceIdentity(ReduceFn::kMax), -kInf);
  EXPECT_EQ(ReduceIdentity(ReduceFn::kMin), kInf);
  EXPECT_EQ(ReduceIdentity(ReduceFn::kSumOfSquares), 0.0F);
  EXPECT_EQ(ReduceIdentity(ReduceFn::kAbsMax), 0.0F);
  EXPECT_EQ(ReduceIdentity(ReduceFn::kProd), 1.0F);
  for (const ReduceFn fn : kReduce) {
    EXPECT_EQ(CombineFp32(fn, ReduceIdentity(fn), 3.25F), 3.25F);
    EXPECT_TRUE(std::isnan(CombineFp32(fn, kNan, 1)));
    EXPECT_TRUE(std::isnan(CombineFp32(fn, 1, kNan)));
  }
  EXPECT_EQ(CombineFp32(ReduceFn::kSum, 2, 3), 5.0F);
  EXPECT_EQ(CombineFp32(ReduceFn::kMax, 2, 3), 3.0F);
  EXPECT_EQ(CombineFp32(ReduceFn::kMin, 2, 3), 2.0F);
  EXPECT_EQ(CombineFp32(ReduceFn::kProd, 2, 3), 6.0F);
}

TEST(VectorReduce, LanesAreReducedInIncreasingOrderUpToTheCount) {
  Stick stick{};
  stick[0] = DlfFromFloat(1);
  stick[1] = DlfFromFloat(16777216);
  stick[2] = DlfFromFloat(1);
  stick[3] = 0x7FFF;
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kSum), stick.data(), 0), 0.0F);
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kSum), stick.data(), 3),
            16777216.0F);  // each 1 is lost in turn
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kMax), stick.data(), 3), 16777216.0F);
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kMin), stick.data(), 3), 1.0F);
  EXPECT_TRUE(std::isnan(ReduceLanes(FnByte(ReduceFn::kMax), stick.data(), 4)));
  EXPECT_TRUE(std::isnan(ReduceLanes(FnByte(ReduceFn::kAbsMax), stick.data(), 4)));
  stick[1] = DlfFromFloat(-3);
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kSumOfSquares), stick.data(), 3), 11.0F);
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kAbsMax), stick.data(), 3), 3.0F);
  const std::array<float, kFp32StickLanes> wide{0.1F, -5, 0.2F};
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kSum, kFp32Sticks), wide.data(), 3), 0.1F + -5 + 0.2F);
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kMin, kFp32Sticks), wide.data(), 32), -5.0F);
  const float square = 0.1F * 0.1F;  // rounded before it is added
  EXPECT_EQ(ReduceLanes(FnByte(ReduceFn::kSumOfSquares, kFp32Sticks), wide.data(), 2),
            square + 25.0F);
}

TEST(VectorReduce, SticksAndBlocksCombineLaneByLane) {
  std::mt19937 random(13);
  for (const ReduceFn fn : kReduce) {
    Stick stick;
    AccStick acc;
    for (int lane = 0; lane < kStickLanes; ++lane) {
      stick[lane] = static_cast<uint16_t>(random());
      acc[lane] = DlfToFloat(static_cast<uint16_t>(random()));
    }
    AccStick combined = acc;
    CombineStick(FnByte(fn), combined.data(), stick.data());
    AccStick block;
    CombineBlock(fn, block.data(), acc.data(), combined.data(), 63);
    for (int lane = 0; lane < 63; ++lane) {
      const float x = DlfToFloat(stick[lane]);
      const float element = fn == ReduceFn::kSumOfSquares ? x * x
                            : fn == ReduceFn::kAbsMax     ? std::fabs(x)
                                                          : x;
      const float once = CombineFp32(fn, acc[lane], element);
      const float twice = CombineFp32(fn, acc[lane], once);
      EXPECT_TRUE(combined[lane] == once || (std::isnan(combined[lane]) && std::isnan(once)));
      EXPECT_TRUE(block[lane] == twice || (std::isnan(block[lane]) && std::isnan(twice)));
    }
  }
}

TEST(VectorReduce, RoundingDividesInFp32FirstIfAskedTo) {
  std::mt19937 random(17);
  for (const int64_t divisor : {0, 1, 3, 4096}) {
    AccStick acc;
    for (float& value : acc) value = std::ldexp(static_cast<float>(random()), -20);
    Stick result;
    RoundStick(0, result.data(), acc.data(), static_cast<uint64_t>(divisor));
    for (int lane = 0; lane < kStickLanes; ++lane) {
      const float value = divisor > 1 ? acc[lane] / static_cast<float>(divisor) : acc[lane];
      EXPECT_EQ(result[lane], DlfFromFloat(value)) << divisor;
    }
    Stick alone;
    alone.fill(0xDEAD);
    RoundStick(kRoundLane0, alone.data(), acc.data(), static_cast<uint64_t>(divisor));
    EXPECT_EQ(alone[0], result[0]);
    for (int lane = 1; lane < kStickLanes; ++lane) EXPECT_EQ(alone[lane], 0);
    alone.fill(0xDEAD);
    RoundStick(kRoundLane1, alone.data(), acc.data(), static_cast<uint64_t>(divisor));
    for (int lane = 0; lane < kStickLanes; ++lane)
      EXPECT_EQ(alone[lane], lane == 1 ? result[0] : 0xDEAD);
  }
}

TEST(VectorReduce, RoundingMultipliesByAnFp32IfAskedTo) {
  AccStick acc;
  for (int lane = 0; lane < kStickLanes; ++lane) acc[lane] = 0.37F * static_cast<float>(lane);
  const float factor = 1.0F / 3;
  Stick result;
  RoundStick(kRoundScale, result.data(), acc.data(), BitsOf(factor));
  std::array<float, kFp32StickLanes> wide;
  RoundStick(kRoundScale | kFp32Sticks, wide.data(), acc.data(), BitsOf(factor));
  for (int lane = 0; lane < kStickLanes; ++lane) {
    EXPECT_EQ(result[lane], DlfFromFloat(acc[lane] * factor));
    if (lane < kFp32StickLanes) {
      EXPECT_EQ(wide[lane], acc[lane] * factor);
    }
  }
  RoundStick(kRoundScale | kFp32Sticks | kRoundLane1, wide.data(), &acc[9], BitsOf(2.0F));
  EXPECT_EQ(wide[0], 0);
  EXPECT_EQ(wide[1], 2 * acc[9]);
  EXPECT_EQ(wide[2], acc[2] * factor);
}

TEST(VectorReduce, NormScaleIsTheReciprocalRootOfTheVariance) {
  Stick moments;
  moments.fill(0x4321);
  moments[0] = DlfFromFloat(0.5F);
  moments[1] = DlfFromFloat(1.25F);
  Stick epsilon{};
  epsilon[0] = DlfFromFloat(0.0009765625F);
  Stick result;
  BinaryStick(FnByte(BinaryFn::kNormScale), result.data(), moments.data(), epsilon.data());
  EXPECT_EQ(result[0], DlfFromDouble(1 / std::sqrt(1.0009765625)));
  for (int lane = 1; lane < kStickLanes; ++lane) EXPECT_EQ(result[lane], 0);
  std::array<float, kFp32StickLanes> wide{0.1F, 0.3F};
  std::array<float, kFp32StickLanes> small{1e-5F};
  BinaryStick(FnByte(BinaryFn::kNormScale, kFp32Sticks), wide.data(), wide.data(), small.data());
  const float square = 0.1F * 0.1F;
  const float variance = 0.3F - square;
  EXPECT_EQ(wide[0], static_cast<float>(1 / std::sqrt(double{variance + 1e-5F})));
  EXPECT_EQ(wide[1], 0);
  moments[1] = 0;  // negative
  BinaryStick(FnByte(BinaryFn::kNormScale), result.data(), moments.data(), epsilon.data());
  EXPECT_EQ(result[0], kDlfNan);
}

}  // namespace
}  // namespace spyre::model::vector_reduce_test
