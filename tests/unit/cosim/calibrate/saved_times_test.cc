// SPDX-License-Identifier: Apache-2.0
// Times of points that were written as JSON, read again.
#include "cosim/calibrate/saved_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cosim/calibrate/calibrate_report.h"

namespace spyre::cosim::saved_times_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPoints = R"({"points": [
    {"op": "neg", "rows": 64, "cols": 128, "cores": 4, "predicted_us": 10},
    {"op": "add", "rows": 64, "cols": 128, "cores": 32, "predicted_us": 20},
    {"op": "matmul", "m": 8, "k": 64, "n": 128, "cores": 2, "predicted_us": 4}]})";

PointResult Time(uint64_t device_ps, uint64_t timed_ps) {
  PointResult result;
  result.device_ps = device_ps;
  result.timed_ps = timed_ps;
  return result;
}

PointResult Failed(const std::string& reason) {
  PointResult result;
  result.failure = reason;
  return result;
}

std::string MessageOf(const std::string& text, const std::vector<CalibrationPoint>& points) {
  try {
    ParseSavedTimes(text, "times.json", points);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    return error.what();
  }
  return "accepted";
}

TEST(SavedTimes, AreThoseThatWereWrittenToThePicosecond) {
  const std::vector<CalibrationPoint> points = ParseCalibration(kPoints, "t.json");
  const std::vector<PointResult> written = {Time(10'000'001, 0), Failed("core 3 hung"),
                                            Time(999'999'999'999, 1)};
  const std::vector<PointResult> read =
      ParseSavedTimes(CalibrationJson(points, written), "times.json", points);
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(read[i].device_ps, written[i].device_ps) << i;
    EXPECT_EQ(read[i].timed_ps, written[i].timed_ps) << i;
    EXPECT_EQ(read[i].failure, written[i].failure) << i;
  }
  EXPECT_EQ(CalibrationJson(points, read), CalibrationJson(points, written));
}

TEST(SavedTimes, AreFoundForAPartOfThePoints) {
  const std::vector<CalibrationPoint> points = ParseCalibration(kPoints, "t.json");
  const std::string text = CalibrationJson(points, {Time(1, 0), Time(2, 0), Time(3, 0)});
  const std::vector<PointResult> read = ParseSavedTimes(text, "times.json", {points[2], points[0]});
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].device_ps, 3u);
  EXPECT_EQ(read[1].device_ps, 1u);
}

TEST(SavedTimes, OfOtherPointsAreRefused) {
  const std::vector<CalibrationPoint> points = ParseCalibration(kPoints, "t.json");
  const std::string first = CalibrationJson({points[0]}, {Time(1, 0)});
  EXPECT_THAT(MessageOf(first, points),
              HasSubstr("times.json: there is no time of t.json: points[1] (add 64x128)"));
  EXPECT_THAT(MessageOf(first, ParseCalibration(kPoints, "u.json")),
              HasSubstr("there is no time of u.json: points[0]"));
  std::vector<CalibrationPoint> changed = {points[0]};
  changed[0].reference_us = 11;
  EXPECT_THAT(MessageOf(first, changed),
              HasSubstr("times.json.points[0] is of another kernel than t.json: points[0]"));
  EXPECT_THAT(MessageOf("{}", points), HasSubstr("key 'points' is missing"));
  EXPECT_THAT(MessageOf(R"({"points": [{"file": "t.json", "index": 0, "op": "neg",
                            "reference_us": 10, "simulated_us": -1}]})",
                        {points[0]}),
              HasSubstr("times.json.points[0].simulated_us: microseconds above 0"));
}

}  // namespace
}  // namespace spyre::cosim::saved_times_test
