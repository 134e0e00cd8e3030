// SPDX-License-Identifier: Apache-2.0
// What a run tells about its time, against the run itself: roofline, balance and lost time of the
// report, and the critical path of every kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/report/report.h"
#include "cosim/session/session.h"
#include "traces/critical_path.h"

namespace spyre::cosim::explain_test {
namespace {

RunResult RunSets(const std::vector<std::string>& sets) {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return RunSession(LoadConfig("", sets), ::testing::TempDir() + "explain_" + info->name());
}

// Two tiles, K over four cores: loads, PT, partial sums by ring, vector units and stores depend on
// each other.
const std::vector<std::string> kSplitMatmul = {
    "workload.m=128",     "workload.k=1024",    "workload.n=128",       "workload.split.k=4",
    "workload.split.m=2", "workload.tile.m=64", "workload.verify=none", "trace.capacity=2000000"};

TEST(Explain, CriticalPathOfEveryKernelSumsToItsDeviceTimeAndNothingIsMissing) {
  const RunResult result = RunSets(kSplitMatmul);
  const trace::Trace trace = trace::ReadTrace(result.trace_path);
  ASSERT_EQ(trace.dropped, 0u);
  std::set<std::string> seen;
  size_t kernels = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (operation.opcode != Opcode::COMPUTE) continue;
    const trace::KernelRun kernel = trace::FindKernel(trace, std::to_string(kernels)).value();
    EXPECT_EQ(kernel.name, "COMPUTE " + operation.name);
    const trace::CriticalPath path = trace::FollowCriticalPath(trace, kernel);
    const uint64_t sum =
        std::accumulate(path.shares.begin(), path.shares.end(), uint64_t{0},
                        [](uint64_t total, const auto& share) { return total + share.time_ps; });
    EXPECT_EQ(sum, operation.finished_ps - operation.started_ps) << "kernel " << kernels;
    for (const trace::PathShare& share : path.shares) {
      EXPECT_NE(share.kind, "not recorded") << share.time_ps << " ps of kernel " << kernels;
      EXPECT_NE(share.kind, "token wait") << share.time_ps << " ps of kernel " << kernels;
      seen.insert(share.kind);
    }
    ++kernels;
  }
  EXPECT_EQ(kernels, 4u) << "two tiles, each with its correction";
  for (const char* kind : {"load", "store", "pt", "ring", "vector", "token hand-over", "launch"}) {
    EXPECT_EQ(seen.count(kind), 1u) << "no kernel depended on " << kind;
  }
}

TEST(Explain, EveryKernelHasItsRooflineBalanceAndLostTime) {
  const RunResult result = RunSets(kSplitMatmul);
  const auto report = SortedJsonOf(ReportJson(result));
  ASSERT_EQ(report["kernels"].size(), 2u);
  for (const auto& kernel : report["kernels"]) {
    const double seconds = kernel["device_ns"].get<double>() / 1e9;
    const auto& roofline = kernel["roofline"];
    EXPECT_NEAR(roofline["macs_per_s"].get<double>() * seconds, 64 * 1024 * 128, 1);
    EXPECT_NEAR(roofline["share_of_peak"]["compute"].get<double>(),
                roofline["macs_per_s"].get<double>() / (8 * 1024 * 1.114e9), 1e-9)
        << "the division uses 8 cores";
    const auto& bytes = kernel["balance"]["memory_channels"];
    EXPECT_EQ(bytes["units"], 16);
    EXPECT_GE(bytes["mean_bytes"].get<double>() * 16, kernel["device_bytes_read"].get<double>())
        << "channels move at least what the kernel reads";
    EXPECT_EQ(kernel["balance"]["pt"]["units"], 8);
    EXPECT_GE(kernel["balance"]["pt"]["imbalance"].get<double>(), 1);
    for (const auto& [cause, lost] : kernel["lost_time"].items()) {
      EXPECT_LE(lost["share"].get<double>(), 1) << cause << ": no unit lost more than its time";
    }
    const auto& loads = kernel["loads"];
    double shares = 0;
    for (const char* part : {"memory", "ring", "partners", "lx"}) {
      EXPECT_GE(loads[part].get<double>(), 0) << part;
      shares += loads[part].get<double>();
    }
    EXPECT_NEAR(shares, 1, 1e-9);
    EXPECT_GE(loads["burst_ns"].get<double>(),
              8 * kernel["balance"]["load"]["mean_busy_ns"].get<double>() * 0.99)
        << "a unit is busy while a burst is under way, and bursts overlap";
    EXPECT_GT(kernel["lost_time"]["token_wait_pt"]["ns"].get<double>(), 0);
    EXPECT_GT(kernel["lost_time"]["launch"]["ns"].get<double>(), 0);
    EXPECT_EQ(kernel["lost_time"]["dispatch"]["ns"], 200);
    EXPECT_GT(kernel["lost_time"]["fill_drain"]["ns"].get<double>(), 0);
  }
}

TEST(Explain, WhatTheLaunchesLostIsTheSumOfWhatEachLost) {
  const RunResult result = RunSets(kSplitMatmul);
  uint64_t of_each = 0, of_all = 0;
  for (const auto& [correlation, kernel] : result.kernel_usages) {
    for (const LostTime& lost : kernel.usage.lost) {
      if (lost.cause == "token_wait_pt") of_each += lost.ps;
    }
  }
  for (const model::UnitStatistics& unit : result.launch_units) {
    const bool is_pt = unit.name.size() > 3 && unit.name.substr(unit.name.size() - 3) == ".pt";
    if (is_pt) of_all += unit.lost(model::Loss::kTokenWait);
  }
  EXPECT_GT(of_all, 0u);
  EXPECT_EQ(of_each, of_all);
}

TEST(Explain, SummaryHasALineForEachOfThem) {
  const std::string text = ReportSummary(RunSets(kSplitMatmul), "spyre-cosim");
  for (const char* part :
       {"window ", "launches: critical path: ", "run: critical path: ", "MAC/byte (ridge 44.6)",
        "cores, busy least / mean / most", "memory channels, least / mean / most",
        "time lost, share of the units' time: ", "matmul 1"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace spyre::cosim::explain_test
