// SPDX-License-Identifier: Apache-2.0
// The energy of runs, by hand from shapes and times; that kernels and the rest are the whole,
// however kernels overlap; and that it is the energy that the card's sensors show.
#include <gmock/gmock.h>

#include "base/json_text.h"
#include "cosim/report/report_energy.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::energy_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr double kUjPerPj = 1e-6;

class EnergyTest : public ProgramFixture {
 protected:
  static double Number(const json& value) { return value.get<double>(); }

  json RunConfig(const std::string& config, const std::string& options) const {
    const Outcome outcome = Call("run '" SPYRE_SOURCE_DIR "/configs/" + config +
                                 "' --out out --set trace.enabled=false --json " + options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : json();
  }

  // The kernels of the report, with what is outside them, are its whole energy, part by part; and
  // what is outside is never less than nothing.
  static void ExpectWhole(const json& report) {
    const json energy = report["energy"];
    const json whole = energy["parts_uj"], rest = energy["outside_kernels"]["parts_uj"];
    const json kernels = energy["kernels"];
    ASSERT_FALSE(kernels.empty());
    double total = 0;
    for (const auto& [part, value] : whole.items()) {
      total += Number(value);
      double sum = Number(rest[part]);
      EXPECT_GE(sum, 0) << part;
      EXPECT_LE(sum, Number(value) * (1 + 1e-9)) << part;
      for (const json& kernel : kernels) sum += kernel["parts_uj"].value(part, 0.0);
      EXPECT_NEAR(sum, Number(value), 1e-9 * Number(value)) << part;
    }
    EXPECT_NEAR(total, Number(energy["total_uj"]), 1e-9 * total);
    EXPECT_NEAR(Number(energy["power_w"]) * Number(report["launch_ns"]) * 1e-3, total,
                1e-9 * total);
  }
};

// 256 x 1024 numbers of two bytes, two inputs and a result. Each passes the port of LX when it is
// loaded or stored and when the vector unit reads or writes it.
TEST_F(EnergyTest, OfAnAddIsThatOfItsBytesAndItsTime) {
  const json report = Report("op = \"add\"\nrows = 256\ncols = 1024\n");
  const json energy = report["energy"], parts = energy["parts_uj"];
  constexpr double kTensor = 256 * 1024 * 2;
  EXPECT_NEAR(Number(energy["kernels"].back()["parts_uj"]["vector"]), 3 * kTensor * 0.6 * kUjPerPj,
              1e-9);
  EXPECT_NEAR(Number(parts["idle"]), 19e-3 * Number(report["launch_ns"]), 1e-6);
  EXPECT_EQ(parts["macs"], 0.0);
  EXPECT_TRUE(energy["pj_per_mac"].is_null());
  // Beside its tensors a kernel reads its program, which is not larger than 64 KiB.
  const json& kernel = report["kernels"][0];
  const double program = Number(kernel["device_bytes_read"]) - 2 * kTensor;
  EXPECT_GT(program, 0);
  EXPECT_LT(program, 65536);
  EXPECT_NEAR(Number(energy["kernels"].back()["parts_uj"]["memory"]),
              (3 * kTensor + program) * 40 * kUjPerPj, 1e-9);
  EXPECT_EQ(energy["kernels"].back()["number"], kernel["number"]);
  EXPECT_NEAR(Number(energy["kernels"].back()["parts_uj"]["busy"]),
              7e-3 * Number(kernel["device_ns"]), 0.01 * Number(parts["busy"]));
  EXPECT_GE(Number(energy["counted"]["lx_bytes"]), 6 * kTensor);
  ExpectWhole(report);
}

TEST_F(EnergyTest, OfAMatmulCountsItsMacs) {
  const std::string workload = "op = \"matmul\"\nm = 256\nk = 512\nn = 128\n";
  const json report = Report(workload + "tokens = 256\n");
  const json energy = report["energy"];
  constexpr double kMacs = 256.0 * 512 * 128;
  EXPECT_EQ(energy["macs"], kMacs);
  EXPECT_NEAR(Number(energy["parts_uj"]["macs"]), kMacs * 0.8 * kUjPerPj, 1e-9);
  EXPECT_NEAR(Number(energy["pj_per_mac"]), Number(energy["total_uj"]) * 1e6 / kMacs, 1e-6);
  EXPECT_NEAR(Number(energy["uj_per_token"]), Number(energy["total_uj"]) / 256, 1e-9);
  ExpectWhole(report);
  // Without data the times are the same, and so is all that is counted.
  EXPECT_EQ(Report(workload + "tokens = 256\nfunctional = false\n")["energy"], energy);
}

TEST_F(EnergyTest, KernelsThatRunAtOnceShareWhatTheyShare) {
  // Two chains side by side, corrections beside kernels, tenants of one card.
  const json chains = RunConfig("open_questions/side_by_side.toml",
                                "--set card.concurrency=concurrent --set card.partitions=2 "
                                "--set workload.functional=false");
  ExpectWhole(chains);
  double busy_uj = 0, alone_uj = 0;  // as divided, and as if no other ran
  for (const json& kernel : chains["energy"]["kernels"])
    busy_uj += Number(kernel["parts_uj"]["busy"]);
  for (const json& kernel : chains["kernels"]) alone_uj += 7e-3 * Number(kernel["device_ns"]);
  EXPECT_LT(busy_uj, 0.8 * alone_uj) << "they do run at once";
  ExpectWhole(RunConfig("tiled_matmul.toml",
                        "--set card.concurrency=pipelined --set workload.functional=false"));
  ExpectWhole(
      RunConfig("tenants.toml", "--set workload.functional=false --set tenants.alone=false"));
}

TEST_F(EnergyTest, OfAProgramOfManyStepsIsTheSumOfThem) {
  const json report = RunConfig("softmax_chain.toml", "--set workload.functional=false");
  ExpectWhole(report);
  for (const json& kernel : report["energy"]["kernels"]) {
    if (!kernel.contains("steps")) continue;
    double steps = 0;
    for (const json& step : kernel["steps"]) steps += Number(step["total_uj"]);
    EXPECT_LE(steps, Number(kernel["total_uj"]) * (1 + 1e-9));
    EXPECT_GT(steps, 0.8 * Number(kernel["total_uj"])) << "the rest is before the first step";
  }
}

TEST_F(EnergyTest, OfAClosedFormIsNotTold) {
  const json report = Report("functional = false\nop = \"neg\"\nrows = 64\ncols = 64\n",
                             "[card]\nfidelity = \"fast\"\n");
  EXPECT_FALSE(report.contains("energy")) << "nothing counted what the card did";
}

TEST_F(EnergyTest, OfSeveralCardsIsTheSumOfTheirs) {
  const json report = Report("op = \"add\"\nrows = 64\ncols = 256\nfunctional = false\n",
                             "[card]\nmode = \"pf\"\n[cards]\ncount = 2\n");
  double sum = 0;
  ASSERT_EQ(report["cards"].size(), 2u);
  for (const json& card : report["cards"]) {
    EXPECT_GT(Number(card["energy"]["total_uj"]), 19e-3 * Number(card["launch_ns"]));
    sum += Number(card["energy"]["total_uj"]);
  }
  EXPECT_NEAR(Number(report["energy"]["total_uj"]), sum, 1e-9);
}

TEST_F(EnergyTest, MayBeExpected) {
  const std::string add = "op = \"add\"\nrows = 64\ncols = 64\n";
  const json report = Report(add, "[expect]\nmax_energy_uj = 1000000\n");
  EXPECT_EQ(report["expectations"][0]["met"], true);
  Write("run.toml", "[workload]\n" + add + "[expect]\nmax_energy_uj = 1\n");
  const Outcome outcome = Call("run run.toml");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("NOT MET expect.max_energy_uj: launches cost "));
}

// Readings of the sensors.
class Watcher final : public cosim::SmiMonitor {
 public:
  uint64_t interval_ps() const override { return 200'000; }
  void Take(const cosim::SmiReading& reading) override { readings_.push_back(reading.sensors); }
  // The last before a time, or the first after it.
  const driver::SensorReading& Before(uint64_t ps) const {
    return *(std::upper_bound(readings_.begin(), readings_.end(), ps,
                              [](uint64_t time, const driver::SensorReading& reading) {
                                return time < reading.time_ps;
                              }) -
             1);
  }
  const driver::SensorReading& After(uint64_t ps) const {
    return *std::lower_bound(
        readings_.begin(), readings_.end(), ps,
        [](const driver::SensorReading& reading, uint64_t time) { return reading.time_ps < time; });
  }

 private:
  std::vector<driver::SensorReading> readings_;
};

// The sensors' time is longer by what lies between a reading and the window. The host works there,
// so it costs what an idle card costs, but for entries of rings that pass the link.
TEST(EnergyOfSensors, IsThatOfTheReport) {
  Watcher watcher;
  cosim::SessionOptions options;
  options.monitor = &watcher;
  const cosim::RunResult result =
      RunSession(cosim::LoadConfig("", {"workload.m=1024", "workload.k=1024", "workload.n=512",
                                        "workload.tile.m=512", "workload.functional=false",
                                        "trace.enabled=false", "card.mode=pf"}),
                 OutDir(), options);
  const auto& from = watcher.Before(result.launch_begin_ps);
  const auto& to = watcher.After(result.launch_end_ps);
  const uint64_t window_ps = result.launch_end_ps - result.launch_begin_ps;
  const double more_j = 19 * 1e-12 * static_cast<double>(to.time_ps - from.time_ps - window_ps);
  const double launches_j = cosim::EnergyOfLaunches(result)->energy.Total();
  EXPECT_GT(launches_j, 19e-12 * static_cast<double>(window_ps));
  EXPECT_NEAR(to.energy_j - from.energy_j, launches_j + more_j, 1e-3 * launches_j);
}

}  // namespace
}  // namespace spyre::test::energy_test
