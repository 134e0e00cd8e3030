// SPDX-License-Identifier: Apache-2.0
// A program's exit status, its environment, and the signals that are its own.
#include "cosim/exec/child_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "cosim/exec/program_environment.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::child_program_test {
namespace {

using test::BadInputOf;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

int Shell(const std::string& script, const Variables& environment = {}) {
  return RunProgram({"sh", "-c", script}, environment);
}

TEST(ChildProgram, ItsExitStatusIsReturned) {
  EXPECT_EQ(Shell("exit 0"), 0);
  EXPECT_EQ(Shell("exit 7"), 7);
}

TEST(ChildProgram, ASignalThatEndsItIsReturnedAsShellsDo) {
  EXPECT_EQ(Shell("kill -KILL $$"), 128 + SIGKILL);
}

TEST(ChildProgram, ASignalToItsParentReachesIt) {
  // The program sends it, so that nobody has to wait for the right moment.
  EXPECT_EQ(Shell("tail -f /dev/null & trap \"kill $!; exit 42\" TERM; kill -TERM $PPID; wait"),
            42);
}

TEST(ChildProgram, VariablesAreSetForIt) {
  EXPECT_EQ(Shell("test \"$SPYRE_COSIM_SET\" = 'a=1\nb=2'", {{"SPYRE_COSIM_SET", "a=1\nb=2"}}), 0);
}

TEST(ChildProgram, AProgramThatIsNotThereIsBadInput) {
  EXPECT_THAT(BadInputOf([] { RunProgram({"/nowhere/python"}, {}); }),
              AllOf(HasSubstr("/nowhere/python"), HasSubstr("No such file")));
}

TEST(ProgramEnvironment, LeadsToTheSdkAndToTheCard) {
  setenv("LD_LIBRARY_PATH", "/lib/a", 1);
  ProgramCardChoice choice;
  choice.config = "card.toml";
  choice.sets = {"card.cores=8", "card.fidelity=fast"};
  choice.out = "/tmp/out";
  const Variables environment = ProgramEnvironment("/sdk", choice);
  EXPECT_THAT(environment, Contains(Pair("RUNTIME_INSTALL_DIR", "/sdk")));
  EXPECT_THAT(environment, Contains(Pair("LD_LIBRARY_PATH", "/sdk/lib:/lib/a")));
  EXPECT_THAT(environment, Contains(Pair("SPYRE_COSIM_SET", "card.cores=8\ncard.fidelity=fast")));
  EXPECT_THAT(environment, Contains(Pair("SPYRE_COSIM_OUT", "/tmp/out")));
  EXPECT_THAT(environment, Contains(Pair("USE_SPYRE_PROFILER", "1")));
  char directory[4096];
  ASSERT_NE(getcwd(directory, sizeof directory), nullptr);
  EXPECT_THAT(environment,
              Contains(Pair("SPYRE_COSIM_CONFIG", std::string(directory) + "/card.toml")))
      << "a program may change its directory";
}

}  // namespace
}  // namespace spyre::cosim::child_program_test
