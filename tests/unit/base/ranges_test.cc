// SPDX-License-Identifier: Apache-2.0
// Algorithms over a range give what the standard library's give.
#include "base/ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>

namespace spyre::ranges_test {
namespace {

using Pair = std::pair<int, int>;

TEST(Ranges, SortsAsTheStandardLibraryDoesAndKeepsTheOrderOfEqualElements) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 100; ++size) {
    std::vector<Pair> list;
    for (size_t i = 0; i < size; ++i)
      list.emplace_back(static_cast<int>(random() % 10), static_cast<int>(i));
    std::vector<Pair> expected = list;
    const auto larger = [](const Pair& a, const Pair& b) { return a.first > b.first; };
    std::stable_sort(expected.begin(), expected.end(), larger);
    StableSort(list, larger);
    EXPECT_EQ(list, expected) << size;
  }
}

TEST(Ranges, SortsWhatCanOnlyBeMoved) {
  std::vector<std::unique_ptr<int>> list;
  for (const int value : {3, 1, 2}) list.push_back(std::make_unique<int>(value));
  StableSort(list, [](const auto& a, const auto& b) { return *a < *b; });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*list[static_cast<size_t>(i)], i + 1);
}

TEST(Ranges, AnErrorOfTheComparisonLeavesTheListAsItWas) {
  std::vector<std::string> list = {"b", "c", "a"};
  const std::vector<std::string> before = list;
  EXPECT_THROW(
      StableSort(list, [](const std::string& a,
                          const std::string& b) { return a == "a" || b == "a" ? throw 1 : a < b; }),
      int);
  EXPECT_EQ(list, before);
}

TEST(Ranges, FindTheFirstThatFitsInAnyRange) {
  std::vector<int> list = {1, 4, 6};
  const auto even = [](int value) { return value % 2 == 0; };
  EXPECT_EQ(FindIf(list, even) - list.begin(), 1);
  *FindIf(list, even) = 5;
  EXPECT_EQ(list[1], 5);
  EXPECT_EQ(FindIf(list, [](int value) { return value > 6; }), list.end());
  const int array[] = {1, 3};
  EXPECT_EQ(FindIf(array, even), std::end(array));
  const std::map<std::string, int> map = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(FindIf(map, [](const auto& entry) { return entry.second == 2; })->first, "b");
}

TEST(Ranges, SayWhetherAnyAllOrNoneFits) {
  const auto even = [](int value) { return value % 2 == 0; };
  const std::vector<int> none = {1, 3}, some = {1, 2}, all = {2, 4}, empty;
  EXPECT_TRUE(!AnyFits(none, even) && AnyFits(some, even) && AnyFits(all, even));
  EXPECT_TRUE(!AllFit(none, even) && !AllFit(some, even) && AllFit(all, even));
  EXPECT_TRUE(NoneFits(none, even) && !NoneFits(some, even) && !NoneFits(all, even));
  EXPECT_TRUE(!AnyFits(empty, even) && AllFit(empty, even) && NoneFits(empty, even));
}

}  // namespace
}  // namespace spyre::ranges_test
