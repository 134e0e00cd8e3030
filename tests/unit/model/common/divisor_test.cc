// SPDX-License-Identifier: Apache-2.0
#include "model/common/divisor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace spyre::model::divisor_test {
namespace {

TEST(Divisor, DividesAsTheProcessorDoes) {
  std::mt19937_64 random(169);
  for (int round = 0; round < 2000; ++round) {
    // Every magnitude of divisor and dividend, and the neighbours of multiples and of the limits.
    const uint64_t divisor = (random() >> (round % 64)) | 1ull << (63 - round % 64);
    const Divisor by(divisor);
    const uint64_t dividend = random() >> (random() % 64);
    const uint64_t multiple = dividend / divisor * divisor;
    for (const uint64_t n : {dividend, multiple, multiple - 1, multiple + 1, divisor, divisor - 1,
                             divisor + 1, uint64_t{0}, UINT64_MAX, UINT64_MAX - 1}) {
      ASSERT_EQ(by.Divide(n).quotient, n / divisor) << n << " / " << divisor;
      ASSERT_EQ(by.Divide(n).rest, n % divisor) << n << " % " << divisor;
    }
  }
}

TEST(Divisor, RoundsUpAsManyUnitsAsHoldTheDividend) {
  const Divisor by_128(128);
  EXPECT_EQ(by_128.RoundedUp(0), 0u);
  EXPECT_EQ(by_128.RoundedUp(1), 1u);
  EXPECT_EQ(by_128.RoundedUp(128), 1u);
  EXPECT_EQ(by_128.RoundedUp(129), 2u);
}

TEST(Divisor, OneDividesEverything) {
  const Divisor by_one(1);
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(by_one.Divide(n).quotient, n);
    EXPECT_EQ(by_one.Divide(n).rest, 0u);
  }
}

}  // namespace
}  // namespace spyre::model::divisor_test
