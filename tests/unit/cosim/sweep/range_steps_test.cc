// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/range_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace spyre::cosim::range_steps_test {
namespace {

using ::testing::ElementsAre;

RangeSteps Range(uint64_t from, uint64_t to) {
  RangeSteps steps;
  steps.from = from;
  steps.to = to;
  return steps;
}

TEST(RangeSteps, StepsEndAtTheLastThatIsNotAboveTheEnd) {
  RangeSteps steps = Range(3, 12);
  steps.step = 4;
  EXPECT_THAT(NumbersOf(steps), ElementsAre(3, 7, 11));
  steps.to = 11;
  EXPECT_THAT(NumbersOf(steps), ElementsAre(3, 7, 11));
}

TEST(RangeSteps, AFactorMultipliesWithoutAddingUpRoundings) {
  RangeSteps steps = Range(512, 4096);
  steps.factor = 2;
  EXPECT_THAT(NumbersOf(steps), ElementsAre(512, 1024, 2048, 4096));
  steps = Range(1, 10);
  steps.factor = 1.5;  // 1, 1.5, 2.25, 3.375, 5.0625, 7.59375, 11.39
  EXPECT_THAT(NumbersOf(steps), ElementsAre(1, 2, 3, 5, 8));
}

TEST(RangeSteps, ACountHasBothEndsAndEvenDistances) {
  RangeSteps steps = Range(10, 50);
  steps.count = 5;
  EXPECT_THAT(NumbersOf(steps), ElementsAre(10, 20, 30, 40, 50));
}

TEST(RangeSteps, ALogarithmicCountHasEvenRatios) {
  RangeSteps steps = Range(1, 1000);
  steps.count = 4;
  steps.logarithmic = true;
  EXPECT_THAT(NumbersOf(steps), ElementsAre(1, 10, 100, 1000));
}

TEST(RangeSteps, ValuesThatRoundToTheSameNumberAreOne) {
  RangeSteps steps = Range(1, 3);
  steps.count = 9;
  EXPECT_THAT(NumbersOf(steps), ElementsAre(1, 2, 3));
}

TEST(RangeSteps, TheLargestNumberDoesNotWrapAround) {
  RangeSteps steps = Range(UINT64_MAX - 3, UINT64_MAX);
  steps.step = 2;
  EXPECT_THAT(NumbersOf(steps), ElementsAre(UINT64_MAX - 3, UINT64_MAX - 1));
}

TEST(RangeSteps, AMillionValuesAreEnough) {
  RangeSteps steps = Range(0, 100'000'000);
  steps.step = 1;
  EXPECT_THROW(NumbersOf(steps), Error);
}

}  // namespace
}  // namespace spyre::cosim::range_steps_test
