// SPDX-License-Identifier: Apache-2.0
// Fused attention on the simulated card, bit for bit, and against the chain of single operations.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::attention_test {
namespace {

RunResult RunOnCard(const std::string& name, const std::vector<std::string>& sets) {
  return RunSession(LoadConfig(SPYRE_SOURCE_DIR "/configs/" + name + ".toml", sets),
                    test::OutDir());
}

std::vector<std::string> Sizes(int heads, int kv_heads, int sequence, int context, bool causal) {
  const auto set = [](const char* key, int value) {
    return std::string("workload.attention.") + key + "=" + std::to_string(value);
  };
  return {set("heads", heads), set("kv_heads", kv_heads), set("sequence", sequence),
          set("context", context),
          std::string("workload.attention.causal=") + (causal ? "true" : "false")};
}

class FusedAttention : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(FusedAttention, IsRightBitForBit) {
  const RunResult result = RunOnCard("attention_fused", GetParam());
  ASSERT_TRUE(result.verification);
  EXPECT_EQ(result.verification->mismatches, 0) << "of " << result.verification->elements;
  EXPECT_GT(result.verification->elements, 0);
  EXPECT_LT(result.verification->max_relative_error, 0.02);
}
INSTANTIATE_TEST_SUITE_P(Sizes, FusedAttention,
                         ::testing::Values(Sizes(2, 2, 64, 64, false), Sizes(4, 2, 33, 70, true),
                                           Sizes(8, 2, 1, 600, true), Sizes(4, 1, 100, 300, true)));

// Times only, one process a run.
class FusedAttentionTimes : public test::ProgramFixture {
 protected:
  double LaunchNs(const std::string& config, const std::vector<std::string>& sets) const {
    std::string arguments = "run " SPYRE_SOURCE_DIR "/configs/" + config +
                            ".toml --json --set workload.functional=false";
    for (const std::string& set : sets) arguments += " --set '" + set + "'";
    const Outcome outcome = Call(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out)["launch_ns"].get<double>() : 0;
  }
};

TEST_F(FusedAttentionTimes, BeatTheChainWhereScoresAreLarge) {
  const double fused = LaunchNs("attention_fused", Sizes(4, 4, 256, 1024, false));
  const double chain =
      LaunchNs("attention", {"workload.dims={ H = 4, S = 256, T = 1024, D = 64 }"});
  EXPECT_GT(fused, 0);
  EXPECT_LT(fused, chain);
}

TEST_F(FusedAttentionTimes, ACausalMaskSkipsTilesThatNobodySees) {
  const double causal = LaunchNs("attention_fused", Sizes(8, 2, 1024, 1024, true));
  EXPECT_GT(causal, 0);
  EXPECT_LT(causal, LaunchNs("attention_fused", Sizes(8, 2, 1024, 1024, false)));
}

}  // namespace
}  // namespace spyre::cosim::attention_test
