// SPDX-License-Identifier: Apache-2.0
// `tune` as users call it, and what `run` says of divisions.
#include <gmock/gmock.h>

#include <set>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::tune_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMatmul = "[workload]\nop = \"matmul\"\nm = 256\nk = 128\nn = 192\n";

class TuneTest : public ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    Write("run.toml", kMatmul);
  }
  static bool Exists(const std::string& path) { return std::filesystem::exists(path); }
};

TEST_F(TuneTest, TheBestPlanIsAConfigurationThatRunsInTheTimeThatWasFound) {
  const Outcome outcome = Call("tune run.toml --budget 16 -o out --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = SortedJsonOf(outcome.out);
  EXPECT_EQ(result["right"], true);
  EXPECT_LE(result["best"]["launch_ns"], result["given"]["launch_ns"]);
  EXPECT_EQ(result["verified"][0]["launch_ns"], result["best"]["launch_ns"]);
  size_t timed = 0;
  double best = result["given"]["launch_ns"];
  for (const json& trial : result["trials"]) {
    if (trial["status"] != "done") continue;
    ++timed;
    best = std::min(best, trial["launch_ns"].get<double>());
  }
  EXPECT_EQ(timed, 16u);
  EXPECT_EQ(result["best"]["launch_ns"], best);
  const json given = SortedJsonOf(Call("run run.toml --json").out);
  EXPECT_EQ(result["given"]["launch_ns"], given["launch_ns"]);
  const json tuned = SortedJsonOf(Call("run out/best.toml --json --out out/run").out);
  EXPECT_EQ(tuned["launch_ns"], best);
  EXPECT_EQ(tuned["verified"]["passed"], true);
  EXPECT_THAT(Read("out/best.toml"), HasSubstr("# plan\n"));
}

TEST_F(TuneTest, TheSearchDoesNotDependOnTheNumberOfProcesses) {
  ASSERT_EQ(Call("tune run.toml --budget 12 -o one --jobs 1 --seed 7").status, 0);
  ASSERT_EQ(Call("tune run.toml --budget 12 -o three --jobs 3 --seed 7").status, 0);
  for (const char* file : {"/best.toml", "/history.csv", "/history.jsonl", "/index.html"})
    EXPECT_EQ(Read(std::string("one") + file), Read(std::string("three") + file)) << file;
}

TEST_F(TuneTest, PeopleReadWhatWasFoundAndWhereItIs) {
  const Outcome outcome = Call("tune run.toml --budget 8 -o out");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("ran:      run.toml: "), HasSubstr(" as given"),
                    HasSubstr("verified: the best plan was run with data"),
                    HasSubstr("plan:     out/best.toml\n"), HasSubstr(" run out/best.toml\n")));
  const std::string page = Read("out/index.html");
  EXPECT_THAT(page, AllOf(HasSubstr("Tuning of run.toml"), HasSubstr("\"objective\":\"launch_ns\""),
                          HasSubstr("best so far")));
  EXPECT_THAT(Read("out/history.csv"), HasSubstr("number,stage,plan,expected_ns,status,reason,"));
}

TEST_F(TuneTest, AnyFigureMayBeTheObjectiveAndKeysOfTheCommandLineStay) {
  const Outcome outcome = Call(
      "tune run.toml --budget 12 -o out --json --objective tmac_per_s --set workload.tile.m=64");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = SortedJsonOf(outcome.out);
  EXPECT_EQ(result["objective"]["more_is_better"], true);
  for (const json& trial : result["trials"]) {
    EXPECT_EQ(trial["set"].count("workload.tile.m"), 0u);
    if (trial["status"] != "done") continue;
    EXPECT_LE(trial["tmac_per_s"], result["best"]["tmac_per_s"]);
  }
  EXPECT_THAT(Read("out/best.toml"), HasSubstr("tile.m = 64\n"));
}

TEST_F(TuneTest, AListOfOperationsIsTunedToo) {
  Write("list.toml",
        "[workload]\ndims = { R = 64, C = 128 }\n"
        "tensors = [{ name = \"x\", dims = [\"R\", \"C\"] }]\n"
        "ops = [{ op = \"exp\", inputs = [\"x\"], output = \"y\" },\n"
        "       { op = \"add\", inputs = [\"x\", \"y\"], output = \"z\" }]\n"
        "lx = \"none\"\n");
  const Outcome outcome =
      Call("tune list.toml --budget 10 -o out --json --set workload.issue.mode=program");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = SortedJsonOf(outcome.out);
  // y need not go to memory and back.
  EXPECT_LT(result["best"]["bytes_read"], result["given"]["bytes_read"]);
  EXPECT_LT(result["best"]["launch_ns"], result["given"]["launch_ns"]);
  EXPECT_EQ(result["right"], true);
}

TEST_F(TuneTest, InfeasiblePlansAreCountedWithTheirReasons) {
  // Interleaving needs tiles of the outermost device dimension, which m is not.
  const Outcome outcome = Call(
      "tune run.toml --budget 24 -o out --json --set workload.tile.m=64 "
      "--set workload.split={m=4}");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = SortedJsonOf(outcome.out);
  uint64_t plans = 0, infeasible = 0;
  for (const json& reason : result["infeasible"]) {
    EXPECT_FALSE(reason["reason"].get<std::string>().empty());
    plans += reason["plans"].get<uint64_t>();
  }
  for (const json& trial : result["trials"]) infeasible += trial["status"] == "infeasible";
  EXPECT_GT(infeasible, 0u);
  EXPECT_EQ(plans, infeasible);
}

TEST_F(TuneTest, WhatTheConfigurationExpectsIsAskedOfTheBestPlan) {
  const Outcome outcome =
      Call("tune run.toml --budget 2 -o out --set expect.max_launch_ns=1 --jobs 1");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("NOT MET expect.max_launch_ns"), HasSubstr("verified")));
  EXPECT_EQ(Call("run out/best.toml --out out/run").status, 1) << "as the run itself says";
}

TEST_F(TuneTest, WithoutARightPlanThereIsNone) {
  Write("add.toml", "[workload]\nop = \"add\"\nrows = 128\ncols = 1024\n");
  const std::string wrong = " --set 'fault=[{kind=\"core_wrong\",where={core=2},when={seed=7}}]'";
  ASSERT_EQ(Call("run add.toml --out out/run" + wrong).status, 1);
  const Outcome outcome = Call("tune add.toml --budget 2 -o out/tune --jobs 1" + wrong);
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("no plan to take"), Not(HasSubstr("best.toml"))));
  EXPECT_FALSE(Exists(dir_ + "/out/tune/best.toml"));
}

TEST_F(TuneTest, WhatCannotBeTunedIsABadInputBeforeAnythingRuns) {
  const auto refused = [&](const std::string& arguments) {
    const Outcome outcome = Call("tune " + arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(refused("run.toml --budget 0"), HasSubstr("--budget 0 is out of range"));
  EXPECT_THAT(refused("run.toml --objective speed"),
              AllOf(HasSubstr("there is no figure 'speed'"), HasSubstr("launch_ns, device_ns")));
  EXPECT_THAT(refused("run.toml -o run.toml/out"), HasSubstr("--out run.toml/out: cannot make"));
  EXPECT_THAT(refused("no.toml"), HasSubstr("no.toml"));
  EXPECT_THAT(refused("'" SPYRE_SOURCE_DIR "/configs/attention_fused.toml'"),
              HasSubstr("fused attention"));
  EXPECT_THAT(refused("'" SPYRE_SOURCE_DIR "/configs/tenants.toml'"),
              HasSubstr("several workloads"));
  EXPECT_THAT(refused("run.toml --set workload.split.m=300"), HasSubstr("workload.split.m = 300"));
  EXPECT_FALSE(Exists(dir_ + "/out"));
}

// The launch window, in ns, and the advice.
struct Advised {
  double launch_ns;
  json advice;
};

TEST_F(TuneTest, RunAdvisesAnotherDivisionOnlyWhereTheCardIsFasterWithIt) {
  const auto run = [&](const std::string& sizes, const std::string& more) {
    Write("run.toml", "[workload]\nop = \"matmul\"\nfunctional = false\n" + sizes + more);
    const json report = SortedJsonOf(Call("run run.toml --json").out);
    return Advised{report["launch_ns"], report["advice"]};
  };
  size_t advised = 0, not_advised = 0;
  for (const std::string sizes :
       {"m=1024\nk=1024\nn=1024\n", "m=2048\nk=512\nn=512\n", "m=256\nk=256\nn=2048\n",
        "m=64\nk=1024\nn=64\n", "m=512\nk=512\nn=128\n", "m=1\nk=512\nn=256\n"}) {
    const Advised given = run(sizes, "");
    if (given.advice.is_null()) {
      ++not_advised;
      continue;
    }
    ++advised;
    const Advised better = run(sizes, "division = \"cost\"\n");
    EXPECT_LT(better.launch_ns, 0.95 * given.launch_ns) << sizes;
    EXPECT_TRUE(better.advice.is_null()) << sizes;
  }
  EXPECT_GT(advised, 0u);
  EXPECT_GT(not_advised, 0u);
}

TEST_F(TuneTest, TheAdviceIsInTheVerdictAndTheLastLineOfTheDetails) {
  Write("run.toml", "[workload]\nop = \"matmul\"\nfunctional = false\nm=1024\nk=1024\nn=1024\n");
  const Outcome outcome = Call("run run.toml --details", "COLUMNS=300");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const size_t last = outcome.out.rfind('\n', outcome.out.size() - 2);
  EXPECT_THAT(outcome.out.substr(last + 1),
              AllOf(HasSubstr("times less time with workload.division = cost ("),
                    HasSubstr(" tune run.toml.\n")));
  EXPECT_THAT(Call("run run.toml", "COLUMNS=300").out,
              HasSubstr("next:     workload.division = cost ("));
  EXPECT_THAT(Call("run run.toml --details --set workload.division=cost").out,
              AllOf(Not(HasSubstr("The cost model expects")), Not(HasSubstr("see tune"))));
}

}  // namespace
}  // namespace spyre::test::tune_test
