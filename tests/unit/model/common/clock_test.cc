// SPDX-License-Identifier: Apache-2.0
#include "model/common/clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

namespace spyre::model::clock_test {
namespace {

constexpr uint64_t kMillion = 1000000;
// Clocks of the card, one whose cycle is a whole number of picoseconds, awkward ones, the limits.
constexpr std::initializer_list<uint64_t> kMhz = {1, 7, 997, 1000, 1100, 1300, 1500, 9999, 10000};

TEST(Clock, AMillionCyclesOneByOneAreAMillionCyclesAtOnce) {
  for (const uint64_t mhz : kMhz) {
    const Clock clock(mhz);
    for (const uint64_t start : {uint64_t{0}, uint64_t{123457}, uint64_t{987654321012}}) {
      uint64_t ps = start;
      ClockCursor cursor(clock);
      cursor.MoveTo(start);
      for (uint64_t i = 0; i < kMillion; ++i) {
        ps = clock.After(ps, 1);
        cursor.Advance(1);
        ASSERT_EQ(cursor.ps(), ps) << mhz << " MHz, cycle " << i;
      }
      EXPECT_EQ(ps, clock.After(start, kMillion)) << mhz << " MHz from " << start << " ps";
    }
  }
}

TEST(Clock, APlaceMovesFromAnyTimeToWhereTheClockIsSoManyCyclesLater) {
  for (const uint64_t mhz : kMhz) {
    Clock clock(mhz);
    ClockCursor cursor(clock);
    for (const uint64_t percent : {uint64_t{100}, uint64_t{40}}) {
      clock.SetPace(kMillion, percent);
      cursor.SetPace(kMillion, percent);
      // Around the ends of microseconds, where edges of all of these clocks fall together.
      for (uint64_t ps = 3 * kMillion - 3000; ps < 3 * kMillion + 3000; ps += 7) {
        for (const uint64_t cycles : {0, 1, 3, 70'000}) {
          cursor.MoveBehind(ps, cycles);
          ASSERT_EQ(cursor.ps(), clock.After(ps, cycles))
              << mhz << " MHz, " << cycles << " cycles from " << ps << " ps";
        }
        cursor.MoveTo(ps);
        const uint64_t edge = cursor.ps();
        cursor.MoveBehind(edge, 2);
        ASSERT_EQ(cursor.ps(), clock.After(edge, 2)) << mhz << " MHz from its own edge";
      }
    }
  }
}

TEST(Clock, CyclesTakeTheirExactTimeRoundedUpOnce) {
  const Clock clock(1100);
  EXPECT_EQ(clock.Edge(1), 910u) << "909.09 ps";
  EXPECT_EQ(clock.Edge(11), 10'000u) << "a whole number of picoseconds";
  EXPECT_EQ(clock.Edge(kMillion), 909'090'910u) << "909,090,909.09 ps, not 910,000,000";
  EXPECT_EQ(clock.After(0, kMillion), 909'090'910u);
}

TEST(Clock, WhatArrivesBetweenTwoEdgesIsSeenAtTheNext) {
  const Clock clock(1100);
  EXPECT_EQ(clock.CycleAt(0), 0u);
  EXPECT_EQ(clock.CycleAt(1), 1u);
  EXPECT_EQ(clock.CycleAt(910), 1u) << "on the edge";
  EXPECT_EQ(clock.CycleAt(911), 2u);
  EXPECT_EQ(clock.After(911, 0), 1819u);
  EXPECT_EQ(clock.After(911, 1), 2728u);
}

TEST(Clock, EveryEdgeIsFoundAgain) {
  for (const uint64_t mhz : kMhz) {
    const Clock clock(mhz);
    for (uint64_t cycle = 0; cycle < 25'000; ++cycle) {
      ASSERT_EQ(clock.CycleAt(clock.Edge(cycle)), cycle) << mhz << " MHz";
      ASSERT_EQ(clock.CycleAt(clock.Edge(cycle) + 1), cycle + 1) << mhz << " MHz";
    }
  }
}

TEST(Clock, ClocksOfWholeMegahertzMeetEveryMicrosecond) {
  for (const uint64_t mhz : kMhz) EXPECT_EQ(Clock(mhz).Edge(5 * mhz), 5 * kMillion) << mhz;
}

TEST(Clock, ARationalRateIsExactAsWell) {
  const Clock link(819'200, 13);  // bytes of PCIe Gen5 x16: 63,015.38 a microsecond
  EXPECT_EQ(link.Edge(819'200), 13 * kMillion);
  uint64_t ps = 0;
  for (int i = 0; i < 1600; ++i) ps = link.After(ps, 512);
  EXPECT_EQ(ps, 13 * kMillion);
}

TEST(Clock, WhatCannotBeCountedInPicosecondsIsNotRepresentable) {
  EXPECT_FALSE(Clock::Representable(0));
  EXPECT_FALSE(Clock::Representable(1, 0));
  EXPECT_TRUE(Clock::Representable(10'000));
  EXPECT_TRUE(Clock::Representable(kMillion)) << "a cycle of one picosecond";
  EXPECT_FALSE(Clock::Representable(kMillion + 1));
  EXPECT_TRUE(Clock::Representable(819'200, 13));
  EXPECT_FALSE(Clock::Representable(1, UINT64_MAX));
  EXPECT_FALSE(Clock::Representable((1ull << 42) - 1, 1ull << 23)) << "products would overflow";
}

TEST(Clock, AnotherPaceChangesWhatFollowsAndCyclesGoOn) {
  Clock clock(1100);
  ClockCursor cursor(clock);
  cursor.MoveTo(990'000);
  clock.SetPace(1'000'000, 40);
  cursor.SetPace(1'000'000, 40);
  EXPECT_EQ(clock.CycleAt(1'000'000), 1100u);
  EXPECT_EQ(clock.Edge(1100), 1'000'000u);
  EXPECT_EQ(clock.Edge(1100 + 44), 1'100'000u) << "440 MHz: 44 cycles in 100 ns";
  EXPECT_EQ(clock.Span(440), 1'000'000u);
  EXPECT_EQ(cursor.ps(), 1'000'000u) << "where the change was";
  cursor.Advance(44);
  EXPECT_EQ(cursor.ps(), 1'100'000u);
  clock.SetPace(1'100'000, 100);
  cursor.SetPace(1'100'000, 100);
  EXPECT_EQ(clock.Edge(1144 + 110), 1'200'000u);
  cursor.Advance(110);
  EXPECT_EQ(cursor.ps(), 1'200'000u);
}

TEST(Clock, AtAnyPaceEveryEdgeIsFoundAgainAlsoThoseBeforeTheChange) {
  for (const uint64_t mhz : kMhz) {
    for (const uint64_t percent : {1, 33, 40, 99, 100}) {
      Clock clock(mhz);
      clock.SetPace(123'456'789, percent);
      const uint64_t changed = clock.CycleAt(123'456'789);
      for (uint64_t cycle = changed - std::min<uint64_t>(changed, 20); cycle < changed + 5000;
           ++cycle) {
        if (clock.Edge(cycle) == 0) continue;  // before the beginning of time
        ASSERT_EQ(clock.CycleAt(clock.Edge(cycle)), cycle) << mhz << " MHz at " << percent << " %";
        ASSERT_LT(clock.Edge(cycle), clock.Edge(cycle + 1));
      }
    }
  }
}

}  // namespace
}  // namespace spyre::model::clock_test
