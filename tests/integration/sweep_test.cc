// SPDX-License-Identifier: Apache-2.0
// Whole sweeps and what-if questions, whose points run in processes of their own.
#include "cosim/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/files.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "cosim/host/child_process.h"
#include "cosim/session/session.h"
#include "cosim/what_if/what_if.h"
#include "tests/integration/unwrapped.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::sweep_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

// Eight points of a small operation; those with more cores in the workload than on the card are
// refused.
constexpr const char* kGrid = R"(
  [fixed]
  workload = { op = "add", rows = 64, cols = 128 }
  [axes]
  card.cores = [1, 2]
  workload.cores = [1, 2]
  card.core.outstanding_loads = [1, 4]
)";

RunConfig Reader(const std::string& path, const std::vector<std::string>& sets) {
  return LoadConfig(path, sets);
}

class SweepTest : public ::testing::Test {
 protected:
  SweepTest() { WriteFile(scratch_.path() + "/grid.toml", kGrid, "grid"); }

  SweepOptions Options(const std::string& out) const {
    SweepOptions options;
    options.grid = scratch_.path() + "/grid.toml";
    options.out = PathOf(out);
    options.jobs = 1;
    return options;
  }
  std::string PathOf(const std::string& name) const { return scratch_.path() + "/" + name; }
  std::string TextOf(const std::string& name) const { return ReadFile(PathOf(name), "file"); }

  int Run(const SweepOptions& options, const ConfigReader& reader = Reader) {
    std::ostringstream out, messages;
    const int status = RunSweep(options, reader, out, messages);
    printed_ = Unwrapped(out.str());
    return status;
  }

  // Lines of a journal by point, without its header.
  std::map<int, int> PointsIn(const std::string& journal) const {
    std::map<int, int> counts;
    std::ifstream in(PathOf(journal));
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) ++counts[JsonOf(line)["point"].get<int>()];
    return counts;
  }

  ScratchDirectory scratch_{"sweep_test"};
  std::string printed_;
};

TEST_F(SweepTest, TwoKeysOfTheCardGiveTheFrontOfWhatSmallerOnesCost) {
  WriteFile(PathOf("add.toml"), "[workload]\nop = \"add\"\nrows = 256\ncols = 256\n", "config");
  SweepOptions options = Options("over");
  options.grid = PathOf("add.toml");
  options.over = {"card.memory.channels=8,16", "card.cores=8,32"};
  options.sets = {"workload.rows=128"};
  EXPECT_EQ(Run(options), 0);
  EXPECT_THAT(printed_, HasSubstr("--set workload.rows=128")) << "the next run is that point";
  EXPECT_THAT(printed_, HasSubstr("add.toml: 4 of 4 points: 4 done"));
  std::istringstream lines(TextOf("over/results.jsonl"));
  std::map<std::pair<int, int>, std::pair<double, bool>> points;
  for (std::string line; std::getline(lines, line);) {
    const Json row = JsonOf(line);
    points[{row["set"]["card.memory.channels"], row["set"]["card.cores"]}] = {
        row["launch_ns"].get<double>(), row["pareto"].get<bool>()};
  }
  ASSERT_EQ(points.size(), 4u);
  for (const auto& [card, point] : points) {
    const bool is_beaten = AnyFits(points, [&](const auto& other) {
      return other.first != card && other.first.first <= card.first &&
             other.first.second <= card.second && other.second.first <= point.first;
    });
    EXPECT_EQ(point.second, !is_beaten) << card.first << " channels, " << card.second << " cores";
  }
  options.over = {"card.cores"};
  EXPECT_THAT(test::BadInputOf([&] { Run(options); }), HasSubstr("--over card.cores: must be"));
  options.over = {"card.corez=8,16"};
  EXPECT_THAT(test::BadInputOf([&] { Run(options); }),
              AllOf(StartsWith("--over card.corez=8,16: unknown key 'card.corez'"),
                    HasSubstr("did you mean 'card.cores'")));
  options.over = {"card.cores=8,many"};
  EXPECT_THAT(test::BadInputOf([&] { Run(options); }), StartsWith("--over card.cores=8,many: "));
}

// The dearest card has the shorter latency and the more channels.
TEST_F(SweepTest, ALongerLatencyIsTheCheaperOne) {
  WriteFile(PathOf("add.toml"), "[workload]\nop = \"add\"\nrows = 256\ncols = 256\n", "config");
  SweepOptions options = Options("over");
  options.grid = PathOf("add.toml");
  options.over = {"card.memory.controller_ns=40,400", "card.memory.channels=16"};
  EXPECT_EQ(Run(options), 0);
  std::istringstream lines(TextOf("over/results.jsonl"));
  std::map<int, std::pair<double, bool>> points;
  for (std::string line; std::getline(lines, line);) {
    const Json row = JsonOf(line);
    points[row["set"]["card.memory.controller_ns"]] = {row["launch_ns"].get<double>(),
                                                       row["pareto"].get<bool>()};
  }
  ASSERT_EQ(points.size(), 2u);
  ASSERT_LT(points[40].first, points[400].first);
  EXPECT_TRUE(points[40].second) << "the faster one";
  EXPECT_TRUE(points[400].second) << "the cheaper one";
}

TEST_F(SweepTest, EveryPointHasARowAndInfeasibleOnesTheirReason) {
  EXPECT_EQ(Run(Options("out")), 0);
  EXPECT_THAT(printed_, HasSubstr("8 of 8 points: 6 done, 2 infeasible"));
  std::istringstream lines(TextOf("out/results.jsonl"));
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json row = JsonOf(line);
    EXPECT_EQ(row["point"], count);
    const bool fits = row["set"]["workload.cores"] <= row["set"]["card.cores"];
    EXPECT_EQ(row["status"], fits ? "done" : "infeasible");
    if (fits) {
      EXPECT_GT(row["launch_ns"], 0);
    } else {
      EXPECT_THAT(row["reason"].get<std::string>(), HasSubstr("workload.cores = 2"));
    }
  }
  EXPECT_EQ(count, 8u);
  for (const char* file : {"results.csv", "results.sqlite", "index.html"})
    EXPECT_TRUE(fs::exists(PathOf("out/") + file)) << file;
  EXPECT_FALSE(fs::exists(PathOf("out/points")));
}

TEST_F(SweepTest, AKilledSweepGoesOnWithNothingLostAndNothingDoubled) {
  ASSERT_EQ(Run(Options("whole")), 0);
  const pid_t sweep = fork();
  ASSERT_GE(sweep, 0);
  if (sweep == 0) {
    // The sixth point kills the process that runs the sweep, and dies with it.
    Run(Options("killed"), [](const std::string& path, const std::vector<std::string>& sets) {
      RunConfig config = LoadConfig(path, sets);
      if (config.card.cores == 2 && config.workload.cores == 1 &&
          config.card.core.outstanding_loads == 4) {
        kill(getppid(), SIGKILL);
      }
      return config;
    });
    _exit(EXIT_SUCCESS);
  }
  int status = 0;
  waitpid(sweep, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(PointsIn("killed/journal.jsonl").size(), 5u);
  EXPECT_FALSE(fs::exists(PathOf("killed/results.csv")));
  std::ofstream(PathOf("killed/journal.jsonl"), std::ios::app) << R"({"point":5,"se)";  // torn

  EXPECT_THAT(test::BadInputOf([&] { Run(Options("killed")); }), HasSubstr("--resume"));
  SweepOptions resumed = Options("killed");
  resumed.resume = true;
  EXPECT_EQ(Run(resumed), 0);
  const std::map<int, int> points = PointsIn("killed/journal.jsonl");
  EXPECT_EQ(points.size(), 8u);
  for (const auto& [point, count] : points) EXPECT_EQ(count, 1) << point;
  for (const char* file : {"/results.csv", "/results.jsonl", "/index.html"})
    EXPECT_EQ(TextOf(std::string("killed") + file), TextOf(std::string("whole") + file)) << file;
}

TEST_F(SweepTest, ShardsTogetherAreTheSweep) {
  SweepOptions whole = Options("whole");
  whole.jobs = 3;
  ASSERT_EQ(Run(whole), 0);
  SweepOptions shard = Options("parts");
  shard.shard = ParseShard("2/3");
  EXPECT_EQ(Run(shard), 0);
  EXPECT_EQ(PointsIn("parts/journal-2-of-3.jsonl"), (std::map<int, int>{{1, 1}, {4, 1}, {7, 1}}));
  EXPECT_FALSE(fs::exists(PathOf("parts/results.csv")));

  SweepOptions collect = Options("parts");
  collect.collect = true;
  EXPECT_EQ(Run(collect), 1);  // five points are missing
  EXPECT_THAT(printed_, HasSubstr("3 of 8 points"));
  for (const char* other : {"1/3", "3/3"}) {
    shard.shard = ParseShard(other);
    shard.resume = true;
    EXPECT_EQ(Run(shard), 0);
  }
  EXPECT_EQ(TextOf("parts/results.csv"), TextOf("whole/results.csv"));
}

TEST_F(SweepTest, ShardsMayRunAtTheSameTime) {
  ASSERT_EQ(Run(Options("whole")), 0);
  std::vector<pid_t> processes;
  for (const char* part : {"1/3", "2/3", "3/3"}) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    SweepOptions shard = Options("parts");
    shard.shard = ParseShard(part);
    std::ostringstream out, messages;
    int status = 99;
    try {
      status = RunSweep(shard, Reader, out, messages);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: %s\n", part, error.what());
    }
    _exit(status);
  }
  for (const pid_t process : processes) {
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  for (const char* file : {"/results.csv", "/results.jsonl", "/index.html"})
    EXPECT_EQ(TextOf(std::string("parts") + file), TextOf(std::string("whole") + file)) << file;
  // What is there is of this division into three; other commands must ask for it.
  SweepOptions other = Options("parts");
  EXPECT_THAT(test::BadInputOf([&] { Run(other); }), HasSubstr("--resume"));
  other.shard = ParseShard("1/2");
  EXPECT_THAT(test::BadInputOf([&] { Run(other); }), HasSubstr("--resume"));
  other.shard = ParseShard("1/3");
  EXPECT_THAT(test::BadInputOf([&] { Run(other); }), HasSubstr("--resume"));
}

TEST_F(SweepTest, AnotherGridDoesNotMixWithAJournal) {
  WriteFile(PathOf("grid.toml"), "[axes]\nworkload.cores = [40]", "grid");
  EXPECT_THAT(test::BadInputOf([&] { Run(Options("out")); }), HasSubstr("workload.cores = 40"));
  WriteFile(PathOf("grid.toml"), "[fixed]\nworkload.op = \"add\"\n[axes]\nworkload.cores = [32]\n",
            "grid");
  Run(Options("out"));  // no sizes: a result too
  EXPECT_THAT(printed_, HasSubstr("1 of 1 points: 1 infeasible"));
  WriteFile(PathOf("grid.toml"), "[fixed]\nworkload.op = \"add\"\n[axes]\nworkload.cores = [31]\n",
            "grid");
  SweepOptions options = Options("out");
  options.resume = true;
  EXPECT_THAT(test::BadInputOf([&] { Run(options); }), HasSubstr("another sweep"));
}

TEST(SweepShard, MustBeOneOfSoMany) {
  EXPECT_EQ(ParseShard("3/8").index, 3u);
  EXPECT_EQ(ParseShard("3/8").count, 8u);
  for (const char* wrong : {"", "3", "0/8", "9/8", "a/8", "1/8x", "1/"})
    EXPECT_THAT(test::BadInputOf([&] { ParseShard(wrong); }), HasSubstr("--shard")) << wrong;
}

// The launch window of one run, read from what the session itself says.
double WindowOf(const std::vector<std::string>& sets, const std::string& directory) {
  return std::stod(RunInChild([&] {
    RunConfig config = LoadConfig("", sets);
    config.workload.functional = false;
    config.trace.enabled = false;
    const RunResult run = RunSession(config, directory);
    return std::to_string(run.launch_end_ps - run.launch_begin_ps);
  }));
}

TEST(WhatIf, TheEffectOfAParameterIsThatOfTwoRuns) {
  const ScratchDirectory scratch("what_if_test");
  WhatIfOptions options;
  options.sets = {"workload.op=add", "workload.rows=128", "workload.cols=256"};
  options.parameters = {"card.memory.controller_ns", "card.pcie.one_way_ns",
                        "card.memory.t_ras_ps"};
  options.pairs = 2;
  std::ostringstream messages;
  const WhatIf what_if = AskWhatIf(options, Reader, messages);

  const auto window = [&](std::vector<std::string> changes) {
    changes.insert(changes.begin(), options.sets.begin(), options.sets.end());
    return WindowOf(changes, scratch.path() + "/run");
  };
  const double base = window({});
  EXPECT_EQ(what_if.base.Number("launch_ns") * 1000, base);
  ASSERT_EQ(what_if.answers.size(), 3u);
  for (const Answer& answer : what_if.answers) {
    if (answer.parameter.key != "card.memory.controller_ns") continue;
    EXPECT_EQ(answer.faster->value, 35u);
    EXPECT_EQ(answer.slower->value, 140u);
    EXPECT_EQ(answer.faster->result.Number("launch_ns") * 1000,
              window({"card.memory.controller_ns=35"}));
    EXPECT_DOUBLE_EQ(ChangeOf(what_if, answer.slower->result),
                     window({"card.memory.controller_ns=140"}) / base - 1);
  }
  ASSERT_EQ(what_if.pairs.size(), 1u);
  EXPECT_EQ(what_if.pairs[0].result.Number("launch_ns") * 1000,
            window({"card.memory.controller_ns=35", "card.pcie.one_way_ns=125"}));
  // Sorted by what helps, and the value that the card refuses is named.
  for (size_t i = 1; i < what_if.answers.size(); ++i) {
    EXPECT_LE(ChangeOf(what_if, BetterOf(what_if, what_if.answers[i - 1])->result),
              ChangeOf(what_if, BetterOf(what_if, what_if.answers[i])->result));
  }
  EXPECT_THAT(ToText(what_if, 100), HasSubstr("card.memory.t_ras_ps = 85000: "));
  EXPECT_THAT(ToText(what_if, 100), HasSubstr("card.memory.t_rc_ps = 61250 is below"));
}

// 19 W for the whole window are idle power, whatever happens in it.
TEST(WhatIf, OfAnEnergyAsksAboutPrices) {
  WhatIfOptions options;
  options.sets = {"workload.op=add", "workload.rows=128", "workload.cols=256"};
  options.parameters = {"card.power.idle_mw", "card.power.mac_fj"};
  options.figure = "energy_uj";
  std::ostringstream messages;
  const WhatIf what_if = AskWhatIf(options, Reader, messages);
  const double energy_uj = what_if.base.Number("energy_uj");
  const double window_ns = what_if.base.Number("launch_ns");
  EXPECT_NEAR(what_if.base.Number("energy_delay_uj_us"), energy_uj * window_ns / 1000,
              1e-9 * energy_uj * window_ns);
  ASSERT_EQ(what_if.answers.size(), 2u);
  const Answer& idle = what_if.answers[0];
  EXPECT_EQ(idle.parameter.key, "card.power.idle_mw") << "what helps most is first";
  EXPECT_EQ(idle.faster->value, 9500u);
  EXPECT_EQ(idle.faster->result.Number("launch_ns"), window_ns);
  EXPECT_NEAR(ChangeOf(what_if, idle.faster->result), -9.5e-3 * window_ns / energy_uj, 1e-9);
  EXPECT_NEAR(ChangeOf(what_if, idle.slower->result), 19e-3 * window_ns / energy_uj, 1e-9);
  EXPECT_EQ(ChangeOf(what_if, what_if.answers[1].faster->result), 0) << "no MACs in an add";
  const std::string text = ToText(what_if, 120);
  EXPECT_THAT(text, HasSubstr(" uJ, energy of the launches"));
  EXPECT_THAT(text, HasSubstr("energy_uj with one parameter changed:"));
  EXPECT_EQ(ToJson(what_if)["figure"], "energy_uj");
}

TEST(WhatIf, OfAFigureOfWhichMoreIsBetterSortsByTheGain) {
  WhatIfOptions options;
  options.sets = {"workload.m=64", "workload.k=128", "workload.n=64", "workload.functional=false"};
  options.parameters = {"host.submit_ns", "card.memory.controller_ns"};
  options.figure = "tmac_per_s";
  options.pairs = 0;
  std::ostringstream messages;
  const WhatIf what_if = AskWhatIf(options, Reader, messages);
  ASSERT_EQ(what_if.answers[0].parameter.key, "card.memory.controller_ns");
  EXPECT_GT(ChangeOf(what_if, what_if.answers[0].faster->result), 0);
  EXPECT_LT(CostOf(what_if, what_if.answers[0].faster->result), 0);
  options.sets = {"workload.op=add", "workload.rows=64", "workload.cols=64"};
  EXPECT_THAT(test::BadInputOf([&] { AskWhatIf(options, Reader, messages); }),
              HasSubstr("--figure tmac_per_s: it is 0 in this run"));
  options.figure = "energy_per_token_uj";
  EXPECT_THAT(test::BadInputOf([&] { AskWhatIf(options, Reader, messages); }),
              HasSubstr("this run has none"));
  options.figure = "energy";
  EXPECT_THAT(test::BadInputOf([&] { AskWhatIf(options, Reader, messages); }),
              HasSubstr("energy_uj"));
}

TEST(WhatIf, AConfigurationThatDoesNotRunIsRefused) {
  WhatIfOptions options;
  options.sets = {"workload.op=add"};
  options.parameters = {"host.submit_ns"};
  std::ostringstream messages;
  EXPECT_THAT(test::BadInputOf([&] { AskWhatIf(options, Reader, messages); }),
              HasSubstr("workload.cols is missing"));
}

}  // namespace
}  // namespace spyre::cosim::sweep_test
