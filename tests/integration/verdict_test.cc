// SPDX-License-Identifier: Apache-2.0
// The verdict with which a run ends: the lines that are printed, and the same in the report.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/program_fixture.h"

namespace spyre::test::verdict_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class VerdictOfRunTest : public MergedOutputFixture {
 protected:
  json Report() const { return json::parse(Read("out/report.json")); }
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
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.rfind(label + ":", 0) == 0;
    });
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
  EXPECT_THAT(text_of("next"), HasSubstr("(estimate, see "));
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
    EXPECT_EQ(next["estimate"], true);
    EXPECT_THAT(outcome.text, HasSubstr(next["what"].get<std::string>()));
  }
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

}  // namespace
}  // namespace spyre::test::verdict_test
