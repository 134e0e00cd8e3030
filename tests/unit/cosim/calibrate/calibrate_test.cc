// SPDX-License-Identifier: Apache-2.0
// Calibration points: what a file may say, which family a point is of, and the figures of a family.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "cosim/calibrate/calibrate_report.h"
#include "cosim/calibrate/measured_times.h"

namespace spyre::cosim::calibrate_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kNeg = R"({"op":"neg","rows":64,"cols":128,"cores":4,"predicted_us":10})";
constexpr const char* kAdd = R"({"op":"add","rows":64,"cols":128,"cores":32,"predicted_us":20})";
constexpr const char* kSum = R"({"op":"sumrow","rows":64,"cols":128,"cores":1,"predicted_us":8})";
constexpr const char* kMatmul2 =
    R"({"op":"matmul","m":8,"k":64,"n":128,"split_m":1,"split_n":2,"cores":2,"predicted_us":4})";
constexpr const char* kMatmul32 =
    R"({"op":"matmul","m":64,"k":64,"n":512,"split_m":4,"split_n":8,"cores":32,"predicted_us":5})";

std::string List(const std::vector<std::string>& points) {
  std::string text;
  for (const std::string& point : points) text += (text.empty() ? "" : ", ") + point;
  return R"({"what": "where they are from", "points": [)" + text + "]}";
}

std::vector<CalibrationPoint> Parse(const std::vector<std::string>& points) {
  return ParseCalibration(List(points), "t.json");
}

std::string MessageOf(const std::string& text) {
  try {
    ParseCalibration(text, "t.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    return error.what();
  }
  return "accepted";
}

// A point that is right but for one replaced piece, as the second of a list.
std::string MessageWith(const std::string& right, const std::string& piece,
                        const std::string& wrong) {
  std::string point = right;
  const size_t at = point.find(piece);
  EXPECT_NE(at, std::string::npos) << piece;
  point.replace(at, piece.size(), wrong);
  return MessageOf(List({kNeg, point}));
}

TEST(CalibrationFile, APointIsAWorkloadWithoutData) {
  const std::vector<CalibrationPoint> points = Parse({kMatmul32, kSum});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].Describe(), "matmul 64x64x512 split 4x8");
  EXPECT_EQ(points[1].Describe(), "sumrow 64x128");
  EXPECT_EQ(points[1].Where(), "t.json: points[1]");
  EXPECT_EQ(points[1].reference_us, 8);

  const WorkloadConfig matmul = PointConfig(RunConfig(), points[0]).workload;
  EXPECT_EQ(matmul.size.m, 64u);
  EXPECT_EQ(matmul.size.k, 64u);
  EXPECT_EQ(matmul.size.n, 512u);
  EXPECT_EQ(matmul.split.m, 4u);
  EXPECT_EQ(matmul.split.n, 8u);
  EXPECT_EQ(matmul.split.k, 0u) << "K stays whole";
  EXPECT_EQ(matmul.cores, 32u);
  EXPECT_FALSE(matmul.functional);
  const RunConfig sum = PointConfig(RunConfig(), points[1]);
  EXPECT_EQ(sum.workload.size.rows, 64u);
  EXPECT_EQ(sum.workload.size.cols, 128u);
  EXPECT_FALSE(sum.trace.enabled);
}

TEST(CalibrationFile, CoresAndSplitMayBeLeftOut) {
  const auto points = Parse({R"({"op":"mm","m":8,"k":64,"n":64,"predicted_us":4.5})"});
  EXPECT_EQ(points[0].cores, 32u);
  EXPECT_EQ(points[0].Describe(), "mm 8x64x64");
  EXPECT_EQ(points[0].Family(), "matmul-32");
}

TEST(CalibrationFile, ErrorsNameFilePointKeyAndValue) {
  EXPECT_THAT(MessageWith(kNeg, R"("rows":64,)", ""),
              AllOf(HasSubstr("t.json: points[1]"), HasSubstr("key 'rows' is missing")));
  EXPECT_THAT(MessageWith(kNeg, R"(,"predicted_us":10)", ""), HasSubstr("'predicted_us' is miss"));
  EXPECT_THAT(MessageWith(kNeg, R"("op":"neg",)", ""), HasSubstr("key 'op' is missing"));
  EXPECT_THAT(MessageWith(kNeg, "64", "-64"),
              AllOf(HasSubstr("t.json: points[1].rows"), HasSubstr("1 to 2147483648"),
                    HasSubstr("found -64")));
  EXPECT_THAT(MessageWith(kNeg, "64", "0"), HasSubstr("found 0"));
  EXPECT_THAT(MessageWith(kNeg, "64", "64.5"), HasSubstr("found 64.5"));
  EXPECT_THAT(MessageWith(kNeg, "64", "\"64\""), HasSubstr("found \"64\""));
  EXPECT_THAT(MessageWith(kNeg, "64", "99999999999999999999"), HasSubstr("points[1].rows"));
  EXPECT_THAT(MessageWith(kNeg, "\"neg\"", "7"),
              AllOf(HasSubstr("points[1].op"), HasSubstr("a string is expected, found 7")));
  EXPECT_THAT(MessageWith(kNeg, "neg", "nge"),
              AllOf(HasSubstr("points[1].op"), HasSubstr("did you mean 'neg'?")));
  EXPECT_THAT(MessageWith(kMatmul2, "matmul", "bmm"), HasSubstr("a point has no batch"));
  EXPECT_THAT(MessageWith(kNeg, "\"cores\":4", "\"cores\":33"),
              AllOf(HasSubstr("points[1].cores"), HasSubstr("found 33")));
  EXPECT_THAT(MessageWith(kNeg, "rows", "row"), HasSubstr("unknown key 'row'"));
  EXPECT_THAT(MessageWith(kMatmul2, R"("split_m":1,)", ""), HasSubstr("'split_m' is missing"));
  EXPECT_THAT(MessageWith(kMatmul2, R"("split_m":1)", R"("split_m":2)"),
              HasSubstr("split_m 2 times split_n 2 needs 4 cores; cores is 2"));
  for (const char* time : {"0", "-1", "20000000000000.0", "\"10\"", "null", "true"}) {
    EXPECT_THAT(MessageWith(kNeg, ":10}", std::string(":") + time + "}"),
                AllOf(HasSubstr("points[1].predicted_us"), HasSubstr(time)));
  }
}

TEST(CalibrationFile, ABrokenFileIsRefusedAsAWhole) {
  const std::string whole = List({kNeg});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(MessageOf(whole.substr(0, size)), HasSubstr("t.json: not valid JSON")) << size;
  }
  EXPECT_THAT(MessageOf("[]"), HasSubstr("t.json: an object is expected"));
  EXPECT_THAT(MessageOf("{}"), HasSubstr("key 'points' is missing"));
  EXPECT_THAT(MessageOf(R"({"points": []})"),
              AllOf(HasSubstr("t.json.points"), HasSubstr("at least one point")));
  EXPECT_THAT(MessageOf(R"({"points": {}})"), HasSubstr("an array is expected"));
  EXPECT_THAT(MessageOf(R"({"points": [1]})"), HasSubstr("t.json: points[0]"));
  EXPECT_THAT(MessageOf(std::string(5000, '[')), HasSubstr("levels deep"));
  EXPECT_THAT(MessageWith(kNeg, ":10}", ":1e999}"), HasSubstr("not valid JSON"));
}

// Records of measured times: `more` are keys of a record beside those that each has.
std::string Records(const std::vector<std::string>& records) {
  std::string text;
  for (const std::string& more : records) {
    text += (text.empty() ? "" : ", ") +
            (R"({"what": "kernel time", "unit": "us", "source": 0, )" + more + "}");
  }
  return R"({"sources": ["a paper"], "methods": [], "records": [)" + text + "]}";
}

TEST(MeasuredTimes, KernelTimesOfKnownOperationsArePoints) {
  const auto points = ParseCalibration(
      Records({R"r("op": "-x", "shape": [64, 128], "division": null, "cores": 4, "value": 10)r",
               R"r("op": "a@b, forced division", "shape": {"m": 64, "k": 256, "n": 128},
                  "division": {"m": 2, "n": 1, "k": 2}, "cores": 4, "value": 7)r",
               R"r("op": "x+1.0 (broadcast constant)", "shape": [64, 128], "division": null,
                  "cores": 32, "value": 3)r",
               R"r("op": "softmax(x,dim=-1), one fused kernel", "shape": [64, 128],
                  "division": {"coarse_tiles": 4, "lx_planning": "1"}, "cores": 32, "value": 9)r"}),
      "t.json");
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0].Describe(), "neg 64x128");
  EXPECT_EQ(points[0].cores, 4u);
  EXPECT_EQ(points[0].source, "a paper");
  EXPECT_EQ(points[1].Describe(), "matmul 64x256x128 split 2x1x2");
  EXPECT_EQ(points[1].Family(), "matmul-k");
  EXPECT_EQ(PointConfig(RunConfig(), points[1]).workload.split.k, 2u);
  EXPECT_EQ(PointConfig(RunConfig(), points[1]).workload.schedule, compiler::Schedule::kPublic);
  EXPECT_EQ(points[2].Family(), "constant");
  EXPECT_THAT(PointConfig(RunConfig(), points[2]).workload.ops.json, HasSubstr("1.0"));
  EXPECT_EQ(points[3].Describe(), "softmax 64x128 in 4 tiles");
  EXPECT_THAT(PointConfig(RunConfig(), points[3]).workload.hints.json, HasSubstr("\"R\":4"));
}

TEST(MeasuredTimes, OtherRecordsAreCountedByReason) {
  const auto document = SortedJsonOf(Records({
      R"r("op": "-x", "shape": [64, 128], "division": null, "cores": 4, "value": 10)r",
      R"r("op": "-x", "shape": [64, 128], "division": null, "cores": "unknown", "value": 10)r",
      R"r("op": "a convolution", "shape": null, "division": null, "cores": 32, "value": 10)r",
      R"r("op": "matmul", "shape": {"m": 1, "k": 64, "n": 64}, "division": "unknown", "cores": 32,
         "value": 10)r",
      R"r("op": "matmul", "shape": {"m": 64, "k": 64, "n": 64}, "division": {"m": 1, "n": 1, "k": 1},
         "cores": 1, "value": 900000)r",
  }));
  const MeasuredTimes times = ReadMeasuredTimes(JsonReader(document, "t.json"), "t.json");
  EXPECT_EQ(times.points.size(), 1u);
  EXPECT_EQ(times.left_out.size(), 4u);
  EXPECT_EQ(times.left_out.at("the division is not told"), 1u);
  EXPECT_EQ(times.left_out.at("slower than one core alone by an order of magnitude"), 1u);
}

TEST(MeasuredTimes, ARecordThatIsWrongIsNamed) {
  EXPECT_THAT(MessageOf(Records(
                  {R"r("op": "-x", "shape": [64], "division": null, "cores": 4, "value": 10)r"})),
              AllOf(HasSubstr("t.json: records[0].shape"), HasSubstr("rows and columns")));
  EXPECT_THAT(
      MessageOf(Records(
          {R"r("op": "-x", "shape": [64, 64], "division": null, "cores": 4, "value": 0)r"})),
      HasSubstr("records[0].value"));
  EXPECT_THAT(MessageOf(R"r({"sources": ["a"], "records": []})r"),
              HasSubstr("at least one kernel"));
}

PointResult Time(double us) {
  PointResult result;
  result.device_ps = static_cast<uint64_t>(us * 1e6);
  return result;
}
PointResult Failed(const std::string& why) {
  PointResult result;
  result.failure = why;
  return result;
}

std::vector<std::string> Names(const std::vector<FamilyStatistics>& families) {
  std::vector<std::string> names;
  for (const FamilyStatistics& family : families) names.push_back(family.name);
  return names;
}

TEST(CalibrationStatistics, EveryFamilyWithPointsIsListedAndTheTotalIsLast) {
  const auto points = Parse({kMatmul32, kMatmul2, kNeg, kSum, kAdd});
  const std::vector<PointResult> results(5, Time(10));
  EXPECT_THAT(
      Names(Statistics(points, results)),
      ElementsAre("unary", "binary", "reduction", "matmul-2", "matmul-32", "matmul", "total"));
  EXPECT_THAT(Names(Statistics(Parse({kNeg}), {Time(1)})), ElementsAre("unary", "total"));
}

TEST(CalibrationStatistics, RmsMeanAndWorstAreOfRelativeErrors) {
  // References 10, 10, 10, 10: errors +20 %, -40 %, 0, +10 %.
  const auto points = Parse({kNeg, kNeg, kNeg, kNeg});
  const auto families = Statistics(points, {Time(12), Time(6), Time(10), Time(11)});
  const FamilyStatistics& unary = families.front();
  EXPECT_EQ(unary.all.points, 4u);
  EXPECT_EQ(unary.failed, 0u);
  EXPECT_NEAR(unary.all.mean, -0.025, 1e-12);
  EXPECT_NEAR(unary.all.rms, std::sqrt((0.04 + 0.16 + 0.01) / 4), 1e-12);
  EXPECT_THAT(unary.worst, ElementsAre(1, 0, 3)) << "farthest off first, of either sign";
}

TEST(CalibrationStatistics, EveryThirdPointOfAFileIsHeldOutWhateverWasSelected) {
  // References 10: errors +10, +20, -50, 0, 0, +100 %. The third and the last are held out.
  const auto points = Parse({kNeg, kNeg, kNeg, kNeg, kNeg, kNeg});
  const std::vector<PointResult> results = {Time(11), Time(12), Time(5),
                                            Time(10), Time(10), Time(20)};
  const FamilyStatistics unary = Statistics(points, results).front();
  EXPECT_EQ(unary.fitted.points, 4u);
  EXPECT_NEAR(unary.fitted.rms, std::sqrt((0.01 + 0.04) / 4), 1e-12);
  EXPECT_EQ(unary.held_out.points, 2u);
  EXPECT_NEAR(unary.held_out.rms, std::sqrt((0.25 + 1.0) / 2), 1e-12);
  EXPECT_NEAR(unary.held_out.mean, 0.25, 1e-12);

  const FamilyStatistics last =
      Statistics({points[1], points[5]}, {results[1], results[5]}).front();
  EXPECT_EQ(last.fitted.points, 1u);
  EXPECT_NEAR(last.held_out.rms, 1.0, 1e-12) << "its place in the file counts";
}

TEST(CalibrationStatistics, APointThatFailedCountsAsFailedOnly) {
  const auto points = Parse({kNeg, kNeg, kAdd});
  const auto families = Statistics(points, {Failed("no"), Time(15), Failed("no")});
  EXPECT_EQ(families[0].all.points, 1u);
  EXPECT_EQ(families[0].failed, 1u);
  EXPECT_NEAR(families[0].all.rms, 0.5, 1e-12);
  EXPECT_EQ(families[1].all.points, 0u);
  EXPECT_EQ(families[1].all.rms, 0);
  EXPECT_TRUE(families[1].worst.empty());
  EXPECT_EQ(families.back().failed, 2u);
}

TEST(CalibrationStatistics, PointsAreSelectedByFamilyAndByStep) {
  const auto points = Parse({kMatmul32, kNeg, kMatmul2, kAdd, kMatmul32});
  const auto indices = [](const std::vector<CalibrationPoint>& selected) {
    std::vector<size_t> result;
    for (const CalibrationPoint& point : selected) result.push_back(point.index);
    return result;
  };
  EXPECT_THAT(indices(Select(points, "", 1)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(indices(Select(points, "", 2)), ElementsAre(0, 2, 4));
  EXPECT_THAT(indices(Select(points, "matmul", 1)), ElementsAre(0, 2, 4));
  EXPECT_THAT(indices(Select(points, "matmul-32", 1)), ElementsAre(0, 4));
  EXPECT_THAT(indices(Select(points, "matmul", 2)), ElementsAre(0, 4));
  try {
    Select(points, "matmull-2", 1);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("unary, binary, matmul-2, matmul-32, matmul"),
                                    HasSubstr("did you mean 'matmul-2'?")));
  }
}

TEST(CalibrationReport, JsonHasEveryPointWithTimesAndErrors) {
  const auto points = Parse({kMatmul2, kNeg});
  const auto json = SortedJsonOf(CalibrationJson(points, {Time(5), Failed("out of\nmemory")}));
  const auto& matmul = json["points"][0];
  EXPECT_EQ(matmul["simulated_us"], 5.0);
  EXPECT_EQ(matmul["reference_us"], 4.0);
  EXPECT_EQ(matmul["error"], 0.25);
  EXPECT_EQ(matmul["split_n"], 2);
  EXPECT_EQ(matmul["family"], "matmul-2");
  const auto& neg = json["points"][1];
  EXPECT_TRUE(neg["simulated_us"].is_null());
  EXPECT_EQ(neg["failure"], "out of?memory");
  EXPECT_EQ(neg["rows"], 64);
  EXPECT_EQ(neg["held_out"], false);
  const auto& families = json["families"];
  ASSERT_EQ(families.size(), 4u);
  EXPECT_TRUE(families[0]["rms_error"].is_null());
  EXPECT_EQ(families[1]["worst"][0]["kernel"], "matmul 8x64x128 split 1x2");
  EXPECT_EQ(families[1]["worst_error"], 0.25);
  EXPECT_EQ(families[1]["two_of_three_error"], 0.25);
  EXPECT_EQ(families[3]["name"], "total");
  EXPECT_EQ(families[3]["failed"], 1);
  EXPECT_EQ(families[3]["fitted_points"], 1);
  EXPECT_EQ(families[3]["fitted_rms_error"], 0.25);
  EXPECT_EQ(families[3]["held_out_points"], 0);
  EXPECT_TRUE(families[3]["held_out_rms_error"].is_null());
}

TEST(CalibrationReport, MarkdownIsTheTablesOfTheDocument) {
  EXPECT_EQ(CalibrationMarkdown(Parse({kMatmul2, kNeg}), {Time(5), Time(9)}),
            "| Family | Points | RMS | Fitted | Held out | Mean | Median | Two of three | Farthest "
            "off |\n"
            "|---|--:|--:|--:|--:|--:|--:|--:|---|\n"
            "| pointwise, one input | 1 | 10.0 % | 10.0 % | - | -10.0 % | 10.0 % | 10.0 % | neg "
            "64x128, 4 cores "
            "-10.0 % |\n"
            "| matmul, 2 cores | 1 | 25.0 % | 25.0 % | - | +25.0 % | 25.0 % | 25.0 % | matmul "
            "8x64x128 split 1x2, "
            "2 cores +25.0 % |\n"
            "| matmul, all | 1 | 25.0 % | 25.0 % | - | +25.0 % | 25.0 % | 25.0 % | matmul 8x64x128 "
            "split 1x2, 2 "
            "cores +25.0 % |\n"
            "| total | 2 | 19.0 % | 19.0 % | - | +7.5 % | 25.0 % | 25.0 % | matmul 8x64x128 split "
            "1x2, 2 cores "
            "+25.0 %<br>neg 64x128, 4 cores -10.0 % |\n"
            "\n"
            "| Kernel | Cores | Reference us | Simulated us | Error |\n"
            "|---|--:|--:|--:|--:|\n"
            "| matmul 8x64x128 split 1x2 | 2 | 4.00 | 5.00 | +25.0 % |\n"
            "| neg 64x128 | 4 | 10.00 | 9.00 | -10.0 % |\n");
}

TEST(CalibrationReport, TextSaysWhyAPointFailed) {
  EXPECT_THAT(CalibrationText(Parse({kNeg, kNeg}), {Time(9), Failed("core 3 hung")}),
              AllOf(HasSubstr("1 (1 failed)"), HasSubstr("-10.0 %"),
                    HasSubstr("t.json: points[1] (neg 64x128): core 3 hung\n")));
}

}  // namespace
}  // namespace spyre::cosim::calibrate_test
