// SPDX-License-Identifier: Apache-2.0
// card.fidelity = "fast" beside "timed": how far the times are apart, and that everything that is
// no time is the same.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/integration/program_fixture.h"

namespace spyre::test::fast_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class FastTest : public ProgramFixture {
 protected:
  json Run(const std::string& workload, const std::string& fidelity,
           const std::string& more = "") const {
    return Report(workload,
                  "[trace]\nenabled = false\n[card]\nfidelity = \"" + fidelity + "\"\n" + more);
  }
};

constexpr const char* kTimesOnly = "functional = false\n";

TEST_F(FastTest, WorkIsThatOfTheWholeLaunchAndItsTimeIsNear) {
  const std::vector<std::string> workloads = {
      "op = \"mul\"\nrows = 2048\ncols = 16384\n",
      "op = \"matmul\"\nm = 4096\nk = 2048\nn = 1024\nsplit = { m = 2, n = 4 }\ncores = 8\n",
  };
  for (const std::string& workload : workloads) {
    const json timed = Run(kTimesOnly + workload, "timed");
    const json fast = Run(kTimesOnly + workload, "fast");
    ASSERT_EQ(fast["fast"]["in_part"]["launches"], 1) << workload;
    EXPECT_LT(fast["fast"]["in_part"]["simulated_ns"].get<double>(),
              0.8 * fast["fast"]["in_part"]["device_ns"].get<double>())
        << workload;
    EXPECT_EQ(fast["device_memory"], timed["device_memory"]) << workload;
    EXPECT_EQ(fast["kernels"][0]["macs"], timed["kernels"][0]["macs"]) << workload;
    const double ratio = fast["kernels"][0]["device_ns"].get<double>() /
                         timed["kernels"][0]["device_ns"].get<double>();
    EXPECT_NEAR(ratio, 1, 0.05) << workload;
  }
}

TEST_F(FastTest, TilesOfOneProgramRepeat) {
  const std::string tiled = "op = \"matmul\"\nm = 4096\nk = 512\nn = 512\ntile = { m = 128 }\n";
  const json timed = Run(kTimesOnly + tiled, "timed");
  const json fast = Run(kTimesOnly + tiled, "fast", "[card.fast]\nsamples = 3\n");
  EXPECT_EQ(fast["fast"]["simulated"]["launches"], 3);
  EXPECT_EQ(fast["fast"]["repeated"]["launches"], 4096 / 128 - 3);
  EXPECT_EQ(fast["device_memory"], timed["device_memory"]);
  for (size_t i = 0; i < timed["units"].size(); ++i) {
    const json& unit = timed["units"][i];
    const double bytes = unit["bytes"];
    EXPECT_NEAR(fast["units"][i]["bytes"].get<double>(), bytes, 0.01 * bytes) << unit["name"];
  }
  const double ratio = fast["launch_ns"].get<double>() / timed["launch_ns"].get<double>();
  EXPECT_NEAR(ratio, 1, 0.02);
}

TEST_F(FastTest, WithDataNothingIsLeftOut) {
  const std::string tiled = "op = \"matmul\"\nm = 256\nk = 256\nn = 128\ntile = { m = 64 }\n";
  const json timed = Run(tiled, "timed");
  const json fast = Run(tiled, "fast");
  EXPECT_EQ(fast["kernels"], timed["kernels"]);
  EXPECT_EQ(fast["verified"], timed["verified"]);
  EXPECT_EQ(fast["fast"]["repeated"]["launches"], 0);
}

TEST_F(FastTest, TheSummarySaysWhatWasNotSimulatedAndCompareGivesBothTimes) {
  Write("run.toml",
        "[workload]\nfunctional = false\nop = \"matmul\"\nm = 4096\nk = 512\nn = 512\n"
        "tile = { m = 128 }\n[card]\nfidelity = \"fast\"\n[output]\ncompare = \"timed\"\n");
  const Outcome outcome = Call("run run.toml");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(": fast)"));
  EXPECT_THAT(outcome.out, HasSubstr("30 repeated"));
  EXPECT_THAT(outcome.out, HasSubstr("against the timed model"));
}

TEST_F(FastTest, PipelinedHardwareIsRefused) {
  Write("run.toml",
        "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n[card]\nfidelity = \"fast\"\n"
        "concurrency = \"pipelined\"\n");
  const Outcome outcome = Call("run run.toml");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("card.concurrency"));
}

TEST_F(FastTest, CalibrationShowsItsErrorBesideTheTimedOne) {
  Write("points.json",
        R"({"points": [{"op": "add", "rows": 4096, "cols": 4096, "predicted_us": 400},)"
        R"({"op": "neg", "rows": 64, "cols": 64, "predicted_us": 1}]})");
  const Outcome outcome = Call("calibrate points.json --json --set card.fidelity=fast");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  const Outcome timed = Call("calibrate points.json --json");
  const json reference = json::parse(timed.out);
  EXPECT_FALSE(reference.contains("fast"));
  double squares = 0;
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(result["points"][i]["timed_us"], reference["points"][i]["simulated_us"]);
    const double error = result["points"][i]["simulated_us"].get<double>() /
                             reference["points"][i]["simulated_us"].get<double>() -
                         1;
    EXPECT_NEAR(result["points"][i]["fast_error"], error, 1e-12);
    squares += error * error;
  }
  EXPECT_NEAR(result["fast"]["rms_error"], std::sqrt(squares / 2), 1e-12);
  // Too short to be stopped.
  EXPECT_EQ(result["points"][1]["fast_error"], 0);
}

}  // namespace
}  // namespace spyre::test::fast_test
