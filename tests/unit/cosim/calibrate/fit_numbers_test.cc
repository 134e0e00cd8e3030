// SPDX-License-Identifier: Apache-2.0
// Least squares over the logs of whole numbers, against functions whose numbers are known.
#include "cosim/calibrate/fit_numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace spyre::cosim::fit_numbers_test {
namespace {

// Points that take a / rate + b: at sizes of 1 to 2^19.
std::vector<double> TimesOf(uint64_t rate, uint64_t start) {
  std::vector<double> times;
  for (int i = 0; i < 20; ++i)
    times.push_back(std::exp2(i) / static_cast<double>(rate) + static_cast<double>(start));
  return times;
}

LogErrors ErrorsAgainst(const std::vector<double>& measured) {
  return [measured](const std::vector<uint64_t>& values) {
    std::vector<double> errors;
    const std::vector<double> times = TimesOf(values[0], values[1]);
    for (size_t i = 0; i < measured.size(); ++i) errors.push_back(std::log(times[i] / measured[i]));
    return errors;
  };
}

constexpr uint64_t kMost = 1'000'000;

TEST(FitNumbers, NumbersAreFoundFromAFactorOfTwoAway) {
  const NumbersFit fit =
      FitNumbers({{100, 1, kMost}, {1000, 1, kMost}}, ErrorsAgainst(TimesOf(57, 2100)));
  EXPECT_NEAR(static_cast<double>(fit.values[0]), 57, 1);
  EXPECT_NEAR(static_cast<double>(fit.values[1]), 2100, 20);
  EXPECT_LT(fit.deviations[0], 0.02);
  EXPECT_LT(fit.deviations[1], 0.02);
}

TEST(FitNumbers, OneWrongMeasurementDoesNotPullTheRestAlong) {
  std::vector<double> measured = TimesOf(57, 2100);
  measured[10] *= 5;
  const NumbersFit fit = FitNumbers({{60, 1, kMost}, {2000, 1, kMost}}, ErrorsAgainst(measured));
  EXPECT_NEAR(static_cast<double>(fit.values[0]), 57, 2);
  EXPECT_NEAR(static_cast<double>(fit.values[1]), 2100, 50);
}

TEST(FitNumbers, ANumberStaysInItsRange) {
  const NumbersFit fit =
      FitNumbers({{100, 80, kMost}, {1000, 1, kMost}}, ErrorsAgainst(TimesOf(57, 2100)));
  EXPECT_EQ(fit.values[0], 80u);
}

TEST(FitNumbers, WhatNoPointDependsOnStaysAndIsNotDetermined) {
  const std::vector<double> measured = TimesOf(57, 2100);
  const LogErrors errors = [&](const std::vector<uint64_t>& values) {
    return ErrorsAgainst(measured)({values[0], values[1]});
  };
  const NumbersFit fit = FitNumbers({{70, 1, kMost}, {1500, 1, kMost}, {33, 1, kMost}}, errors);
  EXPECT_EQ(fit.values[2], 33u);
  EXPECT_NEAR(static_cast<double>(fit.values[0]), 57, 2);
  EXPECT_LT(fit.deviations[0], 0.05);
  EXPECT_GT(fit.deviations[2], 5 * fit.deviations[0]);
}

TEST(FitNumbers, AnElasticityIsTheRatioOfSmallChanges) {
  const auto slopes =
      Elasticities({{1000, 1, kMost}, {1, 1, kMost}}, {1000, 1}, ErrorsAgainst(TimesOf(1000, 1)));
  ASSERT_EQ(slopes.size(), 2u);
  EXPECT_NEAR(slopes[0].back(), -1, 0.02) << "524 of 525 are work";
  EXPECT_NEAR(slopes[0].front(), 0, 0.01);
  EXPECT_NEAR(slopes[1].front(), 1, 0.01) << "a whole number changes by one at least";
}

}  // namespace
}  // namespace spyre::cosim::fit_numbers_test
