// SPDX-License-Identifier: Apache-2.0
// What the commands print is what Slurm 22.05 printed.
#include "cosim/slurm/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cosim/slurm/fake_slurm.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::cluster_test {
namespace {

using ::spyre::test::BadInputOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ClusterTest : public ::testing::Test {
 protected:
  test::FakeSlurm fake_;
};

TEST_F(ClusterTest, SbatchGetsItsWordsAndGivesANumber) {
  fake_.Command("sbatch",
                "printf '%s\\n' \"$@\" > $here/words; echo hello from the site; echo 4711");
  const SlurmJob job = Submit({"--array=1-4", "a b.sh"});
  EXPECT_EQ(job.id, "4711");
  EXPECT_EQ(job.cluster, "");
  EXPECT_EQ(fake_.Read("words"), "--parsable\n--array=1-4\na b.sh\n");
  EXPECT_EQ(CancelCommand(job), "scancel 4711");
}

TEST_F(ClusterTest, AJobOfAnotherClusterIsAskedForThere) {
  fake_.Command("sbatch", "echo '12;west'");
  fake_.Command("squeue", "echo \"$@\" > $here/words; echo 'CLUSTER: west'; echo '1|RUNNING|None'");
  const SlurmJob job = Submit({});
  EXPECT_EQ(CancelCommand(job), "scancel --clusters=west 12");
  EXPECT_EQ(AskQueue(job).tasks.size(), 1u);
  EXPECT_THAT(fake_.Read("words"), HasSubstr("--jobs=12"));
  EXPECT_THAT(fake_.Read("words"), HasSubstr("--clusters=west"));
}

TEST_F(ClusterTest, WhatSbatchSaysAgainstAJobIsTold) {
  fake_.Command("sbatch",
                "for i in 1 2 3 4 5 6; do echo attempt $i >&2; done\n"
                "echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1");
  const std::string error = BadInputOf([] { Submit({}); });
  EXPECT_THAT(error, HasSubstr("Invalid account"));
  EXPECT_THAT(error, Not(HasSubstr("attempt 1")));
  fake_.Command("sbatch", "echo 'sbatch: Job 5 to start at noon' >&2");  // --test-only
  EXPECT_THAT(BadInputOf([] { Submit({}); }), HasSubstr("Job 5 to start at noon"));
  fake_.HideOthers();
  std::filesystem::remove(fake_.Path("bin/sbatch"));
  EXPECT_THAT(BadInputOf([] { Submit({}); }), HasSubstr("PATH has no sbatch"));
}

TEST_F(ClusterTest, TheQueueTellsStatesOfEachTask) {
  fake_.Command("squeue",
                "echo '[4-5%2]|PENDING|Resources'; echo '2|FAILED|NonZeroExitCode'\n"
                "echo '1|COMPLETED|None'; echo '3|RUNNING|None'");
  const QueueAnswer answer = AskQueue({"7", ""});
  ASSERT_EQ(answer.kind, QueueAnswer::Kind::kTasks);
  ASSERT_EQ(answer.tasks.size(), 5u);
  EXPECT_EQ(answer.tasks.at(1).state, "COMPLETED");
  EXPECT_EQ(answer.tasks.at(1).reason, "");
  EXPECT_EQ(answer.tasks.at(2).reason, "NonZeroExitCode");
  EXPECT_EQ(answer.tasks.at(5).state, "PENDING");
}

TEST_F(ClusterTest, AForgottenJobIsNotAClusterThatIsGone) {
  fake_.Command("squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
  EXPECT_EQ(AskQueue({"7", ""}).kind, QueueAnswer::Kind::kUnknownJob);
  fake_.Command("squeue", "exit 0");
  EXPECT_EQ(AskQueue({"7", ""}).kind, QueueAnswer::Kind::kUnknownJob);
  fake_.Command("squeue",
                "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1");
  const QueueAnswer answer = AskQueue({"7", ""});
  EXPECT_EQ(answer.kind, QueueAnswer::Kind::kNoAnswer);
  EXPECT_THAT(answer.message, HasSubstr("Unable to contact"));
}

TEST_F(ClusterTest, AccountingTellsTheEndOfTasks) {
  fake_.Command("sacct",
                "echo '7_1|TIMEOUT'; echo '7_[3-4]|CANCELLED by 1000'; echo '70_2|FAILED'");
  const SlurmTasks tasks = AskAccounting({"7", ""});
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks.at(1).state, "TIMEOUT");
  EXPECT_EQ(tasks.at(4).state, "CANCELLED");
  fake_.Command("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
  EXPECT_TRUE(AskAccounting({"7", ""}).empty());
}

TEST_F(ClusterTest, TheLastTaskIsOneBelowTheSizeOfAnArray) {
  fake_.Command("scontrol", "echo 'MaxArrayTasks = 9'; echo 'MaxArraySize            = 501'");
  EXPECT_EQ(LastArrayTask(), 500u);
  fake_.Command("scontrol", "exit 1");
  EXPECT_EQ(LastArrayTask(), 1000u);
}

TEST(SlurmState, OnlyWhatWillNotRunAgainHasEnded) {
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL",
                            "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL", "DEADLINE"})
    EXPECT_TRUE(HasEnded(state)) << state;
  for (const char* state : {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED",
                            "REQUEUE_HOLD", "SUSPENDED", "SPECIAL_EXIT", "NEW_IN_30_05", ""})
    EXPECT_FALSE(HasEnded(state)) << state;
}

}  // namespace
}  // namespace spyre::cosim::cluster_test
