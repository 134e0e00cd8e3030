// SPDX-License-Identifier: Apache-2.0
// The soak campaign as `spyre-cosim soak`, for a moment. A day is run by hand: docs/security.md.
#include <gmock/gmock.h>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::soak_test {
namespace {

class Soak : public ProgramFixture {
 protected:
  // Half an hour, in which everything happens often.
  nlohmann::json Run(const std::string& arguments, const std::string& hours = "0.5") {
    const Outcome outcome =
        Call("soak --hours " + hours +
             " --bursts-per-hour 1200 --checks-per-hour 20 --bursts-per-reset 20 "
             "--bursts-per-owner 60 --bursts-per-card-reset 150 --json " +
             arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : nlohmann::json();
  }
};

TEST_F(Soak, NothingGrowsDriftsOrIsLost) {
  const nlohmann::json result = Run("");
  EXPECT_EQ(result["findings"], nlohmann::json::array());
  EXPECT_GE(result["samples"].size(), 10u);
  EXPECT_GT(result["samples"].back()["time_ps"], 1'799'000'000'000'000u);
  for (const char* what :
       {"copies", "fills", "launches", "events", "resets", "owners", "card_resets", "dropped"})
    EXPECT_GT(result[what], 0u) << what;
}

TEST_F(Soak, AlsoOnAPipelinedCardOfRtl) {
  Run("--functions 3 --set card.control.fidelity=rtl --set card.management.fidelity=rtl "
      "--set card.concurrency=pipelined",
      "0.1");
}

TEST_F(Soak, EqualSeedsDoTheSame) {
  const auto counts = [&](const std::string& seed) {
    nlohmann::json result = Run("--seed " + seed, "0.05");
    for (nlohmann::json& sample : result["samples"]) sample.erase("resident_bytes");
    return result;
  };
  const nlohmann::json first = counts("7");
  EXPECT_EQ(counts("7"), first);
  EXPECT_NE(counts("8"), first);
}

TEST_F(Soak, FaultsThatCardAndDriverPutRightCostTimeAndNothingElse) {
  const nlohmann::json result =
      Run("--set 'fault=[{kind=\"memory_single_bit\",when={probability=0.001,seed=1},times=1000},"
          "{kind=\"ring_retry\",when={probability=0.001,seed=2},times=1000},"
          "{kind=\"pcie_late_completion\",when={probability=0.01,seed=3},times=1000},"
          "{kind=\"msi_late\",when={probability=0.01,seed=4},times=1000}]'",
          "0.2");
  EXPECT_EQ(result["findings"], nlohmann::json::array());
  EXPECT_GT(result["faults"], 100u);
  EXPECT_GT(result["corrected"], 50u);
  EXPECT_EQ(result["detected"], 0u);
  EXPECT_EQ(result["errors"], 0u);
}

TEST_F(Soak, SaysWhatTheCardCannotHave) {
  const Outcome outcome = Call("soak --functions 8 --hours 0.01 --set card.memory.capacity_gib=64");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("device memory"));
}

}  // namespace
}  // namespace spyre::test::soak_test
