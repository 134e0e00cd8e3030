// SPDX-License-Identifier: Apache-2.0
// card.fidelity = "fast": with times only a closed form, with data the timed card.
#include <gmock/gmock.h>

#include <cmath>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

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

TEST_F(FastTest, TimesOnlyAreThoseOfTheClosedFormAndTheWorkIsThatOfTheCard) {
  const std::vector<std::string> workloads = {
      "op = \"mul\"\nrows = 2048\ncols = 1024\n",
      "op = \"matmul\"\nm = 1024\nk = 512\nn = 512\nsplit = { m = 2, n = 4 }\ncores = 8\n",
  };
  for (const std::string& workload : workloads) {
    const json timed = Run(kTimesOnly + workload, "timed");
    const json fast = Run(kTimesOnly + workload, "fast");
    EXPECT_EQ(fast["fast"]["closed_form"], true) << workload;
    EXPECT_FALSE(fast.contains("units")) << "there was no card";
    EXPECT_EQ(fast["kernels"][0]["macs"], timed["kernels"][0]["macs"]) << workload;
    EXPECT_EQ(fast["fast"]["kernels"][0]["device_ns"], fast["kernels"][0]["device_ns"]);
    const double ratio = fast["kernels"][0]["device_ns"].get<double>() /
                         timed["kernels"][0]["device_ns"].get<double>();
    EXPECT_GT(ratio, 0.5) << workload;
    EXPECT_LT(ratio, 2) << workload;
  }
}

TEST_F(FastTest, TilesRunOneAfterTheOtherAndTheLastMayBeShorter) {
  const std::string tiled =
      "op = \"neg\"\nrows = 1000\ncols = 512\ntile = { rows = 256 }\n"
      "launch = { remainder = \"remainder_kernel\" }\n";
  const json fast = Run(kTimesOnly + tiled, "fast");
  const json& kernels = fast["kernels"];
  ASSERT_EQ(kernels.size(), 4u);
  double sum = 0;
  for (const json& kernel : kernels) sum += kernel["device_ns"].get<double>();
  EXPECT_NEAR(fast["launch_ns"].get<double>(), sum, 1);
  EXPECT_LT(kernels[3]["device_ns"].get<double>(), kernels[2]["device_ns"].get<double>());
}

TEST_F(FastTest, AParameterOfTheFormulaMovesTheTimes) {
  const std::string neg = "op = \"neg\"\nrows = 4096\ncols = 1024\n";
  const double usual = Run(kTimesOnly + neg, "fast")["launch_ns"];
  const double slow =
      Run(kTimesOnly + neg, "fast", "[card.fast]\nwrite_mb_per_s = 82000\n")["launch_ns"];
  EXPECT_GT(slow, 1.2 * usual);
}

TEST_F(FastTest, WhatHasNoClosedFormIsRefusedWithTheWayToTheTimedCard) {
  const std::vector<std::string> configurations = {
      "[workload]\nfunctional = false\nop = \"attention\"\n[workload.attention]\nheads = 2\n"
      "kv_heads = 2\nhead_dim = 64\nsequence = 64\n",
      "[workload]\nfunctional = false\nop = \"neg\"\nrows = 64\ncols = 64\n"
      "[trace]\nenabled = true\n",
  };
  for (const std::string& configuration : configurations) {
    Write("run.toml", configuration);
    const Outcome outcome = Call("run run.toml --set card.fidelity=fast");
    EXPECT_EQ(outcome.status, 2) << configuration << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("card.fidelity = \"timed\"")) << configuration;
  }
}

TEST_F(FastTest, BundlesListsAndModelsHaveAClosedForm) {
  for (const char* config : {"softmax_chain", "swiglu", "granite_8b_decode"}) {
    const Outcome outcome = Call("run " SPYRE_SOURCE_DIR "/configs/" + std::string(config) +
                                 ".toml --set card.fidelity=fast --set workload.functional=false");
    EXPECT_EQ(outcome.status, 0) << config << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("closed form")) << config;
  }
}

TEST_F(FastTest, WithDataNothingIsLeftOut) {
  const std::string tiled = "op = \"matmul\"\nm = 256\nk = 256\nn = 128\ntile = { m = 64 }\n";
  const json timed = Run(tiled, "timed");
  const json fast = Run(tiled, "fast");
  EXPECT_EQ(fast["kernels"], timed["kernels"]);
  EXPECT_EQ(fast["verified"], timed["verified"]);
  EXPECT_EQ(fast["fast"]["repeated"]["launches"], 0);
}

TEST_F(FastTest, TheSummarySaysThatNothingWasSimulatedAndCompareGivesBothTimes) {
  Write("run.toml",
        "[workload]\nfunctional = false\nop = \"matmul\"\nm = 512\nk = 512\nn = 512\n"
        "[card]\nfidelity = \"fast\"\n[output]\ncompare = \"timed\"\n");
  const Outcome outcome = Call("run run.toml");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("closed form"));
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
  const Outcome outcome = Call("calibrate points.json --json --both --set card.fidelity=fast");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = SortedJsonOf(outcome.out);
  const Outcome timed = Call("calibrate points.json --json");
  const json reference = SortedJsonOf(timed.out);
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
}

}  // namespace
}  // namespace spyre::test::fast_test
