// SPDX-License-Identifier: Apache-2.0
// Block conversions: the pairs there are, and that blocks equal the element functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/contract/formats.h"

namespace spyre::convert_elements_test {
namespace {

using F = DataFormat;
constexpr int kCodes = 65536;
const float kInfF = std::numeric_limits<float>::infinity();
const float kNanF = std::numeric_limits<float>::quiet_NaN();

template <typename To, typename From>
std::vector<To> Convert(DataFormat from, const std::vector<From>& source, DataFormat to) {
  std::vector<To> destination(source.size());
  ConvertElements(from, source.data(), to, destination.data(), source.size());
  return destination;
}

std::vector<uint16_t> EveryCode() {
  std::vector<uint16_t> codes(kCodes);
  for (int i = 0; i < kCodes; ++i) codes[i] = static_cast<uint16_t>(i);
  return codes;
}

TEST(ConvertElements, SixteenBitBlocksEqualTheElementFunctionsForEveryCode) {
  const std::vector<uint16_t> codes = EveryCode();
  const auto to_dlf = Convert<uint16_t>(F::kIeeeFp16, codes, F::kSen169Fp16);
  const auto to_half = Convert<uint16_t>(F::kSen169Fp16, codes, F::kIeeeFp16);
  const auto from_bf16 = Convert<uint16_t>(F::kBfloat16, codes, F::kSen169Fp16);
  const auto to_bf16 = Convert<uint16_t>(F::kSen169Fp16, codes, F::kBfloat16);
  const auto to_float = Convert<uint32_t>(F::kSen169Fp16, codes, F::kIeeeFp32);
  for (int i = 0; i < kCodes; ++i) {
    EXPECT_EQ(to_dlf[i], DlfFromHalf(codes[i])) << i;
    EXPECT_EQ(to_half[i], HalfFromDlf(codes[i])) << i;
    EXPECT_EQ(from_bf16[i], DlfFromFloat(Bf16ToFloat(codes[i]))) << i;
    EXPECT_EQ(to_bf16[i], Bf16FromFloat(DlfToFloat(codes[i]))) << i;
    const float value = DlfToFloat(codes[i]);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    EXPECT_EQ(to_float[i], bits) << i;
  }
}

TEST(ConvertElements, FloatBlocksEqualTheElementFunctionsForRandomBits) {
  std::mt19937 random(7);
  std::vector<float> values(200003);
  for (float& value : values) {
    const auto bits = static_cast<uint32_t>(random());
    std::memcpy(&value, &bits, sizeof value);
  }
  const auto dlf = Convert<uint16_t>(F::kIeeeFp32, values, F::kSen169Fp16);
  const auto half = Convert<uint16_t>(F::kIeeeFp32, values, F::kIeeeFp16);
  const auto e4m3 = Convert<uint8_t>(F::kIeeeFp32, values, F::kSen143Fp8);
  const auto e5m2 = Convert<uint8_t>(F::kIeeeFp32, values, F::kSen152Fp8);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(dlf[i], DlfFromFloat(values[i])) << values[i];
    EXPECT_EQ(half[i], HalfFromFloat(values[i])) << values[i];
    EXPECT_EQ(e4m3[i], Fp8E4M3FromFloat(values[i])) << values[i];
    EXPECT_EQ(e5m2[i], Fp8E5M2FromFloat(values[i])) << values[i];
  }
}

TEST(ConvertElements, NeedsNoAlignmentAndWritesExactlyTheCount) {
  std::vector<uint8_t> source(201);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 37);
  for (size_t count = 0; count <= 67; ++count) {
    std::vector<uint8_t> destination(201, 0xA5);
    ConvertElements(F::kIeeeFp16, source.data() + 1, F::kSen169Fp16, destination.data() + 3, count);
    for (size_t i = 0; i < count; ++i) {
      uint16_t half;
      uint16_t dlf;
      std::memcpy(&half, source.data() + 1 + i * 2, sizeof half);
      std::memcpy(&dlf, destination.data() + 3 + i * 2, sizeof dlf);
      EXPECT_EQ(dlf, DlfFromHalf(half));
    }
    EXPECT_EQ(destination[2], 0xA5);
    EXPECT_EQ(destination[3 + count * 2], 0xA5);
  }
}

TEST(ConvertElements, IntegersSaturateAndRoundToEven) {
  const std::vector<float> values = {0.5F, 1.5F, -2.5F, 127.4F, 127.5F, 300, -300, kInfF, kNanF};
  EXPECT_THAT(Convert<int8_t>(F::kIeeeFp32, values, F::kSenInt8),
              testing::ElementsAre(0, 2, -2, 127, 127, 127, -128, 127, 0));
  const std::vector<uint16_t> dlf = {DlfFromFloat(2.5F), DlfFromFloat(-1e6F), DlfFromFloat(32768),
                                     kDlfNan};
  EXPECT_THAT(Convert<int16_t>(F::kSen169Fp16, dlf, F::kSenInt16),
              testing::ElementsAre(2, -32768, 32767, 0));
  const std::vector<int16_t> shorts = {1, -7, 1025};
  EXPECT_THAT(Convert<uint16_t>(F::kSenInt16, shorts, F::kSen169Fp16),
              testing::ElementsAre(0x3E00, DlfFromFloat(-7), DlfFromFloat(1026)));
  const std::vector<int64_t> longs = {-1, int64_t{1} << 32 | 5, -2147483648};
  EXPECT_THAT(Convert<int32_t>(F::kIeeeInt64, longs, F::kIeeeInt32),
              testing::ElementsAre(-1, 5, -2147483648));
  const std::vector<int32_t> ints = {-1, 7};
  EXPECT_THAT(Convert<int64_t>(F::kIeeeInt32, ints, F::kIeeeInt64), testing::ElementsAre(-1, 7));
}

TEST(ConvertElements, Int4PacksTheLowNibbleFirst) {
  const std::vector<float> values = {1, -1, 7.6F, -9, 3};
  std::vector<uint8_t> packed(4, 0xEE);
  ConvertElements(F::kIeeeFp32, values.data(), F::kSenInt4, packed.data(), values.size());
  EXPECT_THAT(packed, testing::ElementsAre(0xF1, 0x87, 0x03, 0xEE));
  std::vector<float> back(5);
  ConvertElements(F::kSenInt4, packed.data(), F::kIeeeFp32, back.data(), back.size());
  EXPECT_THAT(back, testing::ElementsAre(1, -1, 7, -8, 3));
  std::vector<uint8_t> copy(4, 0xEE);
  const std::vector<uint8_t> full = {0x21, 0x43};
  ConvertElements(F::kSenInt4, full.data(), F::kSenInt4, copy.data(), 3);
  EXPECT_THAT(copy, testing::ElementsAre(0x21, 0x03, 0xEE, 0xEE));
}

TEST(ConvertElements, BooleansAreOneOrZeroOnTheDevice) {
  const std::vector<uint8_t> bools = {0, 1, 255};
  EXPECT_THAT(Convert<uint16_t>(F::kBool, bools, F::kSen169Fp16),
              testing::ElementsAre(0, 0x3E00, 0x3E00));
  const std::vector<uint16_t> codes = {0, 0x8000, 0x3E00, 1, 0x7FFF};
  EXPECT_THAT(Convert<uint8_t>(F::kSen169Fp16, codes, F::kBool),
              testing::ElementsAre(0, 0, 1, 1, 1));
}

TEST(ConvertElements, SupportsExactlyThePublishedPairs) {
  std::set<std::pair<F, F>> pairs;
  const auto both = [&](F a, F b) { pairs.insert({{a, b}, {b, a}}); };
  for (const F host : {F::kIeeeFp16, F::kBfloat16, F::kIeeeFp32, F::kBool, F::kSenInt16}) {
    both(host, F::kSen169Fp16);
  }
  for (const F other :
       {F::kIeeeFp16, F::kBfloat16, F::kSen143Fp8, F::kSen152Fp8, F::kSenInt8, F::kSenInt4}) {
    both(F::kIeeeFp32, other);
  }
  both(F::kIeeeInt64, F::kIeeeInt32);
  const std::set<F> no_memory_form = {F::kInvalid,  F::kSen153Fp9, F::kSenInt2,
                                      F::kSenInt24, F::kSenUint2,  F::kSen18fFp24};
  uint8_t byte[8] = {};
  for (int i = 0; i < 19; ++i) {
    for (int j = 0; j < 19; ++j) {
      const F from = static_cast<F>(i);
      const F to = static_cast<F>(j);
      const bool expected = i == j ? no_memory_form.count(from) == 0 : pairs.count({from, to}) != 0;
      EXPECT_EQ(CanConvert(from, to), expected) << FormatName(from) << " to " << FormatName(to);
      if (!expected) {
        EXPECT_THROW(ConvertElements(from, byte, to, byte, 0), Error);
      }
    }
  }
}

}  // namespace
}  // namespace spyre::convert_elements_test
