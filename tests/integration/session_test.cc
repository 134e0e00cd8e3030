// SPDX-License-Identifier: Apache-2.0
// Whole runs in this process: every operation, both modes, the shapes of the RFC's example and its
// edges, each verified bit for bit against the independent reference.
#include "cosim/session/session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>

#include "cosim/config/config.h"
#include "tests/integration/out_dir.h"
#include "tests/paths.h"

namespace spyre::cosim::session_test {
namespace {

struct Case {
  std::string name;
  std::vector<std::string> sets;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

RunResult RunSets(const std::vector<std::string>& sets) {
  return RunSession(LoadConfig("", sets), test::OutDir());
}

void ExpectRight(const RunResult& result) {
  ASSERT_TRUE(result.verification.has_value());
  EXPECT_GT(result.verification->elements, 0);
  EXPECT_EQ(result.verification->mismatches, 0) << "of " << result.verification->elements;
  EXPECT_EQ(result.launch_counts.queued, result.launch_counts.completed);
  EXPECT_EQ(result.launch_counts.failed + result.launch_counts.not_executed, 0u);
  EXPECT_GT(result.launch_end_ps, result.launch_begin_ps);
  EXPECT_TRUE(std::filesystem::exists(result.tensor_paths.at("out")));
  EXPECT_TRUE(std::filesystem::exists(result.trace_path));
}

class Operations : public ::testing::TestWithParam<Case> {};
TEST_P(Operations, AreBitExact) { ExpectRight(RunSets(GetParam().sets)); }

std::vector<Case> OperationCases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& op, const std::string& suffix,
                       std::vector<std::string> sets) {
    sets.push_back("workload.op=" + op);
    cases.push_back({op + suffix, std::move(sets)});
  };
  for (const char* op : {"copy", "neg", "abs", "relu", "exp", "gelu", "sigmoid", "tanh", "sqrt",
                         "rsqrt", "reciprocal", "add", "sub", "mul", "div", "max", "min"}) {
    add(op, "", {"workload.rows=37", "workload.cols=200", "workload.distribution=normal"});
  }
  for (const char* op : {"sum", "amax", "amin", "mean"}) {
    add(op, "_cols", {"workload.rows=33", "workload.cols=330"});
    add(op, "_rows", {"workload.rows=330", "workload.cols=130", "workload.axis=rows"});
    add(op, "_cols_over_cores",
        {"workload.rows=16", "workload.cols=2048", "workload.split.cols=8"});
    add(op, "_rows_over_cores",
        {"workload.rows=640", "workload.cols=64", "workload.axis=rows", "workload.split.rows=10"});
  }
  add("sum", "_to_a_scalar", {"workload.cols=1000"});
  add("softmax", "", {"workload.rows=40", "workload.cols=1000"});
  add("softmax", "_batch", {"workload.batch=2", "workload.rows=3", "workload.cols=33"});
  add("add", "_batch", {"workload.batch=3", "workload.rows=5", "workload.cols=100"});
  add("batchmatmul", "", {"workload.batch=4", "workload.m=20", "workload.k=128", "workload.n=70"});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Session, Operations, ::testing::ValuesIn(OperationCases()),
                         [](const auto& test) { return test.param.name; });

class Matmuls : public ::testing::TestWithParam<Case> {};
TEST_P(Matmuls, AreBitExact) { ExpectRight(RunSets(GetParam().sets)); }

std::vector<std::string> Matmul(int m, int k, int n, std::vector<std::string> more = {}) {
  more.push_back("workload.m=" + std::to_string(m));
  more.push_back("workload.k=" + std::to_string(k));
  more.push_back("workload.n=" + std::to_string(n));
  return more;
}

INSTANTIATE_TEST_SUITE_P(
    Session, Matmuls,
    ::testing::Values(
        Case{"one_row", Matmul(1, 64, 64)}, Case{"one_element", Matmul(1, 1, 1)},
        Case{"one_row_physical", Matmul(1, 64, 64, {"card.mode=pf"})},
        Case{"ragged", Matmul(7, 100, 33)}, Case{"deep", Matmul(64, 4096, 64)},
        Case{"wide", Matmul(32, 256, 12800)},
        Case{"split_k_in_core_order", Matmul(64, 2048, 128, {"workload.split.k=4"})},
        Case{"split_k_ragged", Matmul(64, 1000, 128, {"workload.split.k=8"})},
        Case{"forced_split", Matmul(256, 128, 512, {"workload.split.m=4", "workload.split.n=8"})},
        Case{"sticks_do_not_divide",
             Matmul(768, 64, 768, {"workload.split.m=4", "workload.split.n=8"})},
        Case{"fewer_sticks_than_slices",
             Matmul(66, 512, 256, {"workload.split.m=4", "workload.split.n=8"})},
        Case{"split_k_uneven", Matmul(64, 1000, 128, {"workload.split.k=6", "workload.split.m=5"})},
        Case{"eight_cores", Matmul(512, 256, 512, {"card.cores=8"})},
        Case{"one_core", Matmul(64, 128, 128, {"card.cores=1"})},
        Case{"four_thousand_rows", Matmul(4000, 128, 128, {"workload.tile.m=1000"})},
        Case{"tiled_in_two_dimensions",
             Matmul(256, 128, 512, {"workload.tile.m=64", "workload.tile.n=128"})},
        Case{"polled", Matmul(64, 64, 64, {"runtime.completion=polled"})},
        Case{"functional_fidelity", Matmul(64, 128, 128, {"card.fidelity=functional"})},
        Case{"pipelined",
             Matmul(256, 64, 64, {"card.concurrency=pipelined", "workload.tile.m=64"})},
        Case{"small_ring", Matmul(512, 64, 64, {"runtime.ring_entries=4", "workload.tile.m=64"})}),
    [](const auto& test) { return test.param.name; });

// The RFC's running example at its real size, in both modes.
void ExpectTwelveOperationsInOrder(const RunResult& result) {
  ExpectRight(result);
  EXPECT_EQ(result.verification->elements, 4096 * 1024);
  EXPECT_EQ(result.launch_counts.queued, 12u);
  ASSERT_EQ(result.launches.size(), 12u);
  for (size_t i = 0; i < 12; ++i) {
    const flex::CompletedOperation& operation = result.launches[i];
    EXPECT_EQ(operation.opcode, i % 3 == 0 ? Opcode::DMA_IN : Opcode::COMPUTE) << i;
    EXPECT_EQ(result.IsKernel(operation), i % 3 == 2) << operation.name;
    if (i > 0) {
      EXPECT_GE(operation.started_ps, result.launches[i - 1].finished_ps)
          << "operation " << i << " began before the one in front of it was done";
    }
  }
  EXPECT_EQ(result.launches[2].macs, 1024ull * 1024 * 1024);
}
TEST(Session, TiledMatmulOfTheRfcInVirtualFunctionMode) {
  ExpectTwelveOperationsInOrder(
      RunSession(LoadConfig(SPYRE_SOURCE_DIR "/configs/tiled_matmul.toml"), test::OutDir()));
}
TEST(Session, TiledMatmulOfTheRfcInPhysicalMode) {
  ExpectTwelveOperationsInOrder(
      RunSession(LoadConfig(SPYRE_SOURCE_DIR "/configs/tiled_matmul_pf.toml"), test::OutDir()));
}

TEST(Session, TimingOnlyRunTouchesNoHostData) {
  const RunResult result = RunSets(Matmul(512, 256, 256, {"workload.functional=false"}));
  EXPECT_FALSE(result.verification.has_value());
  EXPECT_TRUE(result.tensor_paths.empty());
  EXPECT_EQ(result.launches.back().macs, 512ull * 256 * 256);
}

// A launch of three entries, when the host's work costs nothing but what the parameter says.
struct HostCase {
  const char *name, *cost;
  uint64_t busy_ps;
  bool waits = true;
};
void PrintTo(const HostCase& test, std::ostream* out) { *out << test.name; }
class HostTimes : public ::testing::TestWithParam<HostCase> {};

TEST_P(HostTimes, BusyIsWhatTheHostIsChargedAndTheRestIsWaiting) {
  std::vector<std::string> sets{"workload.op=add", "workload.rows=64", "workload.cols=64",
                                "workload.functional=false"};
  for (const char* cost : {"register_write_ns", "register_read_ns", "interrupt_ns", "submit_ns",
                           "completion_ns", "map_ns"}) {
    sets.push_back(std::string("host.") + cost + "=0");
  }
  sets.emplace_back(GetParam().cost);
  const RunResult result = RunSets(sets);
  ASSERT_EQ(result.launch_counts.queued, 3u);
  const HostTime& host = result.launch_host;
  const uint64_t launch_ps = result.launch_end_ps - result.launch_begin_ps;
  if (GetParam().waits) {
    EXPECT_EQ(host.busy_ps, GetParam().busy_ps) << "ps";
    EXPECT_GE(host.busy_ps + host.waited_ps, launch_ps) << "ps";
    EXPECT_LT(host.waited_ps, launch_ps + 1'000'000) << "ps; and the way of the last interrupt";
  } else {
    EXPECT_EQ(host.waited_ps, 0u) << "polling is work";
    EXPECT_GE(host.busy_ps, launch_ps);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Costs, HostTimes,
    ::testing::Values(HostCase{"nothing", "host.submit_ns=0", 0},
                      HostCase{"entries", "host.submit_ns=700", 3 * 700'000},
                      HostCase{"responses", "host.completion_ns=500", 3 * 500'000},
                      HostCase{"polling", "runtime.completion=polled", 0, false}),
    [](const auto& test) { return test.param.name; });

TEST(Session, ReportsEveryPhaseToTheListener) {
  class Listener : public ProgressListener {
   public:
    void Update(const char* phase, uint64_t done, uint64_t total) override {
      EXPECT_LE(done, total) << phase;
      if (std::string(phase) == "launch") last_launch = done;
    }
    uint64_t last_launch = 0;
  } listener;
  RunSession(LoadConfig("", Matmul(256, 64, 64, {"workload.tile.m=64"})), test::OutDir(),
             {&listener});
  EXPECT_EQ(listener.last_launch, 12u);
}

}  // namespace
}  // namespace spyre::cosim::session_test
