// SPDX-License-Identifier: Apache-2.0
// Random tables of faults, from seeds: whatever they do, a run ends in bounded simulated time, says
// what came of each, and verifies no wrong bytes as right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "model/common/ring_links.h"
#include "model/fault/fault_kind.h"
#include "tests/integration/faults/faulted_run.h"

namespace spyre::test::random_faults_test {
namespace {

constexpr int kCores = 4;

class TableMaker {
 public:
  explicit TableMaker(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  std::string Table() {
    // All but flips in RTL.
    const model::FaultKindInfo& info = model::FaultKinds()[Below(model::FaultKinds().size() - 1)];
    std::string where, when;
    const auto add = [](std::string& to, const std::string& text) {
      to += (to.empty() ? "" : ", ") + text;
    };
    for (const std::string& key : info.where) {
      if (Below(3) != 0) continue;
      if (key == "link") {
        const auto links = model::RingLinkNames(kCores);
        add(where, fmt::format("link = \"{}\"", links[Below(links.size())]));
      } else {
        const uint64_t bound = key == "channel"    ? 16
                               : key == "bank"     ? 16
                               : key == "row"      ? 64
                               : key == "core"     ? kCores
                               : key == "function" ? 2
                               : key == "stream"   ? 2
                                                   : 50;
        add(where, fmt::format("{} = {}", key, Below(bound)));
      }
    }
    // A PF's run takes some 60 us.
    if (info.is_moment() || Below(2) == 0) add(when, fmt::format("time_us = {}", Below(80)));
    std::string table = fmt::format("kind = \"{}\"", info.name);
    if (!info.is_moment()) {
      if (Below(2) == 0) add(when, fmt::format("count = {}", 1 + Below(20)));
      if (Below(3) == 0)
        add(when, fmt::format("probability = 0.{}, seed = {}", 1 + Below(9), Below(1000)));
      table += fmt::format(", times = {}", 1 + Below(3));
    }
    if (info.lasts != nullptr && Below(2) == 0) table += fmt::format(", lasts_us = {}", Below(200));
    if (!where.empty()) table += ", where = { " + where + " }";
    if (!when.empty()) table += ", when = { " + when + " }";
    return "{ " + table + " }";
  }

 private:
  std::mt19937_64 random_;
};

std::vector<std::string> RandomRun(uint64_t seed) {
  TableMaker make(seed);
  std::string tables;
  for (uint64_t i = 1 + make.Below(4); i > 0; --i)
    tables += (tables.empty() ? "" : ", ") + make.Table();
  const auto pick = [&make](const char* a, const char* b) { return make.Below(2) == 0 ? a : b; };
  return {fmt::format("card.concurrency={}", pick("serial", "pipelined")),
          fmt::format("card.control.fidelity={}", pick("timed", "rtl")), "card.mode=pf",
          fmt::format("runtime.completion={}", pick("interrupt", "polled")),
          "fault=[" + tables + "]"};
}

TEST(RandomFaults, EndEveryRunAndNeverPassWrongBytesForRight) {
  const uint64_t count = std::getenv("SPYRE_FEW_SEEDS") != nullptr ? 10 : 60;
  std::vector<std::vector<std::string>> runs;
  for (uint64_t seed = 0; seed < count; ++seed) runs.push_back(RandomRun(seed));
  const std::vector<FaultedOutcome> outcomes = RunWithFaults(runs);
  int faulted = 0, right = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const FaultedOutcome& run = outcomes[i];
    SCOPED_TRACE(fmt::format("{} {} {}: {} {}", runs[i][0], runs[i][1], runs[i].back(),
                             run.faults.dump(), run.error));
    EXPECT_LE(run.sim_ms, 11'000);
    EXPECT_TRUE(run.status == 0 || run.status == 1 || run.status == 3) << run.status;
    ASSERT_GT(run.faults.size(), 0u);
    bool silent = false;
    for (const auto& fault : run.faults) silent = silent || fault.value("outcome", "") == "silent";
    if (run.status == 0) {
      EXPECT_TRUE(run.compared);
      EXPECT_EQ(run.mismatches, 0u);
      EXPECT_FALSE(silent);
    }
    if (run.status == 1) {
      EXPECT_TRUE(silent) << "only what nobody noticed makes results wrong";
    }
    faulted += run.status == 3;
    right += run.status == 0;
  }
  EXPECT_GT(faulted, 0);
  EXPECT_GT(right, 0);
}

}  // namespace
}  // namespace spyre::test::random_faults_test
