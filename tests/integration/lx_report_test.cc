// SPDX-License-Identifier: Apache-2.0
// What a run says of its tiles and of what its kernels keep in LX, in its report and in its trace.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::lx_report_test {
namespace {

using nlohmann::json;

constexpr const char* kSoftmax =
    "[workload]\n"
    "dims = { R = 128, C = 256 }\n"
    "tensors = [{ name = \"x\", dims = [\"R\", \"C\"] }]\n"
    "ops = [{ op = \"softmax\", inputs = [\"x\"], output = \"p\", dim = \"C\" }]\n"
    "functional = false\n";

class LxReport : public ProgramFixture {
 protected:
  json Report(const std::string& config) const {
    Write("run.toml", config);
    const Outcome outcome = Call("run run.toml --json");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return SortedJsonOf(outcome.out);
  }
  json Lx(const json& report) const {
    const Outcome outcome = Call("trace lx --json " + report["trace"]["path"].get<std::string>());
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return SortedJsonOf(outcome.out);
  }
};

// Sticks of 128 bytes that core 0 holds in a step.
std::set<uint64_t> Sticks(const json& buffers, size_t step) {
  std::set<uint64_t> sticks;
  for (const json& buffer : buffers) {
    if ((buffer["core_mask"].get<uint32_t>() & 1) == 0) continue;
    if (step < buffer["first_step"] || step > buffer["last_step"]) continue;
    const uint64_t first = buffer["address"], bytes = buffer["bytes"];
    for (uint64_t at = first; at < first + bytes; at += 128) sticks.insert(at / 128);
  }
  return sticks;
}

TEST_F(LxReport, AListHoldsInEachStepWhatItsBuffersSay) {
  const json report = Report(kSoftmax);
  ASSERT_EQ(report["lx"].size(), 1u);
  const json lx = report["lx"][0];
  const uint64_t used = report["division"]["lx_bytes_used"];
  uint64_t end = 0;
  for (const json& buffer : lx["buffers"])
    end = std::max(end, buffer["address"].get<uint64_t>() + buffer["bytes"].get<uint64_t>());
  EXPECT_EQ(end, used);
  const json trace = Lx(report);
  ASSERT_EQ(trace["moments"].size(), lx["steps"].size()) << "no step runs twice";
  double before = 0;
  uint64_t peak = 0;
  for (size_t step = 0; step < lx["steps"].size(); ++step) {
    const json& moment = trace["moments"][step];
    EXPECT_EQ(moment["step"], lx["steps"][step]);
    EXPECT_EQ(moment["program"], lx["kernel"]);
    const uint64_t held = Sticks(lx["buffers"], step).size() * 128;
    EXPECT_EQ(moment["bytes"], held) << moment["step"];
    EXPECT_GE(moment["start_ns"], before);
    before = moment["end_ns"];
    peak = std::max(peak, held);
  }
  EXPECT_EQ(trace["peak_bytes"], peak);
  EXPECT_LE(peak, used);
  EXPECT_EQ(trace["core_bytes"], report["config"]["card"]["core"]["lx_bytes"]);
}

TEST_F(LxReport, ATiledLaunchNamesItsTilesAndHoldsTheSameInEach) {
  const json report = Report(
      "[workload]\nop = \"add\"\nrows = 96\ncols = 64\ntile = { rows = 32 }\n"
      "functional = false\n");
  std::vector<std::string> labels;
  for (const json& kernel : report["kernels"]) labels.push_back(kernel["label"]);
  EXPECT_THAT(labels, ::testing::ElementsAre("tile 0 of 3, rows=0..31", "tile 1 of 3, rows=32..63",
                                             "tile 2 of 3, rows=64..95"));
  const json trace = Lx(report);
  ASSERT_EQ(trace["moments"].size(), 3u);
  for (const json& moment : trace["moments"])
    EXPECT_EQ(moment["bytes"], report["division"]["lx_bytes_used"]);
}

}  // namespace
}  // namespace spyre::test::lx_report_test
