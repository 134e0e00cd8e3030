// SPDX-License-Identifier: Apache-2.0
// Regions as boxes and bytes, against enumeration.
#include "runtime/graph/byte_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/runtime/graph/random_regions.h"

namespace spyre::runtime::byte_region_test {
namespace {

ByteSet Runs(const ByteRegion& region) {
  ByteSet bytes;
  uint64_t address = 0;
  while (const auto run = region.RunAfter(address)) {
    for (uint64_t at = run->begin; at < run->end; ++at) bytes.set(at);
    address = run->end - 1;
    EXPECT_EQ(region.RunAfter(address)->end, run->end);
    ++address;
  }
  return bytes;
}

Region RegionOf(const Box& box) {
  std::vector<int64_t> offset;
  std::vector<int64_t> extent;
  for (uint32_t d = 0; d < box.rank; ++d) {
    offset.push_back(box.range[d].begin);
    extent.push_back(box.range[d].end - box.range[d].begin);
  }
  return Region::Of(1, offset, extent);
}

TEST(ByteRegion, RunsAreTheBytesOfTheBox) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const TensorPlace place = RandomPlace(random, 1);
    const Region region = RandomRegion(random, place);
    const ByteRegion bytes(BoxOf(region), place);
    const ByteSet set = BytesOf(region, place);
    ASSERT_EQ(Runs(bytes), set) << ToText(region);
    ASSERT_TRUE(set.test(bytes.begin()) && set.test(bytes.end() - 1));
    ASSERT_EQ(bytes.one_run(), set.count() == bytes.end() - bytes.begin()) << ToText(region);
  }
}

TEST(ByteRegion, OverlapIsACommonByte) {
  std::mt19937 random(2);
  int overlaps = 0;
  for (int i = 0; i < 4000; ++i) {
    const TensorPlace place_a = RandomPlace(random, 1);
    const TensorPlace place_b = i % 2 == 0 ? place_a : RandomPlace(random, 2);
    const Region a = RandomRegion(random, place_a);
    const Region b = RandomRegion(random, place_b);
    const ByteSet set_a = BytesOf(a, place_a);
    const ByteSet set_b = BytesOf(b, place_b);
    const bool common = (set_a & set_b).any();
    ASSERT_EQ(Overlaps(ByteRegion(BoxOf(a), place_a), ByteRegion(BoxOf(b), place_b)), common)
        << ToText(a) << " " << ToText(b);
    overlaps += common ? 1 : 0;
    if (i % 2 != 0) continue;
    ASSERT_EQ(BoxCovers(BoxOf(a), BoxOf(b)), (set_b & ~set_a).none())
        << ToText(a) << " " << ToText(b);
  }
  EXPECT_GT(overlaps, 500);
  EXPECT_LT(overlaps, 3500);
}

TEST(ByteRegion, TheBoxAroundBytesHasTheirElements) {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    const TensorPlace place = RandomPlace(random, 1);
    const std::vector<int64_t> start(place.shape.size(), 0);
    const ByteSet tensor = BytesOf(Region::Of(1, start, place.shape), place);
    const uint64_t begin = random() % (place.address + tensor.count());
    const uint64_t end = std::max(begin, place.address) + 1 + random() % 100;
    const Box box = BoxAround(begin, end, place);
    const ByteSet found = BytesOf(RegionOf(box), place);
    for (uint64_t at = begin; at < end; ++at) ASSERT_LE(tensor.test(at), found.test(at));
    // Nothing outside the rows of the first and the last byte.
    const uint64_t row = tensor.count() / static_cast<uint64_t>(place.shape[0]);
    ASSERT_LT(found.count(), std::min<uint64_t>(end, place.address + tensor.count()) -
                                 std::max(begin, place.address) + 2 * row);
  }
}

}  // namespace
}  // namespace spyre::runtime::byte_region_test
