// SPDX-License-Identifier: Apache-2.0
// The RTL's multiplier and adder against the contract's formats and the host's IEEE arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "Vpt_arithmetic.h"
#include "model/contract/dlf_bits.h"
#include "model/contract/formats.h"

namespace spyre::model::pt_arithmetic_test {
namespace {

class Bench {
 public:
  uint32_t Product(uint16_t a, uint16_t b) {
    top_.a = a;
    top_.b = b;
    top_.eval();
    return top_.product;
  }
  uint32_t Sum(uint32_t x, uint32_t y) {
    top_.x = x;
    top_.y = y;
    top_.eval();
    return top_.sum;
  }

 private:
  VerilatedContext context_;
  Vpt_arithmetic top_{&context_};
};

uint32_t Canonical(float value) { return std::isnan(value) ? kFloatNanBits : BitsOf(value); }

class PtArithmetic : public ::testing::Test {
 protected:
  void ExpectProduct(uint16_t a, uint16_t b) {
    const uint32_t expected = Canonical(DlfToFloat(a) * DlfToFloat(b));
    ASSERT_EQ(bench_.Product(a, b), expected) << std::hex << a << " * " << b;
  }
  void ExpectSum(uint32_t x, uint32_t y) {
    const uint32_t expected = Canonical(FloatOf(x) + FloatOf(y));
    ASSERT_EQ(bench_.Sum(x, y), expected) << std::hex << x << " + " << y;
    ASSERT_EQ(bench_.Sum(y, x), expected) << std::hex << y << " + " << x;
  }
  Bench bench_;
  std::mt19937 random_{169};
};

TEST_F(PtArithmetic, MultipliesEveryValueByTheEndsOfEveryBinade) {
  for (uint32_t exponent = 0; exponent < 64; ++exponent) {
    for (const uint32_t fraction : {0u, 1u, 0x1FFu}) {
      const auto b = static_cast<uint16_t>(exponent << kDlfFractionBits | fraction);
      for (uint32_t a = 0; a < 0x10000; ++a) {
        ExpectProduct(static_cast<uint16_t>(a), b);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(PtArithmetic, MultipliesRandomValues) {
  for (int i = 0; i < 1000000; ++i) {
    const auto bits = static_cast<uint32_t>(random_());
    ExpectProduct(static_cast<uint16_t>(bits), static_cast<uint16_t>(bits >> 16));
    if (HasFatalFailure()) return;
  }
}

TEST_F(PtArithmetic, AddsZerosSubnormalsInfinitiesAndNans) {
  std::vector<uint32_t> values;
  for (const uint32_t magnitude :
       {0x00000000u, 0x00000001u, 0x00000002u, 0x003FFFFFu, 0x00400000u, 0x007FFFFFu,
        0x00800000u, 0x00800001u, 0x00FFFFFFu, 0x01000000u, 0x33800000u, 0x33800001u,
        0x34000000u, 0x3F7FFFFFu, 0x3F800000u, 0x3F800001u, 0x3FFFFFFFu, 0x4B7FFFFFu,
        0x4B800000u, 0x73000000u, 0x73000001u, 0x7EFFFFFFu, 0x7F000000u, 0x7F7FFFFEu,
        0x7F7FFFFFu, 0x7F800000u, 0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu}) {
    values.push_back(magnitude);
    values.push_back(magnitude | 0x80000000u);
  }
  for (const uint32_t x : values) {
    for (const uint32_t y : values) ExpectSum(x, y);
  }
}

TEST_F(PtArithmetic, AddsAnyTwoBitPatterns) {
  for (int i = 0; i < 1000000; ++i) {
    ExpectSum(static_cast<uint32_t>(random_()), static_cast<uint32_t>(random_()));
    if (HasFatalFailure()) return;
  }
}

// Exponents near each other, few bits set: carries, cancellation, ties.
TEST_F(PtArithmetic, AddsValuesOfNearlyEqualMagnitude) {
  for (int i = 0; i < 2000000; ++i) {
    const uint32_t exponent = random_() % 255;
    const uint32_t other = std::min<uint32_t>(254, exponent + random_() % 28);
    const auto fraction = [&] {
      const uint32_t bits = random_() & 0x7FFFFF;
      return random_() % 2 != 0 ? bits : bits & static_cast<uint32_t>(random_() & random_());
    };
    const auto sign = [&] { return static_cast<uint32_t>(random_()) & 0x80000000u; };
    ExpectSum(sign() | exponent << 23 | fraction(), sign() | other << 23 | fraction());
    if (HasFatalFailure()) return;
  }
}

TEST_F(PtArithmetic, RoundsTiesToEven) {
  // 2^24 and neighbours plus a half and three halves of their last place.
  EXPECT_EQ(bench_.Sum(BitsOf(16777216.0F), BitsOf(1.0F)), BitsOf(16777216.0F));
  EXPECT_EQ(bench_.Sum(BitsOf(16777218.0F), BitsOf(1.0F)), BitsOf(16777220.0F));
  EXPECT_EQ(bench_.Sum(BitsOf(16777216.0F), BitsOf(3.0F)), BitsOf(16777220.0F));
  // A bit far below the half decides.
  EXPECT_EQ(bench_.Sum(BitsOf(16777216.0F), BitsOf(1.0000001F)), BitsOf(16777218.0F));
}

}  // namespace
}  // namespace spyre::model::pt_arithmetic_test
