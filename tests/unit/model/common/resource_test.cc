// SPDX-License-Identifier: Apache-2.0
#include "model/common/resource.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <random>
#include <utility>

namespace spyre::model::resource_test {
namespace {

// A cycle of this clock is a picosecond.
const Clock kPicoseconds(1'000'000);

uint64_t Start(Resource& resource, uint64_t earliest, uint64_t cycles, uint64_t bytes = 0) {
  return resource.ReserveCycles(earliest, cycles, bytes);
}

TEST(Resource, ServesOneUserAtATimeInTheOrderOfTheirRequests) {
  Resource link("link", kPicoseconds);
  EXPECT_EQ(Start(link, 100, 50), 100u);
  EXPECT_EQ(Start(link, 110, 50), 150u) << "waits for the first";
  EXPECT_EQ(Start(link, 500, 50), 500u) << "idle by then";
}

TEST(Resource, ARequestForNowFindsTheGapBeforeOneMadeForLater) {
  Resource port("port", kPicoseconds);
  EXPECT_EQ(Start(port, 1000, 100), 1000u);
  EXPECT_EQ(Start(port, 200, 100), 200u) << "idle until 1000";
  EXPECT_EQ(Start(port, 250, 700), 300u) << "just fits";
  EXPECT_EQ(Start(port, 250, 100), 1100u) << "nothing is free before";
}

TEST(Resource, OldReservationsAreForgottenButNeverGivenTwice) {
  Resource port("port", kPicoseconds);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(Start(port, i * 1000, 10), i * 1000);
  EXPECT_GE(Start(port, 0, 10), 80'000u);
}

// What a resource promises, with a list that is searched from its beginning.
class Calendar {
 public:
  uint64_t Take(uint64_t earliest, uint64_t cycles) {
    uint64_t start = std::max(earliest, forgotten_);
    auto next = taken_.begin();
    for (; next != taken_.end() && next->first < start + cycles; ++next)
      start = std::max(start, next->second);
    next = taken_.insert(next, {start, start + cycles});
    if (const auto after = std::next(next); after != taken_.end() && after->first == next->second) {
      next->second = after->second;
      taken_.erase(after);
    }
    if (next != taken_.begin() && std::prev(next)->second == next->first) {
      std::prev(next)->second = next->second;
      taken_.erase(next);
    }
    if (taken_.size() > 16) {
      forgotten_ = taken_.front().second;
      taken_.pop_front();
    }
    return start;
  }

 private:
  uint64_t forgotten_ = 0;
  std::list<std::pair<uint64_t, uint64_t>> taken_;
};

TEST(Resource, RandomRequestsGetWhatACalendarWouldGive) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    Resource port("port", kPicoseconds);
    Calendar calendar;
    const uint64_t spread = 1 + random() % 400;
    for (uint64_t now = 0, i = 0; i < 2000; ++i) {
      now += random() % 30;
      const uint64_t earliest = now + random() % spread;
      const uint64_t cycles = 1 + random() % 40;
      ASSERT_EQ(Start(port, earliest, cycles), calendar.Take(earliest, cycles))
          << "round " << round << ", request " << i;
    }
  }
}

TEST(Resource, CountsBusyTimeBytesAndWaiting) {
  Resource link("link", kPicoseconds);
  Start(link, 0, 100, 64);
  Start(link, 40, 100, 64);
  EXPECT_EQ(link.statistics().busy_ps, 200u);
  EXPECT_EQ(link.statistics().bytes, 128u);
  EXPECT_EQ(link.statistics().requests, 2u);
  EXPECT_EQ(link.statistics().waited_ps, 60u);
}

TEST(Resource, WithoutContentionNobodyWaits) {
  Resource link("link", kPicoseconds, false);
  EXPECT_EQ(Start(link, 0, 100), 0u);
  EXPECT_EQ(Start(link, 40, 100), 40u);
  EXPECT_EQ(link.statistics().waited_ps, 0u);
}

TEST(Resource, UsersThatFollowEachOtherDoNotDrift) {
  Resource port("port", Clock(1100));
  uint64_t end = 0;
  for (int i = 0; i < 1100; ++i) end = port.Reserve(0, 32, 4096);
  EXPECT_EQ(end, 32 * 1'000'000u) << "1100 x 32 cycles of 1100 MHz are 32 us";
  EXPECT_EQ(port.statistics().busy_ps, 32 * 1'000'000u);
  EXPECT_EQ(port.statistics().bytes, 1100u * 4096);
}

TEST(Resource, AUserBeginsOnAnEdgeAndFindsTheGapBeforeALaterOne) {
  Resource port("port", Clock(1000));
  EXPECT_EQ(port.Reserve(9'500, 4), 14'000u);
  EXPECT_EQ(port.Reserve(1'001, 8), 10'000u);
  EXPECT_EQ(port.Reserve(1'001, 1), 15'000u) << "2 to 14 ns are taken";
  EXPECT_EQ(port.Reserve(0, 2), 2'000u);
}

// 1300 MHz: cycles begin at 0, 770, 1539, 2308, 3077, 3847 ps.
TEST(Resource, CountsWholeCyclesAndRoundsTheirSumOnce) {
  Resource link("link", Clock(1300));
  EXPECT_EQ(link.ReserveCycles(1, 2), 1u);
  EXPECT_EQ(link.ReserveCycles(2, 2), 3u) << "waits for a cycle";
  EXPECT_EQ(link.statistics().busy_ps, 3077u);
  EXPECT_EQ(link.statistics().waited_ps, 770u);
  EXPECT_EQ(link.free_cycle(), 5u);
}

TEST(Clocks, CyclesRoundUpToWholePicoseconds) {
  EXPECT_EQ(Clock(1000).Edge(1), 1000u);
  EXPECT_EQ(Clock(1100).Edge(1), 910u);              // 909.09
  EXPECT_EQ(Clock(1100).Edge(11), 10'000u);          // exact: no drift over whole periods
  EXPECT_EQ(Clock(1300).Edge(4096 / 128), 24'616u);  // 32 cycles of 769.23 ps
}

}  // namespace
}  // namespace spyre::model::resource_test
