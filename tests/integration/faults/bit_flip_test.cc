// SPDX-License-Identifier: Apache-2.0
// Bits of the state of RTL blocks change while a run is at work. What a bit does is its own; but no
// run hangs, and no run calls wrong results right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/faults/faulted_run.h"

namespace spyre::test::bit_flip_test {
namespace {

// Seeds choose the bit; times are spread over the run of a PF, which has no setting up.
std::vector<std::vector<std::string>> Flips(const std::string& block,
                                            const std::vector<std::string>& sets, int count) {
  std::vector<std::vector<std::string>> runs;
  for (int i = 0; i < count; ++i) {
    runs.push_back(sets);
    runs.back().push_back(fmt::format("card.{}.fidelity=rtl", block));
    runs.back().push_back("card.mode=pf");
    runs.back().push_back(fmt::format(
        "fault=[{{kind = \"rtl_bit_flip\", where = {{ block = \"{}\" }}, when = {{ time_us = "
        "{}, seed = {} }} }}]",
        block, 2 + 3 * i, 7 + 41 * i));
  }
  return runs;
}

void ExpectHonest(const std::vector<FaultedOutcome>& outcomes) {
  for (const FaultedOutcome& run : outcomes) {
    SCOPED_TRACE(run.faults.dump() + " " + run.error);
    ASSERT_EQ(run.faults.size(), 1u);
    const std::string outcome = run.faults[0]["outcome"];
    EXPECT_TRUE(run.status == 0 || run.status == 1 || run.status == 3) << run.status;
    EXPECT_EQ(run.status == 0, outcome == "masked");
    EXPECT_EQ(run.status == 1, outcome == "silent");
    EXPECT_EQ(run.status == 3, outcome == "detected");
  }
}

TEST(RtlBitFlip, OfTheControlProcessorEndsRightOrInAnError) {
  ExpectHonest(RunWithFaults(Flips("control", {}, 12)));
}

TEST(RtlBitFlip, OfTheManagementControllerEndsRightOrInAnError) {
  ExpectHonest(RunWithFaults(Flips("management", {}, 6)));
}

TEST(RtlBitFlip, OfThePtArrayIsFoundByTheComparisonIfItReachesAResult) {
  const std::vector<FaultedOutcome> outcomes = RunWithFaults(
      Flips("pt",
            {"workload.op=matmul", "workload.rows=0", "workload.cols=0", "workload.m=64",
             "workload.k=64", "workload.n=64", "card.pt.rtl_cores=1"},
            8));
  ExpectHonest(outcomes);
  int silent = 0;
  for (const FaultedOutcome& run : outcomes) silent += run.status == 1;
  EXPECT_GT(silent, 0) << "some bit of a weight must matter";
}

}  // namespace
}  // namespace spyre::test::bit_flip_test
