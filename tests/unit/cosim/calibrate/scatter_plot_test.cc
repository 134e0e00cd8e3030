// SPDX-License-Identifier: Apache-2.0
// The picture of measured against simulated times, the table of what is farthest off, and the
// reasons in it.
#include "cosim/calibrate/scatter_plot.h"

#include <gmock/gmock.h>

#include <cstdio>

#include "cosim/calibrate/calibrate_report.h"
#include "cosim/calibrate/error_reasons.h"

namespace spyre::cosim::scatter_plot_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<CalibrationPoint> Points(const std::string& list) {
  return ParseCalibration(R"({"points": [)" + list + "]}", "t.json");
}
PointResult Time(double us) {
  PointResult result;
  result.device_ps = static_cast<uint64_t>(us * 1e6);
  return result;
}

constexpr const char* kThree = R"(
  {"op":"neg","rows":64,"cols":128,"cores":4,"measured_us":100},
  {"op":"sum","rows":8192,"cols":128,"cores":32,"measured_us":100},
  {"op":"matmul","m":64,"k":64,"n":512,"split_m":4,"split_n":8,"cores":32,"measured_us":100})";

// x and y of each circle with a stroke: of the points, the legend has none.
std::vector<std::pair<double, double>> Circles(const std::string& svg) {
  std::vector<std::pair<double, double>> found;
  for (size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) {
    double x = 0, y = 0;
    int radius = 0;
    if (std::sscanf(svg.c_str() + at, R"(<circle cx="%lf" cy="%lf" r="%d")", &x, &y, &radius) ==
            3 &&
        radius == 3)
      found.emplace_back(x, y);
  }
  return found;
}

TEST(ScatterPlot, APointThatIsTooSlowLiesAboveOneThatIsRight) {
  const auto circles = Circles(ScatterSvg(Points(kThree), {Time(100), Time(150), Time(60)}));
  ASSERT_EQ(circles.size(), 3u);
  EXPECT_EQ(circles[0].first, circles[1].first) << "they are measured alike";
  EXPECT_LT(circles[1].second, circles[0].second) << "y goes down";
  EXPECT_GT(circles[2].second, circles[0].second);
}

TEST(ScatterPlot, HeldOutPointsAreHollowAndFailedOnesAreNotThere) {
  PointResult failed;
  failed.failure = "core 3 hung";
  const std::string svg = ScatterSvg(Points(kThree), {Time(100), failed, Time(60)});
  EXPECT_EQ(Circles(svg).size(), 2u);
  EXPECT_THAT(svg, HasSubstr("fill=\"none\"")) << "the third point is held out";
  EXPECT_THAT(ScatterSvg({}, {}), HasSubstr("</svg>"));
}

TEST(WorstTable, HasTheFarthestFirstAndNothingThatIsNear) {
  const std::string four =
      std::string(kThree) + R"(, {"op":"neg","rows":64,"cols":256,"cores":4,"measured_us":100})";
  const std::vector<PointResult> results = {Time(90), Time(103), Time(80), Time(70)};
  const std::string table = WorstMarkdown(Points(four), results, 10);
  EXPECT_LT(table.find("neg 64x256"), table.find("neg 64x128"));
  EXPECT_THAT(table, Not(HasSubstr("sum 8192x128"))) << "3 % is near";
  EXPECT_THAT(table, HasSubstr("| matmul 64x64x512 split 4x8 | 32 | yes | -20.0 % |"));
  EXPECT_THAT(WorstMarkdown(Points(four), results, 1), Not(HasSubstr("neg 64x128")));
}

TEST(ErrorReasons, AreByWhatTheKernelIsAndWhetherItIsTooFast) {
  const auto reason = [](const std::string& point, double error) {
    return ReasonOf(Points(point).front(), error);
  };
  const std::string rows = R"({"op":"sum","rows":8192,"cols":512,"cores":32,"measured_us":100})";
  EXPECT_THAT(reason(rows, -0.1), HasSubstr("many rows"));
  EXPECT_EQ(reason(rows, 0.1), "not known");
  const std::string group =
      R"({"op":"matmul","m":64,"k":64,"n":512,"split_m":32,"split_n":1,"measured_us":100})";
  EXPECT_THAT(reason(group, -0.2), HasSubstr("one group"));
  EXPECT_THAT(reason(group, 0.2), HasSubstr("overlap"));
  EXPECT_THAT(reason(R"({"op":"neg","rows":512,"cols":512,"measured_us":10})", -0.1),
              HasSubstr("2 us"));
}

}  // namespace
}  // namespace spyre::cosim::scatter_plot_test
