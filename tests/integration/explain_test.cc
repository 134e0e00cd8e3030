// What a run tells about its time, against the run itself: the critical path of every kernel.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "cosim/config.h"
#include "cosim/session.h"
#include "traces/critical_path.h"

namespace spyre::cosim {
namespace {

RunResult RunSets(const std::vector<std::string>& sets) {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  return RunSession(LoadConfig("", sets), ::testing::TempDir() + "explain_" + info->name(),
                    nullptr);
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

}  // namespace
}  // namespace spyre::cosim
