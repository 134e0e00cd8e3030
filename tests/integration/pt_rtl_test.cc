// SPDX-License-Identifier: Apache-2.0
// Whole runs whose PT arrays are RTL on some cores: verified, and the same as without.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/session/session.h"
#include "tests/integration/parity/two_cards.h"

namespace spyre::cosim::pt_rtl_test {
namespace {

using Sets = std::vector<std::string>;

RunResult RunSets(const Sets& sets, const std::string& suffix = "") {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return RunSession(LoadConfig("", sets), ::testing::TempDir() + "pt_rtl_" + info->name() + suffix);
}

// The simulated time and the bytes of the output of a verified run.
std::string Outcome(const Sets& sets, const std::string& suffix) {
  return test::InChild([&] {
    const RunResult result = RunSets(sets, suffix);
    EXPECT_TRUE(result.verification.has_value());
    EXPECT_GT(result.verification->elements, 0);
    EXPECT_EQ(result.verification->mismatches, 0);
    std::ifstream file(result.tensor_paths.at("out"), std::ios::binary);
    return std::to_string(result.sim_ps) + " ps " +
           std::string(std::istreambuf_iterator<char>(file), {});
  });
}

void ExpectSameWithRtlOn(const std::string& cores, Sets sets) {
  const std::string timed = Outcome(sets, "_timed");
  sets.push_back("card.pt.fidelity=rtl");
  sets.push_back("card.pt.rtl_cores=" + cores);
  EXPECT_TRUE(Outcome(sets, "_rtl") == timed);
}

TEST(PtRtl, ComputesTheMatmulsOfACore) {
  ExpectSameWithRtlOn("1", {"card.cores=1", "workload.m=20", "workload.k=200", "workload.n=192"});
}

TEST(PtRtl, WorksBesideTimedArrays) {
  ExpectSameWithRtlOn("2", {"card.cores=4", "workload.m=64", "workload.k=128", "workload.n=256"});
}

TEST(PtRtl, SumsPartsOfKInCoreOrder) {
  ExpectSameWithRtlOn("15", {"card.cores=4", "workload.m=16", "workload.k=256", "workload.n=64",
                             "workload.split.k=4"});
}

TEST(PtRtl, GivesWaves) {
  const RunResult result =
      RunSets({"card.cores=1", "workload.m=4", "workload.k=64", "workload.n=64",
               "card.pt.fidelity=rtl", "trace.waves.block=pt"});
  ASSERT_EQ(result.wave_paths.size(), 1u);
  EXPECT_GT(std::filesystem::file_size(result.wave_paths[0]), 1000u);
}

TEST(PtRtl, OfAnotherSizeThanTheTimedModelIsRefused) {
  EXPECT_THROW(RunSets({"card.pt.fidelity=rtl", "card.core.pt_macs_per_cycle=1024", "workload.m=4",
                        "workload.k=64", "workload.n=64"}),
               Error);
}

}  // namespace
}  // namespace spyre::cosim::pt_rtl_test
