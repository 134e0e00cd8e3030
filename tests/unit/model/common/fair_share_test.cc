// SPDX-License-Identifier: Apache-2.0
#include "model/common/fair_share.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace spyre::model::fair_share_test {
namespace {

// Lets those of `wants` that stand lowest use `amount` each time, and returns how often each did.
std::vector<int> Turns(FairShare& share, const std::vector<uint32_t>& weights, int rounds,
                       uint64_t amount) {
  std::vector<int> turns(weights.size(), 0);
  for (int round = 0; round < rounds; ++round) {
    unsigned next = 0;
    for (unsigned function = 1; function < weights.size(); ++function)
      if (FairShare::Before(share.Turn(function), share.Turn(next))) next = function;
    share.Begin(next);
    share.Use(next, amount, FairShare::CostOf(weights[next]));
    ++turns[next];
  }
  return turns;
}

TEST(FairShare, EqualWeightsTakeTurns) {
  FairShare share(3);
  EXPECT_EQ(Turns(share, {1, 1, 1}, 30, 4096), (std::vector<int>{10, 10, 10}));
}

TEST(FairShare, TurnsAreInTheRatioOfTheWeights) {
  FairShare share(3);
  const std::vector<int> turns = Turns(share, {1, 2, 5}, 800, 4096);
  EXPECT_NEAR(turns[0], 100, 1);
  EXPECT_NEAR(turns[1], 200, 1);
  EXPECT_NEAR(turns[2], 500, 1);
}

TEST(FairShare, WhoWasIdleHasNotSavedUpTurns) {
  FairShare share(2);
  for (int i = 0; i < 1000; ++i) {
    share.Begin(0);
    share.Use(0, 4096, FairShare::kFullCost);
  }
  const std::vector<int> turns = Turns(share, {1, 1}, 10, 4096);
  EXPECT_NEAR(turns[0], 5, 1);
}

// Sums of picoseconds wrap after days of simulated time.
TEST(FairShare, GoesOnWhenSumsWrap) {
  FairShare share(2);
  for (int i = 0; i < 8; ++i) {
    for (unsigned function = 0; function < 2; ++function) {
      share.Begin(function);
      share.Use(function, uint64_t{1} << 45, FairShare::kFullCost);
    }
    const std::vector<int> turns = Turns(share, {1, 1}, 10, uint64_t{1} << 30);
    EXPECT_EQ(turns[0], 5) << i;
  }
}

TEST(FairShare, AWeightOfZeroCountsAsOne) { EXPECT_EQ(FairShare::CostOf(0), FairShare::CostOf(1)); }

}  // namespace
}  // namespace spyre::model::fair_share_test
