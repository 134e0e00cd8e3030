// SPDX-License-Identifier: Apache-2.0
// Errors against float64, worked out by hand.
#include "cosim/verify/error_meter.h"

#include <gtest/gtest.h>

#include <limits>

namespace spyre::cosim::error_meter_test {
namespace {

TEST(ErrorMeter, MeasuresTheLargestErrorsOfATensor) {
  ErrorMeter meter;
  meter.Add(2.5, 2);
  meter.Add(-8.25, -8);
  Verification result;
  meter.AddTo(result);
  EXPECT_EQ(result.error_elements, 2);
  EXPECT_EQ(result.max_abs_error, 0.5);
  EXPECT_EQ(result.max_relative_error, 0.5 / 8) << "by the largest magnitude of the ideals";
  // SEN169_FP16 has 9 bits behind the point: one ulp at 2 is 2 / 512.
  EXPECT_EQ(result.max_ulp_error, 0.5 / (2.0 / 512)) << "ulps at each element's ideal";
}

TEST(ErrorMeter, CountsWhatIsNotFiniteWhereFloat64Is) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ErrorMeter meter;
  meter.Add(kInfinity, 1);
  meter.Add(1, kInfinity);
  meter.Add(std::numeric_limits<double>::quiet_NaN(), 1);
  Verification result;
  meter.AddTo(result);
  EXPECT_EQ(result.error_elements, 0);
  EXPECT_EQ(result.max_abs_error, 0);
  EXPECT_EQ(result.not_finite, 2);
  EXPECT_EQ(result.unjudged, 1) << "float64 itself is not finite";
  result.elements = 3;
  EXPECT_FALSE(result.passed());
}

TEST(ErrorMeter, NamesTheElementThatIsFurthestBeyondItsLimit) {
  ErrorMeter meter, other;
  meter.Add(1.5, 1, 1, 10);
  meter.Add(2.5, 2, 0.125, 11);
  other.Add(3.5, 3, 0.25, 12);
  meter.Merge(other);
  Verification result;
  result.elements = 3;
  meter.AddTo(result, "y");
  EXPECT_EQ(result.beyond, 2);
  ASSERT_TRUE(result.worst);
  EXPECT_EQ(result.worst->tensor, "y");
  EXPECT_EQ(result.worst->element, 11);
  EXPECT_EQ(result.worst->limit, 0.125);
  EXPECT_FALSE(result.passed()) << "equal bits do not excuse a wrong value";
}

TEST(ErrorMeter, AGivenToleranceIsByTheLargestMagnitude) {
  ErrorMeter meter;
  meter.Add(8.5, 8);
  Verification result;
  result.elements = 1;
  meter.AddTo(result);
  result.tolerance = 0.5 / 8;
  EXPECT_TRUE(result.passed());
  result.tolerance = 0.5 / 8 / 2;
  EXPECT_FALSE(result.passed());
}

TEST(ErrorMeter, ARunWithoutAnElementIsNotVerified) { EXPECT_FALSE(Verification().passed()); }

TEST(ErrorMeter, MergesWhatThreadsMeasured) {
  ErrorMeter one, two;
  one.Add(1.5, 1);
  two.Add(4, 4);
  two.Merge(one);
  Verification result;
  two.AddTo(result);
  EXPECT_EQ(result.error_elements, 2);
  EXPECT_EQ(result.max_abs_error, 0.5);
  EXPECT_EQ(result.max_relative_error, 0.5 / 4);
}

TEST(ErrorMeter, TheRelativeErrorIsThatOfTheWorstTensor) {
  ErrorMeter coarse, fine;
  coarse.Add(1.5, 1);
  fine.Add(1000, 1001);
  Verification result;
  coarse.AddTo(result);
  fine.AddTo(result);
  EXPECT_EQ(result.max_abs_error, 1);
  EXPECT_EQ(result.max_relative_error, 0.5);
}

}  // namespace
}  // namespace spyre::cosim::error_meter_test
