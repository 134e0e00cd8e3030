// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/special_numbers.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "model/contract/formats.h"

namespace spyre::sdk::special_numbers_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// [3, 100] on the host: of each row, the first 70 elements go to sticks of 64, and the rest stays.
DataConversion Rows(DataFormat host) {
  DataConversion conversion;
  conversion.source_format = host;
  conversion.destination_format = DataFormat::kSen169Fp16;
  conversion.boxes = {{{64, 3}, {1, 100}, {1, 64}, 0, 0}, {{6, 3}, {1, 100}, {1, 64}, 64, 192}};
  return conversion;
}

template <typename T, typename Make>
std::vector<T> Host(const Make& make) {
  std::vector<T> host(300, make(1.5F));
  host[0] = make(kInfinity);
  host[169] = make(-kInfinity);  // element 69 of row 1
  host[203] = make(kNan);
  host[170] = host[299] = make(kInfinity);  // no box has them
  return host;
}

TEST(SpecialNumbers, InfinitiesAndNanOfEachFloatFormatCountWhereABoxTouchesThem) {
  const auto floats = Host<float>([](float value) { return value; });
  EXPECT_EQ(CountSpecialNumbers(Rows(DataFormat::kIeeeFp32), true, floats.data()), 3u);
  const auto halves = Host<uint16_t>(HalfFromFloat);
  EXPECT_EQ(CountSpecialNumbers(Rows(DataFormat::kIeeeFp16), true, halves.data()), 3u);
  const auto brains = Host<uint16_t>(Bf16FromFloat);
  EXPECT_EQ(CountSpecialNumbers(Rows(DataFormat::kBfloat16), true, brains.data()), 3u);
}

TEST(SpecialNumbers, OnTheWayBackTheHostsSideIsTheDestination) {
  DataConversion back = Rows(DataFormat::kIeeeFp16);
  std::swap(back.source_format, back.destination_format);
  for (StridedBox& box : back.boxes) {
    std::swap(box.source_strides, box.destination_strides);
    std::swap(box.source_offset, box.destination_offset);
  }
  const auto halves = Host<uint16_t>(HalfFromFloat);
  EXPECT_EQ(CountSpecialNumbers(back, false, halves.data()), 3u);
}

TEST(SpecialNumbers, ElementsThatDoNotLieSideBySideCountToo) {
  DataConversion column;
  column.source_format = DataFormat::kIeeeFp32;
  column.destination_format = DataFormat::kSen169Fp16;
  column.boxes = {{{3}, {100}, {1}, 3, 0}};
  const auto floats = Host<float>([](float value) { return value; });
  EXPECT_EQ(CountSpecialNumbers(column, true, floats.data()), 1u) << "row 2 has NaN there";
}

TEST(SpecialNumbers, IntegersHaveNone) {
  const std::vector<uint32_t> ones(300, UINT32_MAX);
  EXPECT_EQ(CountSpecialNumbers(Rows(DataFormat::kIeeeInt32), true, ones.data()), 0u);
}

}  // namespace
}  // namespace spyre::sdk::special_numbers_test
