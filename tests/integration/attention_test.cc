// SPDX-License-Identifier: Apache-2.0
// Fused attention on the simulated card, bit for bit, and against the chain of single operations.
#include <gtest/gtest.h>

#include "cosim/config/config.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/paths.h"

namespace spyre::cosim {
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

uint64_t LaunchPs(const RunResult& result) { return result.launch_end_ps - result.launch_begin_ps; }

TEST(FusedAttentionTimes, BeatTheChainWhereScoresAreLarge) {
  std::vector<std::string> sets = Sizes(4, 4, 256, 1024, false);
  sets.emplace_back("workload.functional=false");
  const RunResult fused = RunOnCard("attention_fused", sets);
  const RunResult chain = RunOnCard(
      "attention",
      {"workload.dims={ H = 4, S = 256, T = 1024, D = 64 }", "workload.functional=false"});
  EXPECT_LT(LaunchPs(fused), LaunchPs(chain));
}

TEST(FusedAttentionTimes, ACausalMaskSkipsTilesThatNobodySees) {
  const auto run = [](bool causal) {
    std::vector<std::string> sets = Sizes(8, 2, 1024, 1024, causal);
    sets.emplace_back("workload.functional=false");
    return LaunchPs(RunOnCard("attention_fused", sets));
  };
  EXPECT_LT(run(true), run(false));
}

}  // namespace
}  // namespace spyre::cosim
