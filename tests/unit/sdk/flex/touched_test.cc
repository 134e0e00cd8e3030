// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/touched.h"

#include <gmock/gmock.h>

#include "tests/unit/error_of.h"

namespace spyre::sdk::touched_test {
namespace {

using test::BadInputOf;
using ::testing::HasSubstr;

DataConversion Boxes(std::vector<StridedBox> boxes) {
  DataConversion conversion;
  conversion.source_format = DataFormat::kIeeeFp32;
  conversion.destination_format = DataFormat::kSen169Fp16;
  conversion.boxes = std::move(boxes);
  return conversion;
}

TEST(TouchedSticks, AWholeTensorIsOneRangeWhateverTheOrderOfItsDimensions) {
  const Touched touched =
      TouchedSticks(Boxes({{{64, 3, 2}, {1, 128, 64}, {1, 128, 64}, 0, 0}}), /*source=*/false, 768);
  ASSERT_EQ(touched.ranges.size(), 1u);
  EXPECT_EQ(touched.ranges[0].begin, 0u);
  EXPECT_EQ(touched.ranges[0].end, 768u);
  EXPECT_TRUE(touched.full);
}

TEST(TouchedSticks, SticksThatAreTouchedInPartAreWholeAndNotFull) {
  const Touched touched =
      TouchedSticks(Boxes({{{10, 2}, {1, 10}, {1, 192}, 0, 64}}), /*source=*/false, 1024);
  ASSERT_EQ(touched.ranges.size(), 2u);
  EXPECT_EQ(touched.ranges[0].begin, 128u);
  EXPECT_EQ(touched.ranges[0].end, 256u);
  EXPECT_EQ(touched.ranges[1].begin, 512u);
  EXPECT_FALSE(touched.full);
}

TEST(TouchedSticks, TheSourceHasItsOwnElements) {
  const Touched touched = TouchedSticks(Boxes({{{64}, {1}, {1}, 0, 0}}), /*source=*/true, 256);
  ASSERT_EQ(touched.ranges.size(), 1u);
  EXPECT_EQ(touched.ranges[0].end, 256u);
}

TEST(TouchedSticks, WhatLiesOutsideIsRefused) {
  EXPECT_THAT(BadInputOf([] {
                TouchedSticks(Boxes({{{65}, {1}, {1}, 0, 0}}), /*source=*/false, 128);
              }),
              HasSubstr("a tensor of 128 bytes"));
}

TEST(DenseSpan, ATensorWithATailOfAStickIsOneSpan) {
  const ByteRange span =
      DenseSpan(Boxes({{{64, 8}, {1, 70}, {1, 64}, 0, 0}, {{6, 8}, {1, 70}, {1, 64}, 64, 512}}),
                /*source=*/true);
  EXPECT_EQ(span.begin, 0u);
  EXPECT_EQ(span.end, 8 * 70 * sizeof(float));
}

TEST(DenseSpan, AColumnOfALargeMatrixIsNone) {
  EXPECT_EQ(DenseSpan(Boxes({{{1, 64}, {1, 1024}, {1, 64}, 7, 0}}), /*source=*/true).bytes(), 0u);
  EXPECT_EQ(DenseSpan(Boxes({}), /*source=*/true).bytes(), 0u);
}

}  // namespace
}  // namespace spyre::sdk::touched_test
