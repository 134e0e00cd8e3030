// SPDX-License-Identifier: Apache-2.0
#include "model/core/lx_port.h"

#include <gtest/gtest.h>

namespace spyre::model::lx_port_test {
namespace {

// 1000 MHz and 128 bytes a cycle: a cycle is 1000 ps. Bursts have times, streams cycles.
constexpr uint64_t kCycle = 1000;

struct LxPortTest : testing::Test {
  Clock clock{1000};
  LxPort port{"port", clock, 128, true};
};

TEST_F(LxPortTest, PassesItsWidthACycle) {
  EXPECT_EQ(port.Burst(0, 4096), 32 * kCycle);
  EXPECT_EQ(port.Stream(100, 4096), 132u);
  EXPECT_EQ(port.statistics().busy_ps, 64 * kCycle);
  EXPECT_EQ(port.statistics().bytes, 8192u);
}

TEST_F(LxPortTest, BurstsGoBeforeAStreamThatHasBegun) {
  EXPECT_EQ(port.Stream(0, 128 * 100), 100u);
  EXPECT_EQ(port.Burst(10 * kCycle, 4096), 42 * kCycle) << "ps: does not wait for the stream";
}

TEST_F(LxPortTest, AStreamPassesInTheCyclesThatBurstsLeave) {
  port.Burst(0, 4096);
  EXPECT_EQ(port.Stream(0, 128 * 100), 132u);
}

TEST_F(LxPortTest, BurstsDuringAStreamAreChargedToTheNext) {
  EXPECT_EQ(port.Stream(0, 128 * 100), 100u);
  port.Burst(10 * kCycle, 4096);
  EXPECT_EQ(port.Stream(100, 128 * 100), 232u)
      << "cycles: 100 + 100 + 32, never more than the width";
}

TEST_F(LxPortTest, BurstsBetweenStreamsCostThemNothing) {
  EXPECT_EQ(port.Stream(0, 128 * 10), 10u);
  port.Burst(20 * kCycle, 4096);
  EXPECT_EQ(port.Stream(100, 128 * 10), 110u);
}

TEST_F(LxPortTest, ABurstThatPassesOnAsItComesEndsWithItsLastByte) {
  EXPECT_EQ(port.BurstThrough(100 * kCycle, 4096), 100 * kCycle);
  EXPECT_EQ(port.BurstThrough(101 * kCycle, 4096), 132 * kCycle) << "ps: behind the first";
}

TEST_F(LxPortTest, WithoutContentionNobodyWaits) {
  LxPort free{"free", clock, 128, false};
  free.Burst(0, 4096);
  EXPECT_EQ(free.Burst(0, 4096), 32 * kCycle);
  EXPECT_EQ(free.Stream(0, 4096), 32u);
}

}  // namespace
}  // namespace spyre::model::lx_port_test
