// SPDX-License-Identifier: Apache-2.0
// `spyre-cosim calibrate` as users call it: three small kernels through the whole stack.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "cosim/calibrate/calibrate_statistics.h"
#include "cosim/report/report_trust.h"
#include "tests/integration/accuracy_page.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::calibrate_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kPoints =
    R"({"points": [
      {"op": "neg", "rows": 64, "cols": 512, "cores": 4, "predicted_us": 1.25},
      {"op": "sumrow", "rows": 64, "cols": 512, "cores": 4, "predicted_us": 1.25},
      {"op": "matmul", "m": 64, "k": 128, "n": 256, "split_m": 2, "split_n": 2, "cores": 4,
       "predicted_us": 2}]})";

class CalibrateTest : public test::ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    Write("points.json", kPoints);
  }
};

TEST_F(CalibrateTest, APointsTimeIsTheKernelsTimeInARunOfItsOwn) {
  const Outcome outcome = Call("calibrate points.json --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << "progress is for terminals";
  const json points = SortedJsonOf(outcome.out)["points"];
  ASSERT_EQ(points.size(), 3u);
  const char* workloads[] = {
      "op = \"neg\"\nrows = 64\ncols = 512\ncores = 4\n",
      "op = \"sum\"\nrows = 64\ncols = 512\ncores = 4\n",
      "op = \"matmul\"\nm = 64\nk = 128\nn = 256\nsplit = { m = 2, n = 2 }\ncores = 4\n"};
  for (int i = 0; i < 3; ++i) {
    const json kernel = Report(workloads[i])["kernels"][0];
    EXPECT_DOUBLE_EQ(points[i]["simulated_us"].get<double>() * 1000, kernel["device_ns"])
        << "microseconds; the run had data, the point had none: " << workloads[i];
    EXPECT_DOUBLE_EQ(
        points[i]["error"].get<double>(),
        points[i]["simulated_us"].get<double>() / points[i]["reference_us"].get<double>() - 1);
  }
}

TEST_F(CalibrateTest, TheResultDoesNotDependOnHowManyRunAtATime) {
  const Outcome one = Call("calibrate points.json points.json --jobs 1 --markdown");
  const Outcome five = Call("calibrate points.json points.json --jobs 5 --markdown");
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("| total | 6 |"));
  EXPECT_EQ(one.out, five.out);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ + "/tmp")) << "files of the points' runs";
}

TEST_F(CalibrateTest, SavedTimesAreShownWithoutSimulatingAgain) {
  const Outcome saved = Call("calibrate points.json --json");
  ASSERT_EQ(saved.status, 0) << saved.err;
  const Outcome table = Call("calibrate points.json --markdown");
  std::string text = saved.out;
  for (const char* form : {"--json", "--markdown"}) {
    Write("times.json", text);
    const Outcome again = Call(std::string("calibrate points.json --times times.json ") + form);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(again.out, std::string(form) == "--json" ? saved.out : table.out);
  }
  // With another time in the file, that one is shown.
  const std::string key = "\"simulated_us\": ";
  text.insert(text.find(key) + key.size(), "9");
  Write("times.json", text);
  EXPECT_NE(Call("calibrate points.json --times times.json --json").out, saved.out);
  EXPECT_EQ(Call("calibrate points.json --times times.json --set card.cores=8").status, 2);
}

TEST_F(CalibrateTest, TheCardAndItsParametersAreTheCallers) {
  const auto simulated_us = [&](const std::string& options) {
    const Outcome outcome = Call("calibrate points.json --family unary --json " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return SortedJsonOf(outcome.out)["points"][0]["simulated_us"].get<double>();
  };
  Write("slow.toml", "[card.clock]\ncore_mhz = 550\nring_mhz = 550\n");
  const double usual = simulated_us("");
  EXPECT_GT(simulated_us("--card slow.toml"), usual);
  EXPECT_GT(simulated_us("--set card.clock.core_mhz=550 --set card.clock.ring_mhz=550"), usual);
}

TEST_F(CalibrateTest, APointThatFailsDoesNotEndTheOthers) {
  Write("large.json",
        R"({"points": [{"op": "neg", "rows": 1048576, "cols": 1048576, "predicted_us": 1},
                       {"op": "neg", "rows": 1, "cols": 64, "predicted_us": 1}]})");
  const Outcome outcome = Call("calibrate large.json");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("large.json: points[0] (neg 1048576x1048576): "),
                                 HasSubstr("1 (1 failed)")));
}

TEST_F(CalibrateTest, BadInputEndsWithStatusTwoBeforeAnythingRuns) {
  Write("cut.json", "{\"points\": [");
  Write(
      "huge.json",
      R"({"points": [{"op": "neg", "rows": 2147483648, "cols": 2147483648, "predicted_us": 1}]})");
  const std::pair<const char*, const char*> cases[] = {
      {"calibrate cut.json", "cut.json: not valid JSON"},
      {"calibrate absent.json", "absent.json"},
      {"calibrate huge.json", "huge.json: points[0]: tensor a"},
      {"calibrate points.json --set card.cores=2", "points[0]: workload.cores = 4"},
      {"calibrate points.json --set workload.op=neg", "the workload is the calibration point"},
      {"calibrate points.json --set card.croes=8", "did you mean 'card.cores'"},
      {"calibrate points.json --card absent.toml", "absent.toml"},
      {"calibrate points.json --family softmax", "no point is of this family"},
      {"calibrate points.json --every 0", "--every"},
      {"calibrate points.json --jobs -1", "--jobs"},
      {"calibrate points.json --json --markdown", "--markdown"},
      {"calibrate", "FILE"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = Call(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
  }
}

// Times of the closed form with another rate of memory, as a table; the card that is fitted to them
// has that rate.
TEST_F(CalibrateTest, ACardIsFittedToATableOfTimesAndUsedByItsName) {
  std::string points = "op,rows,cols,cores,measured_us\n";
  for (const int rows : {256, 320, 384, 448, 512, 576, 640, 704, 768})
    points += fmt::format("abs,{},2048,32,1\n", rows);
  Write("shapes.csv", points);
  const std::string slow = "--set card.fidelity=fast --set card.fast.read_mb_per_s=90000";
  const Outcome measured = Call("calibrate shapes.csv --json " + slow);
  ASSERT_EQ(measured.status, 0) << measured.err;
  std::string table = "op,rows,cols,cores,measured_us\n";
  const json result = SortedJsonOf(measured.out);
  for (const json& point : result["points"]) {
    table += fmt::format("abs,{},2048,32,{}\n", point["rows"].get<int>(),
                         point["simulated_us"].get<double>());
  }
  Write("times.csv", table);

  const Outcome fitted = Call("calibrate times.csv --fit card.toml --json --jobs 1");
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  const json fit = SortedJsonOf(fitted.out);
  EXPECT_EQ(fit["fitted_points"], 6);
  EXPECT_EQ(fit["held_out_points"], 3);
  EXPECT_GT(fit["closed_form"]["before"]["held_out_rms_error"].get<double>(), 0.1);
  EXPECT_LT(fit["closed_form"]["after"]["held_out_rms_error"].get<double>(), 0.02);
  EXPECT_GT(fit["timed"]["after"]["fitted_rms_error"].get<double>(), 0.0) << "it was run";
  EXPECT_THAT(Read("card.toml"), AllOf(HasSubstr("#   times.csv: 9 points"), HasSubstr("unary 6")));

  const Outcome with = Call("calibrate times.csv --card card.toml --set card.fidelity=fast --json");
  ASSERT_EQ(with.status, 0) << with.err;
  EXPECT_EQ(SortedJsonOf(with.out)["families"].back()["held_out_rms_error"],
            fit["closed_form"]["after"]["held_out_rms_error"]);
}

TEST_F(CalibrateTest, AFitThatCannotBeMadeWritesNoFile) {
  Write("three.csv", "op,rows,cols,measured_us\nneg,64,512,2\nneg,128,512,2\nneg,64,1024,2\n");
  Write("wrong.csv", "op,rows,cols,measured_us\nneg,64,512,2\nneg,64,many,2\n");
  const std::pair<const char*, const char*> cases[] = {
      {"calibrate three.csv --fit card.toml", "2 points to fit to"},
      {"calibrate wrong.csv --fit card.toml", "wrong.csv:3.cols"},
      {"calibrate points.json --fit card.toml --both", "--both"},
      {"calibrate points.json --fit card.toml --markdown", "--markdown"},
      {"calibrate absent.csv --fit card.toml", "absent.csv"},
      // Before the points are looked at, which are too few.
      {"calibrate three.csv --fit three.csv", "would be overwritten"},
      {"calibrate three.csv --fit absent/card.toml", "absent/card.toml"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = Call(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    EXPECT_FALSE(std::filesystem::exists(dir_ + "/card.toml")) << arguments;
  }
}

// Real cards. RMS over the points of a family; what it is today is in docs/accuracy.md.
TEST_F(CalibrateTest, TheClosedFormIsNearTheTimesOfRealCards) {
  const Outcome outcome =
      Call(std::string("calibrate ") + test::kMeasuredSample + " --json --set card.fidelity=fast");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::map<std::string, double> bounds = {
      {"unary", 0.1},     {"binary", 0.1},    {"constant", 0.12}, {"broadcast", 0.15},
      {"transpose", 0.1}, {"reduction", 0.1}, {"matmul-1", 0.05}, {"matmul-2", 0.05},
      {"matmul-4", 0.05}, {"matmul-8", 0.1},  {"matmul-16", 0.1}, {"matmul-32", 0.1},
      {"matmul-k", 0.16}};
  size_t judged = 0;
  const json result = SortedJsonOf(outcome.out);
  for (const json& family : result["families"]) {
    const auto bound = bounds.find(family["name"]);
    if (bound == bounds.end()) continue;
    ++judged;
    EXPECT_LT(family["rms_error"].get<double>(), bound->second) << family["name"];
  }
  EXPECT_EQ(judged, bounds.size()) << "every family has points in the sample";
}

// What a run says of its own time is what the comparison gives, which is on the page.
TEST(FiguresOfTrust, AreThoseOfTheSample) {
  const std::vector<CalibrationPoint> points = ReadCalibration(test::kMeasuredSample);
  PointResult ran;
  ran.device_ps = 1;
  const std::vector<FamilyStatistics> families =
      Statistics(points, std::vector<PointResult>(points.size(), ran));
  std::map<std::string, std::vector<std::string>> rows;  // of the page, by the family's title
  for (std::vector<std::string>& row :
       test::AccuracyTable("--times out/timed.json --markdown", "Family"))
    rows[row.at(0)] = row;
  const auto percent = [&](const std::string& title, size_t column) {
    return std::stod(rows.at(title).at(column));
  };
  constexpr size_t kCount = 1, kRms = 2, kTwoOfThree = 7;  // columns
  for (const MeasuredFamily& family : MeasuredFamilies()) {
    const auto found = FindIf(families, [&](const auto& of) { return of.name == family.name; });
    ASSERT_NE(found, families.end()) << family.name;
    EXPECT_EQ(found->title, family.kernels);
    ASSERT_EQ(rows.count(family.kernels), 1u) << family.kernels;
    EXPECT_EQ(rows[family.kernels].at(kCount), std::to_string(family.points)) << family.name;
    EXPECT_EQ(std::lround(percent(family.kernels, kTwoOfThree) * 10), family.permille)
        << family.name;
    double shortest_us = 1e9;
    for (const CalibrationPoint& point : points) {
      if (point.Family().rfind(family.name, 0) == 0)
        shortest_us = std::min(shortest_us, point.reference_us);
    }
    EXPECT_EQ(std::floor(shortest_us), family.shortest_us) << family.name;
  }
  EXPECT_LT(percent("total", kRms), 10);
  std::map<std::array<uint64_t, 3>, int> divisions;
  for (const CalibrationPoint& point : points) {
    if (point.op == "matmul")
      ++divisions[{point.split.m, point.split.n, std::max<uint64_t>(1, point.split.k)}];
  }
  ASSERT_EQ(MeasuredDivisions().size(), divisions.size());
  for (const MeasuredDivision& division : MeasuredDivisions()) {
    EXPECT_EQ(division.points,
              (divisions[{static_cast<uint64_t>(division.m), static_cast<uint64_t>(division.n),
                          static_cast<uint64_t>(division.k)}]))
        << division.m << "x" << division.n << "x" << division.k;
  }
}

TEST_F(CalibrateTest, ARunSaysHowNearItsTimeIsOrWhyThatIsNotKnown) {
  const json matmul = Report("op = \"matmul\"\nm = 512\nk = 512\nn = 512\ncores = 2\n");
  EXPECT_EQ(matmul["trust"]["kernels"], "matmul, all");
  EXPECT_LT(matmul["trust"]["two_of_three_error"], 0.1);
  const std::string size = "op = \"matmul\"\nm = 2048\nk = 2048\nn = 2048\nfunctional = false\n";
  EXPECT_EQ(Report(size + "split = { m = 4, n = 8 }\n")["trust"]["points_as_divided"], 10);
  const json lopsided = Report(size + "split = { m = 32, n = 1 }\n");
  EXPECT_EQ(lopsided["trust"]["points_as_divided"], 0);
  EXPECT_THAT(lopsided["verdict"]["trust"].get<std::string>(),
              HasSubstr("none divided like this one"));
  const json own = Report("op = \"neg\"\nrows = 64\ncols = 512\nschedule = \"own\"\n");
  EXPECT_EQ(own["trust"]["two_of_three_error"], nullptr);
  EXPECT_THAT(own["trust"]["reason"], HasSubstr("this schedule"));
  const json tiny = Report("op = \"neg\"\nrows = 64\ncols = 64\n");
  EXPECT_EQ(tiny["trust"]["two_of_three_error"], nullptr);
  EXPECT_THAT(tiny["trust"]["reason"], HasSubstr("shorter than any measured kernel"));
}

// Times there are of some revision; which points it is about must not be.
TEST(AccuracyDocument, ListsEveryPointOfTheReference) {
  const auto points = ReadCalibration(test::kMeasuredSample);
  EXPECT_EQ(points.size(), 120u);
  const std::string document =
      ReadFile(SPYRE_SOURCE_DIR "/docs/accuracy.md", "documentation", 1 << 20);
  size_t at = 0;
  for (const CalibrationPoint& point : points) {
    const std::string row =
        fmt::format("\n| {} | {} | {:.2f} | ", point.Describe(), point.cores, point.reference_us);
    at = document.find(row, at);
    ASSERT_NE(at, std::string::npos) << "missing, or not in this order:" << row;
  }
}

}  // namespace
}  // namespace spyre::cosim::calibrate_test
