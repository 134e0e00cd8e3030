// SPDX-License-Identifier: Apache-2.0
// Transposes and conversions of sticks, element by element against their definitions.
#include "model/core/vector_shuffle.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.h"
#include "model/contract/formats.h"

namespace spyre::model::vector_shuffle_test {
namespace {

constexpr size_t kStick = 128;
constexpr float kIgnored = 0;

std::vector<uint8_t> Random(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
  return data;
}
template <typename T>
T At(const std::vector<uint8_t>& data, size_t byte) {
  T value;
  std::memcpy(&value, data.data() + byte, sizeof value);
  return value;
}

TEST(TransposeBlock, RowsBecomeColumnsWithAnyDistanceBetweenSticks) {
  const std::vector<uint8_t> a = Random(64 * 384, 1);
  std::vector<uint8_t> dst(64 * 256, 0xEE);
  TransposeBlock(dst.data(), 256, a.data(), 384);
  for (size_t row = 0; row < 64; ++row) {
    for (size_t column = 0; column < 64; ++column) {
      ASSERT_EQ(At<uint16_t>(dst, column * 256 + row * 2), At<uint16_t>(a, row * 384 + column * 2));
    }
    EXPECT_EQ(dst[row * 256 + 128], 0xEE) << "between the sticks";
  }
}

TEST(TransposeBlock, TwiceInPlaceIsTheBlockAgain) {
  const std::vector<uint8_t> a = Random(64 * kStick, 2);
  std::vector<uint8_t> block = a;
  TransposeBlock(block.data(), kStick, block.data(), kStick);
  EXPECT_NE(block, a);
  TransposeBlock(block.data(), kStick, block.data(), kStick);
  EXPECT_EQ(block, a);
}

// docs/facts.md: host column g*8 + s*4 + e of a stick is slot g*4 + e of fp32 stick s.
TEST(ConvertStick, Sen169ToFp32AlternatesFourElements) {
  const std::vector<uint8_t> a = Random(kStick, 3);
  std::vector<uint8_t> dst(640, 0xEE);
  ConvertStick(ConvertFn::kDl16ToFp32, dst.data(), a.data(), 512, kIgnored, kIgnored);
  for (size_t g = 0; g < 8; ++g) {
    for (size_t s = 0; s < 2; ++s) {
      for (size_t e = 0; e < 4; ++e) {
        const float expected = DlfToFloat(At<uint16_t>(a, (g * 8 + s * 4 + e) * 2));
        const float value = At<float>(dst, s * 512 + (g * 4 + e) * 4);
        ASSERT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)));
      }
    }
  }
  EXPECT_EQ(dst[kStick], 0xEE);
}

// host column half*32 + g*4 + e is slot g*8 + half*4 + e.
TEST(ConvertStick, Fp32ToSen169UndoesIt) {
  std::vector<uint8_t> wide(2 * kStick);
  for (size_t i = 0; i < 64; ++i) {
    const float value = 0.3F * static_cast<float>(i) - 7;
    std::memcpy(wide.data() + i * 4, &value, sizeof value);
  }
  std::vector<uint8_t> narrow(kStick);
  ConvertStick(ConvertFn::kFp32ToDl16, narrow.data(), wide.data(), kStick, kIgnored, kIgnored);
  for (size_t half = 0; half < 2; ++half) {
    for (size_t g = 0; g < 8; ++g) {
      for (size_t e = 0; e < 4; ++e) {
        EXPECT_EQ(At<uint16_t>(narrow, (g * 8 + half * 4 + e) * 2),
                  DlfFromFloat(At<float>(wide, (half * 32 + g * 4 + e) * 4)));
      }
    }
  }
  std::vector<uint8_t> again(2 * kStick);
  ConvertStick(ConvertFn::kDl16ToFp32, again.data(), narrow.data(), kStick, kIgnored, kIgnored);
  ConvertStick(ConvertFn::kFp32ToDl16, again.data(), again.data(), kStick, kIgnored, kIgnored);
  EXPECT_EQ(std::vector<uint8_t>(again.begin(), again.begin() + kStick), narrow) << "in place";
}

TEST(ConvertStick, QuantisedSticksAlternateEightElementsAndWeightsEveryOne) {
  std::vector<uint8_t> a(3 * kStick);
  for (size_t i = 0; i < 128; ++i) {
    const uint16_t code = DlfFromFloat(4.3F * static_cast<float>(i) - 270);
    std::memcpy(a.data() + (i < 64 ? i : i + 64) * 2, &code, sizeof code);
  }
  const auto element = [&](size_t stick, size_t lane) {
    return DlfToFloat(At<uint16_t>(a, stick * 2 * kStick + lane * 2));
  };
  std::vector<uint8_t> channels(kStick);
  std::vector<uint8_t> weights(kStick);
  ConvertStick(ConvertFn::kDl16ToFp8, channels.data(), a.data(), 256, kIgnored, kIgnored);
  ConvertStick(ConvertFn::kDl16ToFp8Wt, weights.data(), a.data(), 256, kIgnored, kIgnored);
  for (size_t s = 0; s < 2; ++s) {
    for (size_t lane = 0; lane < 64; ++lane) {
      const uint8_t expected = Fp8E4M3FromFloat(element(s, lane));
      EXPECT_EQ(channels[lane / 8 * 16 + s * 8 + lane % 8], expected);
      EXPECT_EQ(weights[lane * 2 + s], expected);
    }
  }
  std::vector<uint8_t> back(2 * kStick);
  ConvertStick(ConvertFn::kFp8ToDl16, back.data(), channels.data(), kStick, kIgnored, kIgnored);
  for (size_t i = 0; i < 128; ++i) {
    const float rounded = Fp8E4M3ToFloat(Fp8E4M3FromFloat(element(i / 64, i % 64)));
    EXPECT_EQ(At<uint16_t>(back, i * 2), DlfFromFloat(rounded));
  }
}

TEST(ConvertStick, IntegersAreScaledThenShiftedThenRoundedAndSaturated) {
  std::vector<uint8_t> a(2 * kStick);
  const std::array<float, 6> values = {1, 2.5F, -3, 1000, -1000, 0.25F};
  for (size_t i = 0; i < 128; ++i) {
    const uint16_t code = i == 127 ? kDlfNan : DlfFromFloat(values[i % values.size()]);
    std::memcpy(a.data() + i * 2, &code, sizeof code);
  }
  std::vector<uint8_t> channels(kStick);
  std::vector<uint8_t> weights(kStick);
  ConvertStick(ConvertFn::kDl16ToInt8, channels.data(), a.data(), kStick, 2, 0.5F);
  ConvertStick(ConvertFn::kDl16ToInt8Wt, weights.data(), a.data(), kStick, 2, 0.5F);
  const std::array<int, 6> expected = {2, 6, -6, 127, -128, 1};  // 2.5 and 5.5 to even, 1.0
  for (size_t i = 0; i < 128; ++i) {
    const int wanted = i == 127 ? 0 : expected[i % expected.size()];
    const size_t lane = i % 64;
    const size_t s = i / 64;
    EXPECT_EQ(static_cast<int8_t>(channels[lane / 8 * 16 + s * 8 + lane % 8]), wanted) << i;
    EXPECT_EQ(static_cast<int8_t>(weights[lane * 2 + s]), wanted) << i;
  }
}

TEST(ConvertStick, AnUnknownFunctionIsRefused) {
  std::vector<uint8_t> stick(2 * kStick);
  EXPECT_THROW(ConvertStick(static_cast<ConvertFn>(7), stick.data(), stick.data(), kStick, 1, 0),
               Error);
}

}  // namespace
}  // namespace spyre::model::vector_shuffle_test
