// Regions as bytes and the index of intervals, against enumeration.
#include "runtime/graph/byte_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "runtime/graph/interval_index.h"
#include "tests/unit/runtime/graph/random_regions.h"

namespace spyre::runtime {
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

TEST(ByteRegion, RunsAreTheBytesOfTheBox) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const TensorPlace place = RandomPlace(random, 1);
    const Region region = RandomRegion(random, place);
    const ByteRegion bytes(region, place);
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
    ASSERT_EQ(Overlap(ByteRegion(a, place_a), ByteRegion(b, place_b)), common)
        << ToText(a) << " " << ToText(b);
    overlaps += common ? 1 : 0;
    if (i % 2 != 0) continue;
    ASSERT_EQ(BoxesOverlap(a, b), common) << ToText(a) << " " << ToText(b);
    ASSERT_EQ(BoxCovers(a, b), (set_b & ~set_a).none()) << ToText(a) << " " << ToText(b);
  }
  EXPECT_GT(overlaps, 500);
  EXPECT_LT(overlaps, 3500);
}

TEST(IntervalIndex, FindsWhatMeetsTheInterval) {
  std::mt19937 random(3);
  IntervalIndex index;
  std::map<uint32_t, std::pair<uint64_t, uint64_t>> kept;
  for (int i = 0; i < 4000; ++i) {
    const uint32_t key = random() % 64;
    const uint64_t begin = random() % 1000;
    const uint64_t end = begin + 1 + random() % (i % 7 == 0 ? 500 : 20);
    if (kept.count(key) != 0) {
      index.Erase(key);
      kept.erase(key);
    } else {
      index.Insert(key, begin, end);
      kept[key] = {begin, end};
    }
    std::vector<uint32_t> found;
    index.Query(begin, end, [&](uint32_t each) { found.push_back(each); });
    std::vector<uint32_t> expected;
    for (const auto& [each, interval] : kept) {
      if (interval.first < end && interval.second > begin) expected.push_back(each);
    }
    std::sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(kept[a].first, a) < std::pair(kept[b].first, b);
    });
    ASSERT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace spyre::runtime
