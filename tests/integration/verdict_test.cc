// SPDX-License-Identifier: Apache-2.0
// The verdict with which a run ends: the lines that are printed, and the same in the report.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/ranges.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"
#include "traces/path_causes.h"

namespace spyre::test::verdict_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class VerdictOfRunTest : public MergedOutputFixture {
 protected:
  VerdictOfRunTest() { simulates_next_ = true; }
  json Report() const { return SortedJsonOf(Read("out/report.json")); }
};

constexpr const char* kMatmul = "[workload]\nm = 256\nk = 128\nn = 192\ntile = { m = 64 }\n";

TEST_F(VerdictOfRunTest, ARunEndsInAVerdictOfAtMostTwelveLines) {
  const Outcome outcome = RunToml(kMatmul, "--color never");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  std::istringstream text(outcome.text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  EXPECT_LE(lines.size(), 12u);
  const auto text_of = [&](const std::string& label) {
    const auto found =
        FindIf(lines, [&](const std::string& line) { return line.rfind(label + ":", 0) == 0; });
    return found == lines.end() ? "" : *found;
  };
  EXPECT_EQ(lines.front(),
            "ran:      matmul m=256 k=128 n=192, tile m=64 on card 'spyre', VF "
            "mode, 32 of 32 cores");
  EXPECT_THAT(text_of("verified"), HasSubstr("49152 of 49152 elements bit-exact"));
  EXPECT_THAT(text_of("time"),
              AllOf(HasSubstr(" us from first to last launch operation, "), HasSubstr(" TMAC/s")));
  EXPECT_THAT(text_of("trust"), HasSubstr("shorter than any measured kernel of its kind"));
  EXPECT_THAT(text_of("bound by"), HasSubstr(" of the critical path"));
  EXPECT_THAT(text_of("next"), HasSubstr(" less time (simulated)"));
  EXPECT_EQ(text_of("trace"), "trace:    out/trace.sctrace");
  EXPECT_THAT(
      RunToml(kMatmul, "--details --color never").text,
      AllOf(StartsWith(lines.front()), HasSubstr("Next:\n  " SPYRE_BUILD_DIR
                                                 "/spyre-cosim trace report out/trace.sctrace\n")));
}

// Only of single operations is it known which core and tile made an element.
TEST_F(VerdictOfRunTest, ASampleThatDoesNotFollowThePartsDoesNotSaySo) {
  const std::string attention =
      "[workload]\nop = \"attention\"\nverify = \"sample\"\n[workload.attention]\nheads = 4\n"
      "kv_heads = 2\nhead_dim = 64\nsequence = 128\ncontext = 128\n";
  EXPECT_THAT(RunToml(attention, "--color never").text, HasSubstr("; a spread sample\n"));
  EXPECT_THAT(RunToml(kMatmul, "--set workload.verify=sample --color never").text,
              HasSubstr("; a sample of every core"));
}

TEST_F(VerdictOfRunTest, TheReportHasTheVerdictThatIsPrinted) {
  const Outcome outcome = RunToml(kMatmul, "--color never");
  const json verdict = Report()["verdict"];
  EXPECT_EQ(verdict["status"], "verified");
  EXPECT_EQ(verdict["time_ns"], Report()["launch_ns"]);
  EXPECT_EQ(verdict["bound_by"], Report()["bounds"]["bound_by"]);
  for (const char* line : {"ran", "checked", "time", "trust", "bound"})
    EXPECT_THAT(outcome.text, HasSubstr(verdict[line].get<std::string>())) << line;
  ASSERT_FALSE(verdict["next"].empty());
  for (const json& next : verdict["next"]) {
    EXPECT_LT(next["change"].get<double>(), -0.03);
    EXPECT_EQ(next["estimate"], false) << "so small a run is simulated with each";
    EXPECT_THAT(outcome.text, HasSubstr(next["what"].get<std::string>()));
  }
}

TEST_F(VerdictOfRunTest, WhatComesNextIsEstimatedIfThatIsAskedFor) {
  const Outcome outcome = RunToml(kMatmul, "--color never --estimate-next");
  EXPECT_THAT(outcome.text, Not(HasSubstr("simulated")));
  const json verdict = Report()["verdict"];
  ASSERT_FALSE(verdict["next"].empty());
  for (const json& next : verdict["next"]) EXPECT_EQ(next["estimate"], true) << next;
}

TEST_F(VerdictOfRunTest, WhatASmallRunSaysOfAResourceIsWhatWhatIfSays) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const json verdict = Report()["verdict"];
  const Outcome asked = Call("what-if --resources --json run.toml");
  ASSERT_EQ(asked.status, 0) << asked.text;
  const json resources = SortedJsonOf(asked.text).at("resources");
  size_t compared = 0;
  for (const json& next : verdict["next"]) {
    for (const json& resource : resources) {
      const std::string text(trace::ResourceText(resource["resource"].get<std::string>()));
      if (next["what"] != text + " twice as fast") continue;
      EXPECT_NEAR(next["change"].get<double>(), resource["change"].get<double>(), 1e-9) << text;
      ++compared;
    }
  }
  EXPECT_GE(compared, 1u);
}

TEST_F(VerdictOfRunTest, ALargerRunMarksItsEstimates) {
  const Outcome outcome = RunToml(
      "[workload]\nop = \"add\"\nrows = 2048\ncols = 8192\nfunctional = false\n", "--color never");
  EXPECT_THAT(outcome.text, HasSubstr("next:     memory bandwidth twice as fast: up to about 4"));
  EXPECT_EQ(Report()["verdict"]["next"][0]["estimate"], true);
}

TEST_F(VerdictOfRunTest, CoresWithoutWorkAreNamedAndWhatKeepsThemFromIt) {
  const Outcome outcome = RunToml(kMatmul, "--set workload.cores=1 --color never");
  EXPECT_THAT(outcome.text,
              AllOf(HasSubstr("note:     31 of 32 cores have no work: workload.cores gives work to "
                              "1, and 32 could have some\n"),
                    HasSubstr("next:     work for 32 cores, not 1 (without workload.cores): ")));
  const json idle = Report()["verdict"]["idle_cores"];
  EXPECT_EQ(idle["used"], 1);
  EXPECT_EQ(idle["of"], 32);
  EXPECT_EQ(idle["because"], "workload.cores");
  EXPECT_THAT(
      RunToml("[workload]\nop = \"add\"\nrows = 8\ncols = 64\n", "--color never").text,
      HasSubstr("note:     24 of 32 cores have no work: the work division gives some to 8 only\n"));
}

TEST_F(VerdictOfRunTest, TheCoreThatIsDoneLastIsNamed) {
  const Outcome outcome =
      RunToml("[workload]\nop = \"softmax\"\nrows = 512\ncols = 1024\n", "--color never");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  const json late = Report()["verdict"]["late_core"];
  std::vector<double> ends;
  std::string last;
  double latest = 0;
  const json kernel = Report()["kernels"][0];
  for (const auto& [core, end] : kernel["core_finish_ns"].items()) {
    ends.push_back(end);
    if (ends.back() > latest) last = core;
    latest = std::max(latest, ends.back());
  }
  std::sort(ends.begin(), ends.end());
  ASSERT_EQ(ends.size(), 32u);
  EXPECT_NEAR(late["late_ns"].get<double>(), latest - ends[16], 1e-3);
  EXPECT_EQ(fmt::format("core {:02}", late["core"].get<int>()), last);
  EXPECT_THAT(
      RunToml("[workload]\nop = \"neg\"\nrows = 512\ncols = 1024\n", "--details --color never")
          .text,
      HasSubstr("  the last core: core "));
  const bool is_said = outcome.text.find(" after the median core, ") != std::string::npos;
  EXPECT_EQ(is_said, (latest - ends[16]) / kernel["device_ns"].get<double>() >= 0.03);
}

TEST_F(VerdictOfRunTest, AWrongRunSaysWhatIsWrongBeforeAnythingElse) {
  const Outcome outcome = RunToml(
      "[workload]\nop = \"add\"\nrows = 1024\ncols = 1024\n"
      "[[fault]]\nkind = \"core_wrong\"\nwhere = { core = 2 }\ntimes = 20\n"
      "[expect]\nmax_launch_ns = 10\nmax_energy_uj = 1\n",
      "--color never");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_LE(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 12);
  EXPECT_THAT(
      outcome.text,
      AllOf(HasSubstr("\nWRONG:    "), HasSubstr("problem:  NOT MET expect.max_launch_ns"),
            HasSubstr("problem:  NOT MET expect.max_energy_uj"), HasSubstr("problem:  and "),
            HasSubstr("bound by: "), HasSubstr("report:   out/report.json")));
  const json verdict = Report()["verdict"];
  EXPECT_EQ(verdict["status"], "wrong");
  EXPECT_GT(verdict["problems"].size(), 3u);
}

// Of cards that send to each other what bounds the whole is said, and what-if asks about the whole.
TEST_F(VerdictOfRunTest, ACollectiveIsPartOfTheTimeThatIsAskedAbout) {
  const std::string config = SPYRE_SOURCE_DIR
      "/configs/all_reduce.toml --set workload.functional=false "
      "--set cards.count=2 --set trace.enabled=false";
  const Outcome run = Call("run " + config + " --out out");
  EXPECT_THAT(run.text, HasSubstr("bound by: the collective, "));
  const json report = Report();
  const double alone = report["launch_ns"], collective = report["collective"]["time_ns"];
  const Outcome asked = Call("what-if --resources --json " + config);
  ASSERT_EQ(asked.status, 0) << asked.text;
  const json answer = SortedJsonOf(asked.text);
  EXPECT_GE(answer["base"]["program_ns"].get<double>(), alone + collective);
  EXPECT_EQ(answer["bound_by"], "pcie");
  EXPECT_EQ(answer["resources"][0]["resource"], "pcie") << "credits of posted writes limit a send";
  EXPECT_LT(answer["resources"][0]["change"].get<double>(), -0.1);
  EXPECT_EQ(Call("what-if " + config + " switch.forward_ns").status, 0);
  EXPECT_EQ(Call("what-if " SPYRE_SOURCE_DIR "/configs/add.toml switch.forward_ns").status, 2)
      << "one card has no switch above it";
}

}  // namespace
}  // namespace spyre::test::verdict_test
