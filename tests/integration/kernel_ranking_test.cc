// SPDX-License-Identifier: Apache-2.0
// Which kernel of a program to work on first: the ranking of a run, and `what-if --kernels`, which
// simulates it. Gains are compared with those of runs that are made by hand.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::kernel_ranking_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two long additions of one shape, a short one, and a product that is divided badly.
constexpr const char* kProgram = R"([workload]
dims = { A = 1024, B = 2048, C = 128, D = 256 }
tensors = [
  { name = "a", dims = ["A", "B"] },
  { name = "b", dims = ["A", "B"] },
  { name = "c", dims = ["C", "D"] },
]
ops = [
  { op = "exp", inputs = ["c"], output = "small" },
  { op = "add", inputs = ["a", "b"], output = "x" },
  { op = "add", inputs = ["x", "b"], output = "y" },
]
functional = false
lx = "none"
[trace]
enabled = false
)";

class KernelRankingTest : public ProgramFixture {
 protected:
  json Ask(const std::string& options = "") const {
    const Outcome outcome = Call("what-if --kernels run.toml --json " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : json();
  }
  json Run(const std::string& options = "") const {
    const Outcome outcome = Call("run run.toml --json " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : json();
  }
};

std::string SetsOf(const json& change) {
  std::string options;
  for (const json& set : change.at("set")) options += " --set " + set.get<std::string>();
  return options;
}

// Nanoseconds of all executions of the files of a list's program.
double TimeOf(const json& report, const json& files) {
  double ns = 0;
  for (const json& kernel : report.at("kernels")) {
    for (const json& file : files)
      if (kernel.at("file") == file) ns += kernel.at("device_ns").get<double>();
  }
  return ns;
}

// The same on each of four cards, which work side by side.
TEST_F(KernelRankingTest, OfSeveralCardsACardsPartCounts) {
  Write("run.toml",
        "[card]\nmode = \"pf\"\n[workload]\nop = \"add\"\nrows = 1024\ncols = 1024\n"
        "functional = false\n[trace]\nenabled = false\n");
  const json one = Run().at("kernel_ranking").front();
  const json of_four = Run("--set cards.count=4").at("kernel_ranking").front();
  EXPECT_NEAR(of_four.at("share"), one.at("share"), 0.05);
  const auto changed = [this](const std::string& options) {
    return Ask(options).at("kernels").front().at("change").get<double>();
  };
  EXPECT_NEAR(changed("--set cards.count=4"), changed(""), 0.05);
}

TEST_F(KernelRankingTest, OperationsOfOneShapeAreOneKernelAndTheLongestComesFirst) {
  Write("run.toml", kProgram);
  const json report = Run();
  const json& first = report.at("kernel_ranking").at(0);
  EXPECT_EQ(first.at("name"), "add 1024x2048");
  EXPECT_THAT(first.at("parts"), ElementsAre("sdsc_1.json", "sdsc_2.json"));
  EXPECT_EQ(first.at("half_of"), "data");
  EXPECT_EQ(report.at("kernel_ranking").at(1).at("name"), "exp 128x256");
  EXPECT_THAT(report.at("verdict").at("next").back().at("what").get<std::string>(),
              HasSubstr("of 2 kernels first add 1024x2048"));
  EXPECT_EQ(report.at("verdict").at("next").back().at("confirm"), "what-if --kernels");
}

// For every change: the program is run with it, and the kernel's own time is added up.
TEST_F(KernelRankingTest, ASimulatedGainIsWhatTheKernelAloneGetsShorterByInARunWithThatChange) {
  Write("run.toml", kProgram);
  const json answer = Ask(), base = Run();
  ASSERT_EQ(answer.at("kernels").size(), 2u);
  ASSERT_EQ(answer.at("kernels").at(0).at("name"), "add 1024x2048");
  std::map<std::string, json> files;
  for (const json& kernel : base.at("kernel_ranking"))
    files[kernel.at("name")] = kernel.at("parts");
  size_t compared = 0;
  for (const json& kernel : answer.at("kernels")) {
    EXPECT_EQ(kernel.at("estimate"), false);
    for (const json& change : kernel.at("changes")) {
      const json changed = Run(SetsOf(change));
      const json& of = files.at(kernel.at("name"));
      const double expected =
          (TimeOf(changed, of) - TimeOf(base, of)) / base.at("launch_ns").get<double>();
      EXPECT_NEAR(change.at("change").get<double>(), expected, 1e-9)
          << kernel.at("name") << " with " << change.at("what");
      ++compared;
    }
  }
  EXPECT_GE(compared, 6u);
  EXPECT_LT(answer.at("kernels").at(0).at("change").get<double>(), -0.2);
}

TEST_F(KernelRankingTest, TheOtherRuleOfDivisionIsAChangeToo) {
  Write("run.toml",
        "[workload]\nm = 1024\nk = 1024\nn = 1024\nfunctional = false\n[trace]\nenabled = false\n");
  const json kernel = Ask().at("kernels").at(0);
  const json best = kernel.at("changes").at(0);
  EXPECT_EQ(best.at("what"), "workload.division = cost");
  const double other = Run("--set workload.division=cost").at("launch_ns");
  const double base = Run().at("launch_ns");
  EXPECT_NEAR(best.at("change").get<double>(), other / base - 1, 0.02)
      << "the kernel is nearly all of the window";
}

TEST_F(KernelRankingTest, KernelsOfAModelAreThoseThatItsLayersShare) {
  Write("run.toml",
        "[workload]\nfunctional = false\n[workload.model]\nlayers = 2\nhidden = 256\nmlp = 512\n"
        "heads = 4\nkv_heads = 2\nhead_size = 64\nsequence = 64\nload_weights = false\n"
        "[trace]\nenabled = false\n");
  const json answer = Ask();
  ASSERT_GT(answer.at("kernels").size(), 5u);
  double last = -1;
  for (size_t i = 0; i < 5; ++i) {
    const json& kernel = answer.at("kernels").at(i);
    EXPECT_EQ(kernel.at("estimate"), false) << kernel.at("name");
    EXPECT_GE(kernel.at("launches"), 2);
    EXPECT_THAT(kernel.at("parts").get<std::string>(), HasSubstr("layers.0."));
    EXPECT_GE(kernel.at("change").get<double>(), last);
    last = kernel.at("change");
  }
  EXPECT_EQ(answer.at("kernels").at(5).at("estimate"), true);
}

TEST_F(KernelRankingTest, TwoQuestionsAtOnceAndNamedParametersAreRefused) {
  Write("run.toml", kProgram);
  EXPECT_EQ(Call("what-if --kernels --resources run.toml").status, 2);
  EXPECT_EQ(Call("what-if --kernels run.toml card.memory").status, 2);
}

}  // namespace
}  // namespace spyre::test::kernel_ranking_test
