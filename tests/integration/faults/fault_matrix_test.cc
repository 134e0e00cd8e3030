// SPDX-License-Identifier: Apache-2.0
// Every kind of fault on every kind of card: what docs/faults.md says that it ends in is what a run
// ends in, in bounded simulated time, and results that are verified are right.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/fault/fault_kind.h"
#include "tests/integration/faults/faulted_run.h"

namespace spyre::test::fault_matrix_test {
namespace {

using model::FaultKind;
using model::FaultKindInfo;
using model::FaultOutcome;
using ::testing::HasSubstr;

// The longest that an error may take to show: a completion time-out is 260 ms, a driver's patience
// 10 s.
constexpr double kBoundMs = 11'000;

struct Card {
  std::string name;
  std::vector<std::string> sets;
};

std::vector<Card> Cards(const FaultKindInfo& info) {
  std::vector<Card> cards;
  for (const char* fidelity : {"timed", "rtl"}) {
    for (const char* mode : {"vf", "pf"}) {
      for (const char* concurrency : {"serial", "pipelined"}) {
        std::vector<std::string> sets = {fmt::format("card.mode={}", mode),
                                         fmt::format("card.concurrency={}", concurrency),
                                         fmt::format("card.control.fidelity={}", fidelity)};
        const bool rtl = std::string(fidelity) == "rtl";
        // Of the blocks that RTL is slow for, the one that the fault is in.
        const bool firmware = std::string(info.name).rfind("firmware_", 0) == 0;
        sets.push_back(
            fmt::format("card.management.fidelity={}", rtl && firmware ? "rtl" : "behavioural"));
        cards.push_back({fmt::format("{} {} {}", fidelity, mode, concurrency), std::move(sets)});
      }
    }
  }
  return cards;
}

// Where and when a fault of the kind meets the run.
std::string TableOf(const FaultKindInfo& info) {
  switch (info.kind) {
    // While work is outstanding: the launches of the run begin behind its copies.
    case FaultKind::kFirmwareTrap:
    case FaultKind::kFirmwareHang:
    case FaultKind::kFirmwareCorrupt:
    case FaultKind::kPcieLinkDown:
    case FaultKind::kPcieRemoval:
    case FaultKind::kThermalThrottle:
    case FaultKind::kPowerBrake:
      return fmt::format("kind = \"{}\", when = {{ time_us = TIME }}", info.name);
    case FaultKind::kMsiLost:  // that of a response which somebody waits for, too
      return fmt::format("kind = \"{}\", times = 1000", info.name);
    case FaultKind::kResponseTorn:  // longer than until the driver looks
      return fmt::format("kind = \"{}\", lasts_us = 50", info.name);
    case FaultKind::kCoreWrong:  // the correction, on core 0, must not meet it: it computes
                                 // addresses
      return fmt::format("kind = \"{}\", where = {{ core = 2 }}", info.name);
    default:
      return fmt::format("kind = \"{}\"", info.name);
  }
}

class EveryFault : public ::testing::TestWithParam<FaultKindInfo> {};

TEST_P(EveryFault, EndsAsTheTableSays) {
  const FaultKindInfo& info = GetParam();
  const std::vector<Card> cards = Cards(info);
  // A moment in the middle of the run, which is as long as the card makes it.
  std::vector<std::vector<std::string>> undisturbed, runs;
  for (const Card& card : cards) undisturbed.push_back(card.sets);
  std::vector<double> middle_us(cards.size(), 0);
  if (info.is_moment()) {
    const std::vector<FaultedOutcome> outcomes = RunWithFaults(undisturbed);
    for (size_t i = 0; i < cards.size(); ++i) {
      ASSERT_EQ(outcomes[i].status, 0) << cards[i].name << ": " << outcomes[i].error;
      // In VF mode the card is first set up, which takes 100 ms and more.
      middle_us[i] = outcomes[i].sim_ms * 1000 - 10;
    }
  }
  for (size_t i = 0; i < cards.size(); ++i) {
    std::string table = TableOf(info);
    if (const size_t at = table.find("TIME"); at != std::string::npos)
      table.replace(at, 4, fmt::format("{:.3f}", middle_us[i]));
    runs.push_back(cards[i].sets);
    runs.back().push_back("fault=[{" + table + "}]");
  }
  const std::vector<FaultedOutcome> outcomes = RunWithFaults(runs);
  for (size_t i = 0; i < cards.size(); ++i) {
    const FaultedOutcome& run = outcomes[i];
    SCOPED_TRACE(cards[i].name + ": " + run.faults.dump() + " " + run.error);
    EXPECT_LE(run.sim_ms, kBoundMs);
    ASSERT_GE(run.faults.size(), 1u);
    ASSERT_TRUE(run.faults[0]["struck"]);
    std::string expected = model::Name(info.outcome);
    // Requests to the firmware come from virtual functions: without one it meets nothing.
    const bool pf = cards[i].name.find(" pf ") != std::string::npos;
    if ((info.kind == FaultKind::kFirmwareTrap || info.kind == FaultKind::kFirmwareHang) && pf)
      expected = "masked";
    bool as_expected = false;  // of an interrupt that nobody waited for, nothing comes
    for (const auto& fault : run.faults) as_expected = as_expected || fault["outcome"] == expected;
    EXPECT_TRUE(as_expected) << expected;
    if (expected == "detected") {
      EXPECT_EQ(run.status, 3);
      EXPECT_THAT(run.error, HasSubstr(fmt::format("{} at {}, at ", info.name,
                                                   run.faults[0]["place"].get<std::string>())));
    } else if (expected == "silent") {
      EXPECT_EQ(run.status, 1);
      EXPECT_GT(run.mismatches, 0u);
    } else {
      EXPECT_EQ(run.status, 0);
      EXPECT_TRUE(run.compared);
      EXPECT_EQ(run.mismatches, 0u);
    }
  }
}

std::vector<FaultKindInfo> KindsButFlips() {
  std::vector<FaultKindInfo> kinds = model::FaultKinds();
  kinds.pop_back();  // rtl_bit_flip: see bit_flip_test.cc
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(Kinds, EveryFault, ::testing::ValuesIn(KindsButFlips()),
                         [](const auto& test) { return std::string(test.param.name); });

// A read that is hit again and again is given up.
TEST(RepeatedFault, OfACompletionEndsInAHostFault) {
  std::vector<std::vector<std::string>> runs;
  const std::vector<std::string> kinds = {"pcie_lost_completion", "pcie_poisoned_completion",
                                          "pcie_malformed_completion"};
  for (const std::string& kind : kinds) {
    for (const char* mode : {"vf", "pf"}) {
      runs.push_back({fmt::format("card.mode={}", mode),
                      fmt::format("fault=[{{kind = \"{}\", times = 2}}]", kind)});
    }
  }
  for (const FaultedOutcome& run : RunWithFaults(runs)) {
    EXPECT_EQ(run.status, 3) << run.error;
    EXPECT_THAT(run.error, HasSubstr("HOST_FAULT"));
    ASSERT_EQ(run.faults.size(), 2u);
    for (const auto& fault : run.faults) EXPECT_EQ(fault["outcome"], "detected") << fault;
  }
}

// Times only, and the other fidelities: a fault is never passed over.
TEST(FaultsWithoutData, AreFoundAsOnATimedCard) {
  for (const char* kind : {"memory_double_bit", "lx_parity", "ring_dead", "core_stop"}) {
    std::vector<std::vector<std::string>> runs;
    for (const char* fidelity : {"timed", "functional", "fast"}) {
      for (const char* data : {"true", "false"}) {
        runs.push_back({fmt::format("card.fidelity={}", fidelity),
                        fmt::format("workload.functional={}", data),
                        fmt::format("fault=[{{kind = \"{}\"}}]", kind)});
      }
    }
    const std::vector<FaultedOutcome> outcomes = RunWithFaults(runs);
    for (size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(outcomes[i].status, 3) << kind << " " << runs[i][0] << " " << runs[i][1];
      ASSERT_EQ(outcomes[i].faults.size(), 1u);
      EXPECT_EQ(outcomes[i].faults[0]["outcome"], "detected") << outcomes[i].error;
    }
  }
}

TEST(FaultThatNeverStrikes, IsNamed) {
  const auto outcomes = RunWithFaults({{"fault=[{kind = \"core_stop\", where = {function = 2}}]"}});
  EXPECT_EQ(outcomes[0].status, 0) << outcomes[0].error;
  ASSERT_EQ(outcomes[0].faults.size(), 1u);
  EXPECT_FALSE(outcomes[0].faults[0]["struck"]);
}

}  // namespace
}  // namespace spyre::test::fault_matrix_test
