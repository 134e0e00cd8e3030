// SPDX-License-Identifier: Apache-2.0
// The index of boxes against a scan of all.
#include "runtime/graph/box_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace spyre::runtime::box_index_test {
namespace {

// A box of a space with 400 elements in each dimension: in most dimensions all, or a tile of one of
// a few sizes, seldom anything.
Box RandomBox(std::mt19937& random, uint32_t rank) {
  constexpr int64_t kSize = 400;
  Box box;
  box.rank = rank;
  for (uint32_t d = 0; d < rank; ++d) {
    const uint32_t kind = random() % 8;
    const int64_t tile = std::array<int64_t, 4>{1, 16, 64, 100}[random() % 4];
    const int64_t begin = static_cast<int64_t>(random()) % kSize;
    if (kind < 2) {
      box.range[d] = {0, kSize};
    } else if (kind < 7) {
      box.range[d] = {begin / tile * tile, std::min(kSize, begin / tile * tile + tile)};
    } else {
      box.range[d] = {begin, begin + 1 + static_cast<int64_t>(random()) % (kSize - begin)};
    }
  }
  return box;
}

bool Meet(const Box& a, const Box& b) {
  for (uint32_t d = 0; d < a.rank; ++d) {
    if (std::max(a.range[d].begin, b.range[d].begin) >= std::min(a.range[d].end, b.range[d].end)) {
      return false;
    }
  }
  return true;
}

bool Equal(const Box& a, const Box& b) {
  return a.rank == b.rank && BoxCovers(a, b) && BoxCovers(b, a);
}

// Of every rank, with as many boxes at a time as `keys`.
void CompareWithScan(uint32_t seed, uint32_t keys) {
  std::mt19937 random(seed);
  BoxIndex index(64);  // far fewer buckets than cells
  struct Kept {
    uint32_t space;
    Box box;
    bool written;
  };
  std::map<uint32_t, Kept> kept;
  size_t hits = 0;
  for (int i = 0; i < 4000; ++i) {
    const uint32_t space = random() % kMaxRank;
    const Box box = RandomBox(random, space + 1);
    std::vector<uint32_t> found;
    const bool written_only = random() % 2 == 0;
    index.Query(space, box, written_only, [&](uint32_t key) { found.push_back(key); });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<uint32_t> expected;
    for (const auto& [key, other] : kept) {
      if (other.space != space || (written_only && !other.written)) continue;
      if (Meet(other.box, box)) expected.push_back(key);
    }
    ASSERT_EQ(found, expected) << "step " << i;
    hits += found.size();
    const uint32_t key = random() % keys;
    ASSERT_EQ(index.Contains(key), kept.count(key) == 1);
    if (index.Contains(key)) {
      ASSERT_EQ(index.SpaceOf(key), kept[key].space);
      ASSERT_TRUE(Equal(index.BoxAt(key), kept[key].box));
      index.Erase(key);
      kept.erase(key);
    } else {
      const bool written = random() % 2 == 0;
      index.Insert(key, space, box, written);
      kept[key] = {space, box, written};
    }
  }
  EXPECT_GT(hits, 1000u);
}

TEST(BoxIndex, FindsWhatMeetsTheBox) {
  CompareWithScan(1, 32);    // levels become empty and take other shapes
  CompareWithScan(2, 2000);  // many boxes in a level
}

TEST(BoxIndex, TheLargestCoordinatesAreInAGridToo) {
  BoxIndex index(64);
  Box all;
  all.rank = 1;
  all.range[0] = {0, INT64_MAX};
  Box last = all;
  last.range[0].begin = INT64_MAX - 1;
  index.Insert(0, 0, all, true);
  index.Insert(1, 0, last, true);
  std::vector<uint32_t> found;
  index.Query(0, last, false, [&](uint32_t key) { found.push_back(key); });
  index.Query(0, all, false, [&](uint32_t key) { found.push_back(key); });
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<uint32_t>{0, 0, 1, 1}));
}

// Ranges of 32 bits are kept in short: boxes on both sides of that limit, and over it.
TEST(BoxIndex, CoordinatesMayGoBeyondThirtyTwoBits) {
  constexpr int64_t kLimit = int64_t{1} << 32;
  BoxIndex index(64);
  const auto box = [&](int64_t begin, int64_t end) {
    Box made;
    made.rank = 2;
    made.range[0] = {3, 5};
    made.range[1] = {begin, end};
    return made;
  };
  const std::vector<Box> boxes = {box(0, 8), box(kLimit - 8, kLimit - 1), box(kLimit - 8, kLimit),
                                  box(kLimit, kLimit + 8), box(4 * kLimit, 4 * kLimit + 8)};
  for (uint32_t key = 0; key < boxes.size(); ++key) index.Insert(key, 0, boxes[key], true);
  const auto found = [&](const Box& by) {
    std::vector<uint32_t> keys;
    index.Query(0, by, true, [&](uint32_t key) { keys.push_back(key); });
    std::sort(keys.begin(), keys.end());
    return keys;
  };
  using Keys = std::vector<uint32_t>;
  EXPECT_EQ(found(box(0, 1)), (Keys{0}));
  EXPECT_EQ(found(box(kLimit - 1, kLimit)), (Keys{2}));
  EXPECT_EQ(found(box(kLimit - 2, kLimit + 1)), (Keys{1, 2, 3}));
  EXPECT_EQ(found(box(4 * kLimit, 4 * kLimit + 1)), (Keys{4}));
  EXPECT_EQ(found(box(0, 8 * kLimit)), (Keys{0, 1, 2, 3, 4}));
  for (uint32_t key = 0; key < boxes.size(); ++key) {
    EXPECT_TRUE(Equal(index.BoxAt(key), boxes[key]));
    EXPECT_TRUE(index.IsCovered(key, boxes[key]));
    EXPECT_FALSE(index.IsCovered(key, box(boxes[key].range[1].begin + 1, 8 * kLimit)));
  }
}

}  // namespace
}  // namespace spyre::runtime::box_index_test
