// SPDX-License-Identifier: Apache-2.0
// The index of intervals against a scan of all.
#include "runtime/graph/interval_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace spyre::runtime::interval_index_test {
namespace {

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
}  // namespace spyre::runtime::interval_index_test
