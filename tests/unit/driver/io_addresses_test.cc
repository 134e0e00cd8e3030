// SPDX-License-Identifier: Apache-2.0
#include "driver/io_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "base/error.h"

namespace spyre::driver::io_addresses_test {
namespace {

constexpr uint64_t kPage = 4096;

TEST(IoAddressesTest, GivesWholePagesFromTheBottomAndNeverPageZero) {
  IoAddresses addresses({{0, ~IoAddress{0}}}, kPage, 64);
  EXPECT_EQ(addresses.Allocate(1), 0x1000u);
  EXPECT_EQ(addresses.Allocate(4097), 0x2000u);
  EXPECT_EQ(addresses.Allocate(4096), 0x4000u);
  EXPECT_EQ(addresses.mapped_bytes(), 4 * kPage);
  EXPECT_EQ(addresses.Release(0x2000), 2 * kPage);
  EXPECT_EQ(addresses.Release(0x2000), 0u);
  EXPECT_EQ(addresses.Allocate(8193), 0x5000u) << "three pages do not fit into the hole of two";
  EXPECT_EQ(addresses.Allocate(8192), 0x2000u);
}

// An x86 keeps 0xfee00000 to 0xfeefffff for interrupts.
TEST(IoAddressesTest, StaysOutOfWhatTheIommuKeepsAndWithinTheAddressLines) {
  IoAddresses holes({{0, 0xFEDFFFFF}, {0xFEF00000, ~IoAddress{0}}}, kPage, 64);
  EXPECT_EQ(holes.Allocate(0xFEDFE000), 0x1000u);
  EXPECT_EQ(holes.Allocate(kPage), 0xFEDFF000u);
  EXPECT_EQ(holes.Allocate(kPage), 0xFEF00000u);

  IoAddresses narrow({{0, ~IoAddress{0}}}, kPage, 28);
  EXPECT_EQ(narrow.Allocate((1u << 28) - kPage), 0x1000u);
  EXPECT_THROW(narrow.Allocate(1), Error);
  IoAddresses top({{0xFFFFFFFFFFFFE000, ~IoAddress{0}}}, kPage, 64);
  EXPECT_EQ(top.Allocate(2 * kPage), 0xFFFFFFFFFFFFE000u);
  EXPECT_THROW(top.Allocate(1), Error);
}

TEST(IoAddressesTest, RefusesNothingAndTooMuch) {
  IoAddresses addresses({{0, ~IoAddress{0}}}, kPage, 64);
  EXPECT_THROW(addresses.Allocate(0), Error);
  EXPECT_THROW(addresses.Allocate(~uint64_t{0}), Error);
  IoAddresses none({}, kPage, 64);
  EXPECT_THROW(none.Allocate(1), Error);
}

// The oracle: a vector of pages, searched from the bottom.
TEST(IoAddressesTest, AgreesWithAListOfPages) {
  constexpr size_t kPages = 64;
  std::mt19937 random(15);
  for (int round = 0; round < 200; ++round) {
    std::vector<bool> usable(kPages), used(kPages);
    std::vector<IoRange> ranges;
    for (size_t page = 0; page < kPages;) {
      const size_t length = std::min<size_t>(1 + random() % 20, kPages - page);
      if (random() % 4 != 0) {
        ranges.push_back({page * kPage, (page + length) * kPage - 1});
        for (size_t i = page; i < page + length; ++i) usable[i] = i != 0;
        page += 1;  // the ranges do not touch
      }
      page += length;
    }
    IoAddresses addresses(ranges, kPage, 64);
    std::map<IoAddress, size_t> mapped;
    for (int step = 0; step < 100; ++step) {
      if (!mapped.empty() && random() % 2 != 0) {
        auto gone = std::next(mapped.begin(), static_cast<long>(random() % mapped.size()));
        EXPECT_EQ(addresses.Release(gone->first), gone->second * kPage);
        for (size_t i = 0; i < gone->second; ++i) used[gone->first / kPage + i] = false;
        mapped.erase(gone);
        continue;
      }
      const size_t pages = 1 + random() % 8;
      std::optional<size_t> expected;
      for (size_t first = 0; first + pages <= kPages && !expected; ++first) {
        bool free = true;
        for (size_t i = first; i < first + pages; ++i) free = free && usable[i] && !used[i];
        if (free) expected = first;
      }
      if (!expected) {
        EXPECT_THROW(addresses.Allocate(pages * kPage), Error);
        continue;
      }
      ASSERT_EQ(addresses.Allocate(pages * kPage - random() % kPage), *expected * kPage);
      mapped[*expected * kPage] = pages;
      for (size_t i = 0; i < pages; ++i) used[*expected + i] = true;
    }
  }
}

}  // namespace
}  // namespace spyre::driver::io_addresses_test
