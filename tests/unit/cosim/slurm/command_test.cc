// SPDX-License-Identifier: Apache-2.0
#include "cosim/slurm/command.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/interrupt.h"
#include "tests/unit/cosim/slurm/fake_slurm.h"

namespace spyre::cosim::command_test {
namespace {

TEST(Command, BothOutputsAndTheStatusAreTold) {
  const test::FakeSlurm fake;
  fake.Command("tell", "echo \"$# <$1>\"; echo no >&2; cat; exit 3");
  const CommandResult result = RunCommand({"tell", "two words; $HOME", "x"}, false);
  EXPECT_TRUE(result.is_there);
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.out, "2 <two words; $HOME>\n");
  EXPECT_EQ(result.err, "no\n");
}

// More than a pipe holds, on the output that is not read first.
TEST(Command, LongOutputsDoNotBlock) {
  const test::FakeSlurm fake;
  fake.Command("tell", "printf '%0200000d' 1 >&2; printf '%0300000d' 1");
  const CommandResult result = RunCommand({"tell"}, true);
  EXPECT_EQ(result.err.size(), 200000u);
  EXPECT_EQ(result.out.size(), 300000u);
}

TEST(Command, WhatIsNotInPathIsNotThere) {
  const test::FakeSlurm fake;
  fake.HideOthers();
  EXPECT_FALSE(RunCommand({"sbatch"}, false).is_there);
}

TEST(Command, ASignalEndsWhatMayBeInterruptedOnly) {
  const test::FakeSlurm fake;
  fake.Command("tell", "kill -INT $PPID; echo told");
  fake.Command("hang", "kill -TERM $PPID; exec tail -f /dev/null");
  CatchInterrupts(0);
  EXPECT_EQ(RunCommand({"tell"}, false).out, "told\n");
  EXPECT_THROW(ThrowIfInterrupted(), Interruption);
  EXPECT_THROW(RunCommand({"hang"}, true), Interruption);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM}) std::signal(signal, SIG_DFL);
}

}  // namespace
}  // namespace spyre::cosim::command_test
