// SPDX-License-Identifier: Apache-2.0
#include "model/contract/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace spyre::formats_test {
namespace {

using F = DataFormat;
constexpr int kCodes = 65536;
const double kInf = std::numeric_limits<double>::infinity();
const float kInfF = std::numeric_limits<float>::infinity();
const float kNanF = std::numeric_limits<float>::quiet_NaN();

bool IsNinf(int code) { return (code & 0x7FFF) == 0x7FFF; }

// The published definition: (-1)^s * 2^(e - 31) * (1 + f / 512).
double DlfByDefinition(int code) {
  const int exponent = (code >> 9) & 63;
  const int fraction = code & 511;
  const double sign = (code & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0 && fraction == 0) return sign * 0.0;
  return sign * std::ldexp(1 + fraction / 512.0, exponent - 31);
}

double SmallByDefinition(int code, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (code >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = std::ldexp(code & ((1 << fraction_bits) - 1), -fraction_bits);
  const double sign = (code >> (exponent_bits + fraction_bits)) != 0 ? -1 : 1;
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias)
                               : std::ldexp(1 + fraction, exponent - bias));
}

TEST(Dlf, EveryCodeHasTheValueOfItsDefinition) {
  for (int code = 0; code < kCodes; ++code) {
    const float value = DlfToFloat(static_cast<uint16_t>(code));
    if (IsNinf(code)) {
      EXPECT_TRUE(std::isnan(value)) << code;
      continue;
    }
    EXPECT_EQ(double{value}, DlfByDefinition(code)) << code;
    EXPECT_EQ(std::signbit(value), (code & 0x8000) != 0) << code;
  }
}

TEST(Dlf, EveryCodeSurvivesFloatAndDouble) {
  for (int code = 0; code < kCodes; ++code) {
    const int expected = IsNinf(code) ? kDlfNan : code;
    const float value = DlfToFloat(static_cast<uint16_t>(code));
    EXPECT_EQ(DlfFromFloat(value), expected);
    EXPECT_EQ(DlfFromDouble(value), expected);
  }
}

// Between neighbours the boundary itself goes to the larger magnitude, from float and from double.
TEST(Dlf, RoundsToNearestWithTiesAwayFromZeroBetweenAllNeighbours) {
  for (int code = 0; code < 0x7FFF; ++code) {
    // Codes 0 and 0x7FFF stand at the values that their bits would have.
    const double low = std::ldexp(1 + (code & 511) / 512.0, (code >> 9) - 31);
    const double unit = std::ldexp(1.0 / 512, (code >> 9) - 31);
    const double tie = low + unit / 2;
    for (const int sign : {0, 0x8000}) {
      const double s = sign != 0 ? -1 : 1;
      EXPECT_EQ(DlfFromDouble(s * tie), sign | (code + 1));
      EXPECT_EQ(DlfFromDouble(s * std::nextafter(tie, kInf)), sign | (code + 1));
      EXPECT_EQ(DlfFromDouble(s * std::nextafter(tie, 0)), sign | code);
      const auto tie_f = static_cast<float>(tie);
      const auto s_f = static_cast<float>(s);
      EXPECT_EQ(DlfFromFloat(s_f * tie_f), sign | (code + 1));
      EXPECT_EQ(DlfFromFloat(s_f * std::nextafter(tie_f, kInfF)), sign | (code + 1));
      EXPECT_EQ(DlfFromFloat(s_f * std::nextafter(tie_f, 0.0F)), sign | code);
    }
  }
}

TEST(Dlf, ADoubleIsRoundedOnceNotThroughFloat) {
  const double below_tie = 1 + 1.0 / 1024 - std::ldexp(1, -40);  // as a float it is the tie
  EXPECT_EQ(DlfFromDouble(below_tie), 0x3E00);
  EXPECT_EQ(DlfFromFloat(static_cast<float>(below_tie)), 0x3E01);
}

TEST(Dlf, SpecialValuesBecomeZeroOrNinf) {
  EXPECT_EQ(DlfFromFloat(kNanF), kDlfNan);
  EXPECT_EQ(DlfFromFloat(-kNanF), kDlfNan);
  EXPECT_EQ(DlfFromDouble(-std::numeric_limits<double>::quiet_NaN()), kDlfNan);
  EXPECT_EQ(DlfFromFloat(kInfF), 0x7FFF);
  EXPECT_EQ(DlfFromFloat(-kInfF), 0xFFFF);
  EXPECT_EQ(DlfFromDouble(-kInf), 0xFFFF);
  EXPECT_EQ(DlfFromDouble(1e300), 0x7FFF);
  EXPECT_EQ(DlfFromFloat(-1e-30F), 0x8000);
  EXPECT_EQ(DlfFromDouble(-1e-300), 0x8000);
  EXPECT_EQ(DlfFromFloat(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(DlfToFloat(kDlfMax), 8573157376.0F);  // the published largest value
  EXPECT_EQ(DlfFromFloat(8573157376.0F), kDlfMax);
}

TEST(Half, EveryCodeHasItsIeeeValue) {
  for (int code = 0; code < kCodes; ++code) {
    const float value = HalfToFloat(static_cast<uint16_t>(code));
    if ((code & 0x7C00) != 0x7C00) {
      EXPECT_EQ(double{value}, SmallByDefinition(code, 5, 10)) << code;
      EXPECT_EQ(std::signbit(value), code >= 0x8000) << code;
      EXPECT_EQ(HalfFromFloat(value), code);
    } else if ((code & 0x3FF) == 0) {
      EXPECT_EQ(value, code < 0x8000 ? kInfF : -kInfF);
      EXPECT_EQ(HalfFromFloat(value), code);
    } else {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(HalfFromFloat(value) & 0x7FFF, 0x7E00);
    }
  }
}

TEST(Half, RoundsToNearestEvenBetweenAllNeighbours) {
  for (int code = 0; code < 0x7C00; ++code) {
    const double next = code + 1 == 0x7C00 ? 65536 : SmallByDefinition(code + 1, 5, 10);
    const auto tie = static_cast<float>((SmallByDefinition(code, 5, 10) + next) / 2);
    EXPECT_EQ(HalfFromFloat(tie), code + code % 2);
    EXPECT_EQ(HalfFromFloat(-tie), 0x8000 | (code + code % 2));
    EXPECT_EQ(HalfFromFloat(std::nextafter(tie, 0.0F)), code);
    EXPECT_EQ(HalfFromFloat(std::nextafter(tie, kInfF)), code + 1);
  }
  EXPECT_EQ(HalfFromFloat(-1e30F), 0xFC00);
}

TEST(Half, ToDlfIsOneRoundingOfTheExactValueForEveryCodeSubnormalsIncluded) {
  for (int code = 0; code < kCodes; ++code) {
    const auto half = static_cast<uint16_t>(code);
    const bool is_special = (code & 0x7C00) == 0x7C00;  // read as a number beyond the largest
    const double number = std::ldexp(1024 + (code & 0x3FF), 6) * (code < 0x8000 ? 1 : -1);
    EXPECT_EQ(DlfFromHalf(half), DlfFromDouble(is_special ? number : HalfToFloat(half))) << code;
  }
  EXPECT_EQ(DlfToFloat(DlfFromHalf(1)), std::ldexp(1.0F, -24));  // the smallest subnormal is kept
}

TEST(Half, FromDlfIsOneRoundingOfTheExactValueForEveryCode) {
  for (int code = 0; code < kCodes; ++code) {
    const auto dlf = static_cast<uint16_t>(code);
    const uint16_t half = HalfFromDlf(dlf);
    if (IsNinf(code)) {
      EXPECT_GT(half & 0x7FFF, 0x7C00) << code;
    } else {
      EXPECT_EQ(half, HalfFromFloat(DlfToFloat(dlf))) << code;
    }
  }
}

TEST(Half, TheLargestHalfComesBackAsInfinityAndSoDoInfinityAndNan) {
  EXPECT_EQ(HalfFromDlf(DlfFromHalf(0x7BFF)), 0x7C00);  // 65504 rounds to 65536
  EXPECT_EQ(HalfFromDlf(DlfFromHalf(0xFBFF)), 0xFC00);
  EXPECT_EQ(DlfToFloat(DlfFromHalf(0x7C00)), 65536);
  EXPECT_EQ(DlfToFloat(DlfFromHalf(0xFC00)), -65536);
  EXPECT_EQ(DlfToFloat(DlfFromHalf(0x7E00)), 98304);
  EXPECT_EQ(HalfFromDlf(DlfFromHalf(0xFC00)), 0xFC00);
  EXPECT_EQ(HalfFromDlf(DlfFromHalf(0x7E00)), 0x7C00);
}

TEST(Bf16, EveryCodeSurvivesAndTiesGoToEven) {
  for (int code = 0; code < kCodes; ++code) {
    const float value = Bf16ToFloat(static_cast<uint16_t>(code));
    if (std::isnan(value)) {
      EXPECT_EQ(Bf16FromFloat(value), (code & 0x8000) | 0x7FC0);
      continue;
    }
    EXPECT_EQ(Bf16FromFloat(value), code);
    if (std::isinf(value)) continue;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto at = [&](uint32_t tail) {
      const uint32_t with_tail = bits | tail;
      float result;
      std::memcpy(&result, &with_tail, sizeof result);
      return Bf16FromFloat(result);
    };
    EXPECT_EQ(at(0x7FFF), code);
    EXPECT_EQ(at(0x8000), code + code % 2);
    EXPECT_EQ(at(0x8001), code + 1);
  }
}

TEST(Fp8, EveryE4M3CodeSurvivesTiesGoToEvenAndOverflowSaturates) {
  for (int code = 0; code < 256; ++code) {
    const float value = Fp8E4M3ToFloat(static_cast<uint8_t>(code));
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(Fp8E4M3FromFloat(value) & 0x7F, 0x7F);
      continue;
    }
    EXPECT_EQ(double{value}, SmallByDefinition(code, 4, 3)) << code;
    EXPECT_EQ(Fp8E4M3FromFloat(value), code);
    if (code < 0x7E) {
      const float tie = (value + Fp8E4M3ToFloat(static_cast<uint8_t>(code + 1))) / 2;
      EXPECT_EQ(Fp8E4M3FromFloat(tie), code + code % 2);
      EXPECT_EQ(Fp8E4M3FromFloat(std::nextafter(tie, 0.0F)), code);
      EXPECT_EQ(Fp8E4M3FromFloat(std::nextafter(tie, kInfF)), code + 1);
    }
  }
  EXPECT_EQ(Fp8E4M3ToFloat(0x7E), 448.0F);
  EXPECT_EQ(Fp8E4M3FromFloat(1e9F), 0x7E);
  EXPECT_EQ(Fp8E4M3FromFloat(-kInfF), 0xFE);
}

TEST(Fp8, EveryE5M2CodeSurvivesTiesGoToEvenAndOverflowIsInfinity) {
  for (int code = 0; code < 256; ++code) {
    const float value = Fp8E5M2ToFloat(static_cast<uint8_t>(code));
    const int magnitude = code & 0x7F;
    if (magnitude > 0x7C) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_GT(Fp8E5M2FromFloat(value) & 0x7F, 0x7C);
      continue;
    }
    EXPECT_EQ(Fp8E5M2FromFloat(value), code);
    if (magnitude == 0x7C) {
      EXPECT_EQ(std::abs(value), kInfF);
      continue;
    }
    EXPECT_EQ(double{value}, SmallByDefinition(code, 5, 2)) << code;
    if (code < 0x7C) {
      const double next = code == 0x7B ? 65536 : SmallByDefinition(code + 1, 5, 2);
      const auto tie = static_cast<float>((value + next) / 2);
      EXPECT_EQ(Fp8E5M2FromFloat(tie), code + code % 2);
      EXPECT_EQ(Fp8E5M2FromFloat(std::nextafter(tie, 0.0F)), code);
      EXPECT_EQ(Fp8E5M2FromFloat(std::nextafter(tie, kInfF)), code + 1);
    }
  }
}

TEST(Formats, NamesReadBackAndHostNamesAreKnown) {
  for (int i = 0; i < 19; ++i) {
    EXPECT_EQ(FormatFromName(FormatName(static_cast<F>(i))), static_cast<F>(i));
  }
  EXPECT_EQ(FormatFromName("float16"), F::kIeeeFp16);
  EXPECT_EQ(FormatFromName("float32"), F::kIeeeFp32);
  EXPECT_EQ(FormatFromName("bfloat16"), F::kBfloat16);
  EXPECT_EQ(FormatFromName("int64"), F::kIeeeInt64);
  EXPECT_EQ(FormatFromName("bool"), F::kBool);
  EXPECT_EQ(FormatFromName("float8_e4m3fn"), F::kSen143Fp8);
  try {
    FormatFromName("float17");
    FAIL() << "an unknown name was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("float17"),
                                             testing::HasSubstr("float16, float32")));
  }
  EXPECT_THROW(FormatFromName(""), Error);
  EXPECT_THROW(FormatName(static_cast<F>(19)), Error);
}

TEST(Formats, SticksHoldThePublishedNumberOfElements) {
  EXPECT_EQ(ElementsPerStick(F::kSen169Fp16), 64);
  EXPECT_EQ(ElementsPerStick(F::kIeeeFp16), 64);
  EXPECT_EQ(ElementsPerStick(F::kBfloat16), 64);
  EXPECT_EQ(ElementsPerStick(F::kSenInt16), 64);
  EXPECT_EQ(ElementsPerStick(F::kBool), 64);  // two bytes each on the device
  EXPECT_EQ(ElementsPerStick(F::kIeeeFp32), 32);
  EXPECT_EQ(ElementsPerStick(F::kIeeeInt32), 32);
  EXPECT_EQ(ElementsPerStick(F::kIeeeInt64), 32);  // stored as 32 bits
  EXPECT_EQ(ElementsPerStick(F::kSen143Fp8), 128);
  EXPECT_EQ(ElementsPerStick(F::kSenInt8), 128);
  EXPECT_EQ(ElementsPerStick(F::kSenInt4), 256);
  EXPECT_EQ(BitsPerElement(F::kIeeeInt64), 64);
  EXPECT_EQ(BitsPerElement(F::kBool), 8);
  EXPECT_THROW(BitsPerElement(F::kSen18fFp24), Error);
  EXPECT_THROW(ElementsPerStick(F::kSenInt2), Error);
}

TEST(Formats, HostTypesMapToTheirDeviceFormats) {
  for (const F host : {F::kIeeeFp16, F::kBfloat16, F::kBool}) {
    EXPECT_EQ(DeviceFormatOf(host), F::kSen169Fp16);
  }
  EXPECT_EQ(DeviceFormatOf(F::kIeeeInt64), F::kIeeeInt32);
  EXPECT_EQ(DeviceFormatOf(F::kIeeeFp32), F::kIeeeFp32);
  EXPECT_EQ(DeviceFormatOf(F::kSenInt8), F::kSenInt8);
  EXPECT_THROW(DeviceFormatOf(F::kInvalid), Error);
}

}  // namespace
}  // namespace spyre::formats_test
