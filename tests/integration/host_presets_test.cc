// SPDX-License-Identifier: Apache-2.0
// The stages of the host around a launch (docs/host.md): what each adds, that none changes the time
// of a kernel, and the measured wall times of a Granite-8B block.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <ostream>

#include "base/json_text.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::host_presets_test {
namespace {

using cosim::RunResult;
using nlohmann::json;

// A block as it was measured: its kernels, and the wall time from the first launch to the result on
// the host. 15 launches take as long as its kernels, and have as large a result.
struct Block {
  const char* name;
  const char* preset;
  double kernels_ms, wall_ms;
  int rows, k;  // of a launch
};
void PrintTo(const Block& block, std::ostream* out) { *out << block.name; }

class HostPresets : public ::testing::TestWithParam<Block> {};

TEST_P(HostPresets, TheWallTimesOfAGraniteBlockAreNearTheMeasuredOnes) {
  const Block& block = GetParam();
  const RunResult result = cosim::RunSession(
      cosim::LoadConfig(
          "", {"workload.op=matmul", "workload.functional=false", "workload.verify=none",
               fmt::format("workload.m={}", 15 * block.rows), fmt::format("workload.k={}", block.k),
               "workload.n=1088", fmt::format("workload.tile.m={}", block.rows),
               "trace.enabled=false", fmt::format("host.preset={}", block.preset)}),
      OutDir());
  const cosim::HostConfig& host = result.config.host;
  double kernels_ms = 0;
  int launches = 0;
  for (const flex::CompletedOperation& launch : result.launches) {
    if (launch.opcode != Opcode::COMPUTE || launch.correction) continue;
    kernels_ms += static_cast<double>(launch.finished_ps - launch.started_ps) * 1e-9;
    ++launches;
  }
  EXPECT_EQ(launches, 15);
  EXPECT_NEAR(kernels_ms / block.kernels_ms, 1, 0.03) << "ms of kernels";
  // The result's conversion is the last that the session does.
  const double wall_ms = static_cast<double>(result.sim_ps - result.launch_begin_ps) * 1e-9 +
                         static_cast<double>(host.dispatch_ns + host.launch_ns) * 1e-6;
  EXPECT_NEAR(wall_ms / block.wall_ms, 1, 0.15) << wall_ms << " ms";
}

INSTANTIATE_TEST_SUITE_P(
    Granite, HostPresets,
    ::testing::Values(Block{"prefill", "plain", 12.48, 19.43, 128, 5680},
                      Block{"prefill_profiled", "profiled", 16.15, 27.87, 128, 7360},
                      Block{"decode_profiled", "profiled", 10.62, 14.88, 16, 29568}),
    [](const auto& test) { return test.param.name; });

// What tensor.cpu() took on a card as its profiler has it, with the copy of the correction (14 us).
struct CopyOut {
  int rows, cols;
  double measured_us;
};
void PrintTo(const CopyOut& copy, std::ostream* out) { *out << copy.rows << 'x' << copy.cols; }

class CopiesToTheHost : public ::testing::TestWithParam<CopyOut> {};

TEST_P(CopiesToTheHost, TakeAboutWhatWasMeasured) {
  const CopyOut& copy = GetParam();
  const RunResult result = cosim::RunSession(
      cosim::LoadConfig("", {"workload.op=neg", "workload.functional=false", "workload.verify=none",
                             fmt::format("workload.rows={}", copy.rows),
                             fmt::format("workload.cols={}", copy.cols), "trace.enabled=false",
                             "host.preset=plain", "host.convert_ns_per_kib=0",
                             "host.convert_bytes_per_ns=1000000"}),
      OutDir());
  const double us = static_cast<double>(result.sim_ps - result.launch_end_ps) * 1e-6;
  EXPECT_NEAR(us / (copy.measured_us - 14), 1, 0.25) << us << " us";
}

INSTANTIATE_TEST_SUITE_P(Sizes, CopiesToTheHost,
                         ::testing::Values(CopyOut{64, 2048, 138.1}, CopyOut{512, 2048, 419.7},
                                           CopyOut{4096, 1024, 842.8}, CopyOut{4096, 4096, 8593.7},
                                           CopyOut{2048, 16384, 29634.6}));

class HostStages : public ProgramFixture {
 protected:
  json Report(const std::string& sets) {
    const Outcome outcome = Call("run add.toml --out out " + sets);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return SortedJsonOf(Read("out/report.json"));
  }
};

TEST_F(HostStages, MakeALaunchLaterAndItsKernelNoLonger) {
  Write("add.toml",
        "[workload]\nop = \"add\"\nrows = 256\ncols = 512\nfunctional = false\n"
        "verify = \"none\"\n");
  const json bare = Report(""), profiled = Report("--set host.preset=profiled");
  const double kernel_ns = bare["kernels"][0]["device_ns"];
  EXPECT_NEAR(profiled["kernels"][0]["device_ns"].get<double>() / kernel_ns, 1, 0.02)
      << "only where refreshes of the memory fall is another";
  EXPECT_GT(profiled["window_ns"].get<double>(), bare["window_ns"].get<double>() + 873'000);
  EXPECT_EQ(profiled["config"]["host"]["dispatch_ns"], 873'672 - 1'086);
}

}  // namespace
}  // namespace spyre::test::host_presets_test
