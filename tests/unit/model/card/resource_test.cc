#include "model/card/resource.h"

#include <gtest/gtest.h>

namespace spyre::model {
namespace {

TEST(Resource, ServesOneUserAtATimeInTheOrderOfTheirRequests) {
  Resource link("link");
  EXPECT_EQ(link.Reserve(100, 50), 100u);
  EXPECT_EQ(link.Reserve(110, 50), 150u) << "waits for the first";
  EXPECT_EQ(link.Reserve(500, 50), 500u) << "idle by then";
}

TEST(Resource, ARequestForNowFindsTheGapBeforeOneMadeForLater) {
  Resource port("port");
  EXPECT_EQ(port.Reserve(1000, 100), 1000u);
  EXPECT_EQ(port.Reserve(200, 100), 200u) << "idle until 1000";
  EXPECT_EQ(port.Reserve(250, 700), 300u) << "just fits";
  EXPECT_EQ(port.Reserve(250, 100), 1100u) << "nothing is free before";
}

TEST(Resource, OldReservationsAreForgottenButNeverGivenTwice) {
  Resource port("port");
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(port.Reserve(i * 1000, 10), i * 1000);
  EXPECT_GE(port.Reserve(0, 10), 80'000u);
}

TEST(Resource, CountsBusyTimeBytesAndWaiting) {
  Resource link("link");
  link.Reserve(0, 100, 64);
  link.Reserve(40, 100, 64);
  EXPECT_EQ(link.statistics().busy_ps, 200u);
  EXPECT_EQ(link.statistics().bytes, 128u);
  EXPECT_EQ(link.statistics().requests, 2u);
  EXPECT_EQ(link.statistics().waited_ps, 60u);
}

TEST(Resource, WithoutContentionNobodyWaits) {
  Resource link("link", false);
  EXPECT_EQ(link.Reserve(0, 100), 0u);
  EXPECT_EQ(link.Reserve(40, 100), 40u);
  EXPECT_EQ(link.statistics().waited_ps, 0u);
}

TEST(Clocks, CyclesRoundUpToWholePicoseconds) {
  EXPECT_EQ(Clock(1000).Edge(1), 1000u);
  EXPECT_EQ(Clock(1100).Edge(1), 910u);              // 909.09
  EXPECT_EQ(Clock(1100).Edge(11), 10'000u);          // exact: no drift over whole periods
  EXPECT_EQ(Clock(1300).Edge(4096 / 128), 24'616u);  // 32 cycles of 769.23 ps
}

}  // namespace
}  // namespace spyre::model
