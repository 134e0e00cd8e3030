// SPDX-License-Identifier: Apache-2.0
// The reference's own number formats: values from their definitions, and equality with the card's
// conversions, which are written in another way.
#include "cosim/tensors/reference_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "model/contract/formats.h"

namespace spyre::cosim::reference_numbers_test {
namespace {

bool IsNanHalf(uint16_t half) { return (half & 0x7FFF) > 0x7C00; }

TEST(ReferenceNumbers, ValuesOfSen169AreThoseOfItsDefinition) {
  EXPECT_EQ(SenValue(0x0000), 0.0);
  EXPECT_TRUE(std::signbit(SenValue(0x8000)));
  EXPECT_EQ(SenValue(0x3E00), 1.0);  // exponent 31, the bias
  EXPECT_EQ(SenValue(0xBE00), -1.0);
  EXPECT_EQ(SenValue(0x0001), std::ldexp(513.0 / 512, -31));
  EXPECT_EQ(SenValue(0x7FFE), 8573157376.0);
  EXPECT_TRUE(std::isnan(SenValue(0x7FFF)));
}

TEST(ReferenceNumbers, RoundingTiesGoAwayFromZero) {
  EXPECT_EQ(NearestSen(1.0 + 1.0 / 1024), 0x3E01);
  EXPECT_EQ(NearestSen(-1.0 - 1.0 / 1024), 0xBE01);
  EXPECT_EQ(NearestSen(std::nextafter(1.0 + 1.0 / 1024, 0)), 0x3E00);
  EXPECT_EQ(NearestSen(2.0 - 1.0 / 1024), 0x4000);  // carries into the next binade
}

TEST(ReferenceNumbers, EndsOfTheRangeOfSen169) {
  EXPECT_EQ(NearestSen(8573157376.0), 0x7FFE);
  EXPECT_EQ(NearestSen(8581545984.0), 0x7FFF);  // halfway to the code that is NINF
  EXPECT_EQ(NearestSen(-1e30), 0xFFFF);
  EXPECT_EQ(NearestSen(std::numeric_limits<double>::infinity()), 0x7FFF);
  EXPECT_EQ(NearestSen(std::nan("")), 0x7FFF);
  EXPECT_EQ(NearestSen(std::ldexp(1.0, -31)), 0x0000);  // its code is that of zero
  EXPECT_EQ(NearestSen(std::ldexp(1 + 1.0 / 1024, -31)), 0x0001);
  EXPECT_EQ(NearestSen(-1e-12), 0x8000);
}

TEST(ReferenceNumbers, HalfRoundTripsAndRoundsToEven) {
  for (int code = 0; code < 1 << 16; ++code) {
    const auto half = static_cast<uint16_t>(code);
    if (IsNanHalf(half)) continue;
    EXPECT_EQ(NearestHalf(HalfValue(half)), half) << code;
  }
  EXPECT_EQ(NearestHalf(1.0 + 1.0 / 2048), 0x3C00);
  EXPECT_EQ(NearestHalf(1.0 + 3.0 / 2048), 0x3C02);
  EXPECT_EQ(NearestHalf(65519.0), 0x7BFF);
  EXPECT_EQ(NearestHalf(65520.0), 0x7C00);
  EXPECT_EQ(NearestHalf(std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(NearestHalf(std::ldexp(1.5, -25)), 0x0001);
}

TEST(ReferenceNumbers, AgreesWithTheCardsConversionsOnEveryCode) {
  for (int code = 0; code < 1 << 16; ++code) {
    const auto bits = static_cast<uint16_t>(code);
    EXPECT_EQ(SenOfHalf(bits), DlfFromHalf(bits)) << "half " << code;
    const uint16_t back = HalfOfSen(bits);
    if (IsNanHalf(back)) {
      EXPECT_TRUE(IsNanHalf(HalfFromDlf(bits))) << "sen " << code;
    } else {
      EXPECT_EQ(back, HalfFromDlf(bits)) << "sen " << code;
      EXPECT_EQ(static_cast<float>(SenValue(bits)), DlfToFloat(bits)) << "sen " << code;
    }
  }
}

TEST(ReferenceNumbers, AgreesWithTheCardsRoundingOfFloats) {
  std::mt19937 random(11);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    ASSERT_EQ(NearestSen(static_cast<double>(value)), DlfFromFloat(value)) << value;
  }
}

TEST(ReferenceNumbers, UlpIsTheDistanceToTheNextValue) {
  EXPECT_EQ(SenUlp(1.0), SenValue(0x3E01) - SenValue(0x3E00));
  EXPECT_EQ(SenUlp(-3.0), SenValue(0x4001) - SenValue(0x4000));
  EXPECT_EQ(SenUlp(0.0), std::ldexp(1.0, -40));
}

}  // namespace
}  // namespace spyre::cosim::reference_numbers_test
