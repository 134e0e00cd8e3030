// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "cosim/host/child_process.h"
#include "tests/paths.h"

namespace spyre::cosim::plan_file_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A search of two trials, the second of which is the best.
TuneResult ResultOf(const std::string& config, const Plan& plan) {
  TuneResult result;
  result.config = config;
  TrialResult ended;
  ended.status = TrialStatus::kDone;
  ended.numbers.assign(NumberFigures().size(), 2000);
  result.search.trials = {{Stage::kGiven, {}, ended}, {Stage::kProposed, plan, ended}};
  result.search.trials[1].result.numbers[0] = 1000;
  result.search.best = {1, 0};
  result.best = 1;
  return result;
}

TEST(PlanFile, IsTheConfigurationWithThePlanWhereverItLies) {
  const ScratchDirectory scratch("plan_file_test");
  const std::string configs = std::string(SPYRE_SOURCE_DIR) + "/configs/";
  const Plan divided{{{"workload.division", "\"cost\""}}, {}};
  for (const std::string name : {"tiled_matmul.toml", "attention.toml", "mlp_two_streams.toml",
                                 "granite_8b_decode.toml", "interleaved.toml"}) {
    const RunConfig config = LoadConfig(configs + name, SetsOf(divided));
    const std::string path = scratch.path() + "/best.toml";
    WriteFile(path, PlanFile(config, ResultOf(name, divided)), "plan");
    EXPECT_EQ(ToToml(LoadConfig(path)), ToToml(config)) << name;
  }
}

TEST(PlanFile, NamesFilesByTheirWholePath) {
  RunConfig config =
      ParseConfig("[workload]\nop=\"add\"\nrows=64\ncols=64\ninputs.a=\"a.npy\"\n", "test.toml");
  EXPECT_THAT(PlanFile(config, ResultOf("test.toml", {})), HasSubstr("inputs.a = \"/"));
}

TEST(PlanFile, SaysWhatWasFoundAndWhichKeysAreThePlans) {
  const Plan plan{{{"workload.split.rows", "8"}}, {}};
  const RunConfig config =
      ParseConfig("[workload]\nop=\"add\"\nrows=64\ncols=64\n", "test.toml", SetsOf(plan));
  const std::string text = PlanFile(config, ResultOf("add.toml", plan));
  EXPECT_THAT(text, HasSubstr("launch_ns 1.000 us, and 2.000 us as given"));
  EXPECT_THAT(text, HasSubstr("\nop = \"add\"\n"));
  EXPECT_THAT(text, HasSubstr("\nsplit.rows = 8  # plan\n"));
  EXPECT_THAT(text, Not(HasSubstr("functional")));  // a default that nobody gave
}

}  // namespace
}  // namespace spyre::cosim::plan_file_test
