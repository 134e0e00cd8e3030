// SPDX-License-Identifier: Apache-2.0
// `sweep --slurm` with commands of Slurm that are scripts: sbatch runs the tasks of the array one
// after the other, squeue says that they have ended. tests/slurm does the same on a real Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::slurm_sweep_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class SlurmSweepTest : public test::ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    Write("the grid.toml", R"(
      [fixed]
      workload = { op = "add", rows = 64, cols = 128 }
      [axes]
      card.cores = [1, 2]
      workload.cores = [1, 2]
      card.core.outstanding_loads = [1, 4]
    )");
    // Tasks in the file `skipped` run out of time before they have begun.
    Command("sbatch", R"(
      for word in "$@"; do
        case "$word" in
          --array=*) array="${word#--array=}" ;;
        esac
        script="$word"
      done
      echo "$array" >> "$here/arrays"
      job=$((4710 + $(wc -l < "$here/arrays")))
      rm -f "$here/states"
      array="${array%\%*}"
      for range in ${array//,/ }; do
        for task in $(seq "${range%-*}" "${range#*-}"); do
          if grep -qx "$task" "$here/skipped" 2>/dev/null; then
            echo "$task|TIMEOUT|TimeLimit" >> "$here/states"
            echo "slurmstepd: error: *** JOB CANCELLED DUE TO TIME LIMIT ***" \
              > "$(dirname "$script")/$job-$task.log"
          elif SLURM_ARRAY_TASK_ID=$task bash "$script" > "$(dirname "$script")/$job-$task.log" 2>&1; then
            echo "$task|COMPLETED|None" >> "$here/states"
          else
            echo "$task|FAILED|NonZeroExitCode" >> "$here/states"
          fi
        done
      done
      echo $job)");
    Command("squeue", "cat \"$here/states\"");
    Command("scontrol", "echo 'MaxArraySize = 1001'");
    Command("sacct", "exit 1");
  }

  void Command(const std::string& name, const std::string& body) const {
    fs::create_directories(dir_ + "/bin");
    Write("bin/" + name, "#!/bin/bash\nhere='" + dir_ + "'\n" + body + "\n");
    fs::permissions(dir_ + "/bin/" + name, fs::perms::owner_all);
  }
  Outcome Sweep(const std::string& options) const {
    return Call("sweep 'the grid.toml' " + options, "PATH='" + dir_ + "/bin':\"$PATH\"");
  }
  // Lines of all journals by point.
  std::map<int, int> PointsIn(const std::string& out) const {
    std::map<int, int> counts;
    for (const fs::directory_entry& entry : fs::directory_iterator(dir_ + "/" + out)) {
      if (entry.path().filename().string().rfind("journal", 0) != 0) continue;
      std::ifstream in(entry.path());
      std::string line;
      std::getline(in, line);
      while (std::getline(in, line)) ++counts[SortedJsonOf(line)["point"].get<int>()];
    }
    return counts;
  }
};

TEST_F(SlurmSweepTest, AnArrayGivesTheResultsOfALocalSweep) {
  ASSERT_EQ(Sweep("--out local").status, 0);
  const Outcome outcome = Sweep("--slurm --slurm-tasks 3 --out \"it's \\$HOME 100%a\" --jobs 2");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("Slurm job 4711: 3 tasks for 8 points"));
  EXPECT_THAT(outcome.out, HasSubstr("8 of 8 points: 6 done, 2 infeasible"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("COMPLETED")));  // nothing to say of them
  EXPECT_EQ(Read("arrays"), "1-3\n");
  const std::string out = "it's $HOME 100%a";
  for (const char* file : {"/results.csv", "/results.jsonl", "/index.html"})
    EXPECT_EQ(Read(out + file), Read(std::string("local") + file)) << file;
  const std::string script = Read(out + "/slurm/job.sh");
  EXPECT_THAT(script, HasSubstr("--jobs 2 "));
  EXPECT_THAT(script, HasSubstr("--shard \"$SLURM_ARRAY_TASK_ID/3\""));
  EXPECT_THAT(script, HasSubstr("--cpus-per-task=2 "));
  EXPECT_THAT(script, HasSubstr("100%%a/slurm/%A-%a.log"));
}

TEST_F(SlurmSweepTest, WhatATaskDidNotRunIsReportedAndSubmittedAgain) {
  Write("skipped", "2\n");
  Outcome outcome = Sweep("--slurm --slurm-tasks 3 --slurm-time 10 --out out");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("5 of 8 points"));
  EXPECT_THAT(outcome.out, HasSubstr("Slurm job 4711, 3 tasks: 2 COMPLETED, 1 TIMEOUT"));
  EXPECT_THAT(outcome.out,
              HasSubstr("task 2 TIMEOUT: slurmstepd: error: *** JOB CANCELLED DUE TO TIME LIMIT "
                        "*** (out/slurm/4711-2.log)"));
  EXPECT_THAT(outcome.out, HasSubstr("3 points were not run to an end"));
  EXPECT_THAT(outcome.out, HasSubstr("spyre-cosim sweep 'the grid.toml' --out out --slurm --resume "
                                     "--slurm-tasks 3 --slurm-time 10\n"));
  EXPECT_THAT(Sweep("--slurm --out out").err, HasSubstr("--resume goes on with it"));

  Write("skipped", "");
  outcome = Sweep("--slurm --resume --out out");  // as many shards as before
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Read("arrays"), "1-3\n2\n");
  const std::map<int, int> points = PointsIn("out");
  EXPECT_EQ(points.size(), 8u);
  for (const auto& [point, count] : points) EXPECT_EQ(count, 1) << point;

  outcome = Sweep("--slurm --resume --out out");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("nothing is submitted"));
  EXPECT_EQ(Read("arrays"), "1-3\n2\n");
}

TEST_F(SlurmSweepTest, AJobThatIsInTheQueueIsNotSubmittedTwice) {
  Write("skipped", "1\n2\n");
  const Outcome submitted = Sweep("--slurm --no-wait --slurm-tasks 2 --out out");
  EXPECT_EQ(submitted.status, 0) << submitted.err;
  EXPECT_THAT(submitted.out, HasSubstr("Slurm job 4711\n"));
  EXPECT_THAT(submitted.out, HasSubstr("sweep 'the grid.toml' --out out --collect\n"));
  EXPECT_THAT(submitted.out, HasSubstr("scancel 4711\n"));

  Write("states", "1|PENDING|Resources\n2|RUNNING|None\n");
  const Outcome again = Sweep("--slurm --resume --no-wait --out out");
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.err, HasSubstr("job 4711 of this sweep is still in the queue"));
  Command("squeue", "echo Unable to contact slurm controller >&2; exit 1");
  const Outcome unknown = Sweep("--slurm --resume --out out");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("may still be in the queue"));
  EXPECT_EQ(Read("arrays"), "1-2\n");
}

TEST_F(SlurmSweepTest, AnInterruptionLeavesTheJobAndSaysHowToComeBack) {
  Command("squeue", "kill -INT $PPID; echo '1|RUNNING|None'");
  const Outcome outcome = Sweep("--slurm --slurm-tasks 1 --slurm-arg=--mem=4G --out out");
  EXPECT_EQ(outcome.status, 130);
  EXPECT_THAT(outcome.err, HasSubstr("Slurm job 4711 goes on without this command"));
  EXPECT_THAT(outcome.err, HasSubstr("--slurm --resume --slurm-tasks 1 --slurm-arg=--mem=4G\n"));
  EXPECT_THAT(outcome.err, HasSubstr("scancel 4711\n"));
}

TEST_F(SlurmSweepTest, PointsAreDealtToAsManyTasksAsAnArrayMayHave) {
  Command("scontrol", "echo 'MaxArraySize = 3'");
  const Outcome outcome = Sweep("--slurm --slurm-running 1 --out out");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("2 tasks instead of 8"));
  EXPECT_EQ(Read("arrays"), "1-2%1\n");
  EXPECT_EQ(PointsIn("out").size(), 8u);
}

TEST_F(SlurmSweepTest, WrongOptionsAreRefusedBeforeAnythingIsSubmitted) {
  const std::map<std::string, std::string> cases = {
      {"--slurm-tasks 3", "have an effect with --slurm only"},
      {"--no-wait", "have an effect with --slurm only"},
      {"--slurm --collect", "--collect"},
      {"--slurm --shard 1/2", "--shard"},
      {"--slurm --slurm-arg=--array=1-9", "gives --array to sbatch itself"},
      {"--slurm --slurm-arg=-o/tmp/x", "gives -o to sbatch itself"},
      {"--slurm --slurm-arg=mem=4G", "must be an option of sbatch"},
      {"--slurm --out 'a\\b'", "a path with a backslash"}};
  for (const auto& [options, error] : cases) {
    const Outcome outcome = Sweep(options);
    EXPECT_EQ(outcome.status, 2) << options;
    EXPECT_THAT(outcome.err, HasSubstr(error)) << options;
  }
  EXPECT_FALSE(fs::exists(dir_ + "/arrays"));
}

}  // namespace
}  // namespace spyre::slurm_sweep_test
