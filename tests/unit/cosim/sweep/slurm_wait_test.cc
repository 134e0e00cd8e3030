// SPDX-License-Identifier: Apache-2.0
// The fake squeue tells in its Nth call what the test has put into the file N, the last one again.
#include "cosim/sweep/slurm_wait.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "base/interrupt.h"
#include "tests/unit/cosim/slurm/fake_slurm.h"

namespace spyre::cosim::slurm_wait_test {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class SlurmWaitTest : public ::testing::Test {
 protected:
  SlurmWaitTest() {
    fake_.Command("squeue",
                  "calls=$(cat $here/calls 2>/dev/null || echo 0); calls=$((calls + 1))\n"
                  "echo $calls > $here/calls\n"
                  "while [ ! -e $here/$calls ]; do calls=$((calls - 1)); done\n"
                  ". $here/$calls");
    fake_.Command("sacct", "exit 1");
  }
  void Tells(int call, const std::string& lines) const {
    WriteFile(fake_.Path(std::to_string(call)), "cat <<'E'\n" + lines + "\nE\n", "answer");
  }
  void Fails(int call, const std::string& message) const {
    WriteFile(fake_.Path(std::to_string(call)), "echo '" + message + "' >&2; exit 1\n", "answer");
  }
  JobEnd Wait(const std::vector<uint64_t>& tasks) {
    return WaitForJob(
        {"7", ""}, tasks, [this](seconds time) { pauses_.push_back(time); }, [] {}, messages_);
  }

  test::FakeSlurm fake_;
  std::vector<seconds> pauses_;
  std::ostringstream messages_;
};

TEST_F(SlurmWaitTest, EndsWhenNoTaskIsInTheQueue) {
  Tells(1, "1|PENDING|Priority\n2|PENDING|Priority");
  Tells(2, "1|RUNNING|None\n2|FAILED|NonZeroExitCode");
  Tells(3, "1|COMPLETED|None\n2|FAILED|NonZeroExitCode");
  const JobEnd end = Wait({1, 2});
  EXPECT_EQ(end.tasks.at(1).state, "COMPLETED");
  EXPECT_EQ(end.tasks.at(2).state, "FAILED");
  EXPECT_EQ(end.lost, "");
  EXPECT_EQ(pauses_, (std::vector<seconds>{seconds(1), seconds(2)}));
  EXPECT_EQ(messages_.str(), "");
}

TEST_F(SlurmWaitTest, ATaskThatIsPutBackIsWaitedFor) {
  Tells(1, "1|NODE_FAIL|NodeDown\n2|RUNNING|None");
  Tells(2, "1|PENDING|BeginTime\n2|COMPLETED|None");
  Tells(3, "1|COMPLETED|None\n2|COMPLETED|None");
  EXPECT_EQ(Wait({1, 2}).tasks.at(1).state, "COMPLETED");
}

TEST_F(SlurmWaitTest, PausesGrowToHalfAMinute) {
  for (int call = 1; call <= 7; ++call) Tells(call, "1|RUNNING|None");
  Tells(8, "1|COMPLETED|None");
  Wait({1});
  ASSERT_EQ(pauses_.size(), 7u);
  EXPECT_EQ(pauses_[4], seconds(16));
  EXPECT_EQ(pauses_[5], seconds(30));
  EXPECT_EQ(pauses_[6], seconds(30));
}

TEST_F(SlurmWaitTest, WhatTheQueueForgetsAccountingRemembers) {
  Tells(1, "1|RUNNING|None\n2|RUNNING|None\n3|PENDING|Resources");
  Fails(2, "slurm_load_jobs error: Invalid job id specified");
  fake_.Command("sacct", "echo '7_1|COMPLETED'; echo '7_2|TIMEOUT'; echo '7_3|RUNNING'");
  const JobEnd end = Wait({1, 2, 3});
  EXPECT_EQ(end.tasks.at(1).state, "COMPLETED");
  EXPECT_EQ(end.tasks.at(2).state, "TIMEOUT");
  EXPECT_EQ(end.tasks.at(3).state, "");  // it has left the queue, so it does not run
}

TEST_F(SlurmWaitTest, AClusterThatComesBackIsWaitedFor) {
  Tells(1, "1|RUNNING|None");
  Fails(2, "Unable to contact slurm controller");
  Tells(5, "1|COMPLETED|None");
  const JobEnd end = Wait({1});
  EXPECT_EQ(end.lost, "");
  EXPECT_EQ(end.tasks.at(1).state, "COMPLETED");
  EXPECT_THAT(messages_.str(), HasSubstr("Unable to contact slurm controller"));
}

TEST_F(SlurmWaitTest, AClusterThatIsGoneIsGivenUp) {
  Tells(1, "1|RUNNING|None");
  Fails(2, "Unable to contact slurm controller");
  const JobEnd end = Wait({1});
  EXPECT_THAT(end.lost, HasSubstr("Unable to contact"));
  EXPECT_EQ(end.tasks.at(1).state, "RUNNING");
  EXPECT_EQ(fake_.Read("calls"), "11\n");
}

TEST_F(SlurmWaitTest, AReasonThatDoesNotPassIsSaidOnce) {
  Tells(1, "1|PENDING|PartitionTimeLimit\n2|PENDING|PartitionTimeLimit");
  Tells(2, "1|PENDING|PartitionTimeLimit\n2|PENDING|PartitionTimeLimit");
  Tells(3, "1|CANCELLED|None\n2|CANCELLED|None");
  Wait({1, 2});
  EXPECT_EQ(messages_.str(), "Slurm job 7 waits, task 1: PartitionTimeLimit\n");
}

TEST_F(SlurmWaitTest, ASignalEndsTheWaiting) {
  Tells(1, "1|RUNNING|None");
  CatchInterrupts(0);
  EXPECT_THROW(WaitForJob(
                   {"7", ""}, {1}, [](seconds) { std::raise(SIGINT); }, [] {}, messages_),
               Interruption);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) std::signal(signal, SIG_DFL);
}

}  // namespace
}  // namespace spyre::cosim::slurm_wait_test
