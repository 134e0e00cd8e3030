// SPDX-License-Identifier: Apache-2.0
// What must hold of the times whatever the parameters: no kernel beats a roofline bound, cores do
// not hinder each other, more bytes take more time, every byte is seen by each link that it takes,
// and whether data moves makes no difference.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <map>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::timing_invariants_test {
namespace {

using nlohmann::json;

constexpr uint64_t kElementBytes = 2;
constexpr const char* kTimingOnly = "functional = false\n";

uint64_t Number(const json& value) { return value.get<uint64_t>(); }

class TimingInvariantsTest : public ProgramFixture {
 protected:
  json Times(const std::string& workload) const {
    return Report(kTimingOnly + workload, "[trace]\nenabled = false\n");
  }
  double DeviceNs(const std::string& workload) const {
    return Times(workload)["kernels"][0]["device_ns"];
  }

  // Device times in microseconds of calibration points, which are JSON.
  std::vector<double> PointTimes(const std::vector<std::string>& points) const {
    Write("points.json", fmt::format(R"({{"points": [{}]}})", fmt::join(points, ", ")));
    const Outcome outcome = Call("calibrate points.json --json");
    EXPECT_EQ(outcome.status, 0) << outcome.err << outcome.out;
    std::vector<double> times;
    const json result = SortedJsonOf(outcome.out);
    for (const json& point : result["points"]) times.push_back(point["simulated_us"]);
    return times;
  }

  // Sum over the units whose name begins with `prefix` and ends with `suffix`.
  static uint64_t LaunchBytes(const json& report, const std::string& prefix,
                              const std::string& suffix = "") {
    return Bytes(report, "launch_bytes", prefix, suffix);
  }
  static uint64_t SessionBytes(const json& report, const std::string& prefix) {
    return Bytes(report, "bytes", prefix, "");
  }

 private:
  static uint64_t Bytes(const json& report, const char* key, const std::string& prefix,
                        const std::string& suffix) {
    uint64_t bytes = 0;
    for (const json& unit : report["units"]) {
      const std::string name = unit["name"];
      const bool matches = name.rfind(prefix, 0) == 0 && name.size() >= suffix.size() &&
                           name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
      if (matches) bytes += Number(unit[key]);
    }
    return bytes;
  }
};

std::string Elementwise(const std::string& op, int rows, int cols, const std::string& more = "") {
  return "op = \"" + op + "\"\nrows = " + std::to_string(rows) +
         "\ncols = " + std::to_string(cols) + "\n" + more;
}
std::string Matmul(int m, int k, int n, const std::string& more = "") {
  return "op = \"matmul\"\nm = " + std::to_string(m) + "\nk = " + std::to_string(k) +
         "\nn = " + std::to_string(n) + "\n" + more;
}
std::string Cores(int count) { return "cores = " + std::to_string(count) + "\n"; }
std::string Split(int m, int n) {
  return "split = { m = " + std::to_string(m) + ", n = " + std::to_string(n) + " }\n";
}

TEST_F(TimingInvariantsTest, NoKernelBeatsARooflineBound) {
  const std::vector<std::string> workloads = {
      Matmul(512, 512, 512, Split(4, 8)),
      Matmul(512, 512, 512, Split(1, 1)),
      Matmul(512, 64, 512, Split(8, 4)),
      Matmul(8, 1024, 1024, Split(1, 16)),
      Matmul(96, 1000, 200, "split = { m = 3, n = 3, k = 2 }\n"),
      Matmul(64, 2048, 64),
      Elementwise("neg", 1024, 512),
      Elementwise("gelu", 256, 512, Cores(1)),
      Elementwise("add", 1024, 512, Cores(4)),
      Elementwise("sum", 1024, 512),
      Elementwise("amax", 512, 512, "axis = \"rows\"\n"),
      Elementwise("softmax", 128, 1024),
  };
  for (const std::string& workload : workloads) {
    const json report = Times(workload);
    const json& card = report["config"]["card"];
    const json& kernel = report["kernels"][0];
    const double ns = kernel["device_ns"];
    const double core_ghz = card["clock"]["core_mhz"].get<double>() / 1000;
    const double ring_ghz = card["clock"]["ring_mhz"].get<double>() / 1000;
    const json& core = card["core"];
    const json& memory = card["memory"];
    const uint64_t cores = report["division"]["cores_used"];
    const uint64_t corelets = cores * Number(core["corelets"]);
    const uint64_t bytes =
        Number(kernel["device_bytes_read"]) + Number(kernel["device_bytes_written"]);

    const double macs = kernel["macs"];
    EXPECT_GE(ns,
              macs / (static_cast<double>(corelets * Number(core["pt_macs_per_cycle"])) * core_ghz))
        << "ns; PT arrays: " << workload;
    const double peak_bytes_per_ns =
        static_cast<double>(Number(memory["channels"]) * Number(memory["channel_bits"])) / 8 *
        memory["transfer_mts"].get<double>() / 1000;
    EXPECT_GE(ns, static_cast<double>(bytes) / peak_bytes_per_ns) << "ns; memory: " << workload;
    const json& ring = card["ring"];
    // Two ways from memory and two to it.
    const double ring_bytes_per_ns = 4 * static_cast<double>(Number(ring["bytes_per_cycle"])) *
                                     ring["link_percent"].get<double>() / 100 * ring_ghz;
    EXPECT_GE(ns, static_cast<double>(bytes) / ring_bytes_per_ns) << "ns; ring: " << workload;
    for (const auto& [resource, share] : kernel["roofline"]["share_of_peak"].items())
      EXPECT_LE(share, 1) << "of the peak of " << resource << ": " << workload;
    for (const json& unit : report["units"]) {
      EXPECT_LE(unit["launch_busy_ns"].get<double>(), report["launch_ns"].get<double>())
          << unit["name"] << ": busy for longer than the launch took: " << workload;
    }
  }
}

// The bound where the memory is the limit already: other orders of the same bursts cost some row
// misses and turnarounds more or less. A streaming kernel has 64 tiles a core: on more cores they
// are smaller, down to half of what all channels share, and the bus turns more often.
constexpr double kSaturated = 1.20;

TEST_F(TimingInvariantsTest, MoreCoresAreNotSlowerOnDivisibleWork) {
  const auto check = [&](const std::string& workload, auto division) {
    double before = 0;
    for (const int cores : {1, 2, 4, 8, 16, 32}) {
      const json report = Times(workload + division(cores));
      ASSERT_EQ(report["division"]["cores_used"], cores) << workload;
      const double ns = report["kernels"][0]["device_ns"];
      if (before > 0) {
        EXPECT_LE(ns, before * kSaturated)
            << "ns on " << cores << " cores, after ns on half of them: " << workload;
      }
      before = ns;
    }
  };
  for (const char* op : {"neg", "add", "sum", "softmax"})
    check(Elementwise(op, 1024, 512), [](int cores) { return Cores(cores); });
  check(Matmul(512, 256, 512), [](int cores) {
    const int m = cores >= 16 ? cores / 4 : (cores + 1) / 2;
    return Split(m, cores / m);
  });
}

TEST_F(TimingInvariantsTest, TwiceTheCoresHalveWhatIsBoundByCompute) {
  // k is long: the store of a tile, which no work hides, is a small part.
  const double one = DeviceNs(Matmul(256, 2048, 256, Split(1, 1)));
  const double two = DeviceNs(Matmul(256, 2048, 256, Split(2, 1)));
  const double four = DeviceNs(Matmul(256, 2048, 256, Split(2, 2)));
  EXPECT_LT(two, one * 0.6) << "ns";
  EXPECT_LT(four, two * 0.7) << "ns";
  EXPECT_GE(two, one * 0.5) << "ns; never more than twice as fast";
  EXPECT_GE(four, two * 0.5) << "ns";
}

TEST_F(TimingInvariantsTest, TimeGrowsWithTheBytes) {
  const std::vector<int> rows = {64, 128, 192, 256, 384, 512, 768, 1024};
  for (const char* op : {"neg", "copy", "sum", "add"}) {
    for (const int cores : {2, 32}) {
      std::vector<std::string> points;
      for (const int count : rows) {
        points.push_back(fmt::format(
            R"({{"op": "{}", "rows": {}, "cols": 512, "cores": {}, "predicted_us": 1}})", op, count,
            cores));
      }
      const std::vector<double> us = PointTimes(points);
      ASSERT_EQ(us.size(), rows.size());
      for (size_t i = 1; i < us.size(); ++i) {
        // Hardly more for rows that the same loops take along.
        EXPECT_GT(us[i], us[i - 1] * 0.995)
            << "us; " << op << " of " << rows[i] << " rows on " << cores;
      }
    }
  }
}

TEST_F(TimingInvariantsTest, TimeOfAMatmulGrowsWithEachDimension) {
  for (const char dim : {'m', 'k', 'n'}) {
    std::vector<std::string> points;
    for (const int size : {128, 256, 512, 1024}) {
      const auto of = [&](char name) { return name == dim ? size : 256; };
      points.push_back(fmt::format(
          R"({{"op": "matmul", "m": {}, "k": {}, "n": {}, "split_m": 2, "split_n": 2, "cores": 4,
               "predicted_us": 1}})",
          of('m'), of('k'), of('n')));
    }
    const std::vector<double> us = PointTimes(points);
    ASSERT_EQ(us.size(), points.size());
    for (size_t i = 1; i < us.size(); ++i) EXPECT_GT(us[i], us[i - 1]) << "us; " << points[i];
  }
}

TEST_F(TimingInvariantsTest, BytesOfMemoryChannelsAreThoseOfTheReport) {
  const std::vector<std::string> workloads = {
      Elementwise("neg", 256, 512, Cores(4)), Elementwise("add", 100, 200),
      Elementwise("sum", 64, 2048, "split = { cols = 4, rows = 2 }\n"),
      Matmul(256, 256, 256, Split(4, 4)), Matmul(70, 300, 200, Split(3, 2))};
  for (const std::string& workload : workloads) {
    const json report = Times(workload);
    uint64_t operations = 0;  // of the launch: kernels and program corrections
    for (const char* list : {"kernels", "corrections"}) {
      for (const json& operation : report[list]) {
        operations += Number(operation["device_bytes_read"]);
        operations += Number(operation["device_bytes_written"]);
      }
    }
    const uint64_t dma = LaunchBytes(report, "dma.in") + LaunchBytes(report, "dma.out");
    EXPECT_EQ(LaunchBytes(report, "memory.channel"), operations + dma) << "bytes; " << workload;
    // Every read leaves the memory stop by one link, every write comes by one; what the dispatcher
    // reads for itself, at that stop, takes none, and neither does DMA.
    const uint64_t ring = LaunchBytes(report, "ring.cw32") + LaunchBytes(report, "ring.ccw32") +
                          LaunchBytes(report, "ring.cw31") + LaunchBytes(report, "ring.ccw00");
    EXPECT_LE(ring, operations) << "bytes; " << workload;
    EXPECT_LT(operations - ring, 1024u) << "bytes; image headers: " << workload;
    EXPECT_EQ(SessionBytes(report, "memory.channel"),
              operations + SessionBytes(report, "dma.in") + SessionBytes(report, "dma.out"))
        << "bytes; " << workload;
  }
}

// Sticks of a [rows][cols] tensor in bytes.
uint64_t DeviceBytes(uint64_t rows, uint64_t cols) {
  constexpr uint64_t kStickBytes = 128;
  return rows * ((cols * kElementBytes + kStickBytes - 1) / kStickBytes) * kStickBytes;
}

TEST_F(TimingInvariantsTest, AnElementwiseOperandIsReadOnceAndWrittenOnce) {
  const json neg = Times(Elementwise("neg", 300, 200))["kernels"][0];
  EXPECT_EQ(neg["device_bytes_written"], DeviceBytes(300, 200));
  const json add = Times(Elementwise("add", 300, 200))["kernels"][0];
  // The program is read from device memory too; it does not grow with the tensors.
  const uint64_t program = Number(neg["device_bytes_read"]) - DeviceBytes(300, 200);
  EXPECT_LT(program, 16u << 10) << "bytes";
  EXPECT_GE(Number(add["device_bytes_read"]), 2 * DeviceBytes(300, 200));
  EXPECT_LT(Number(add["device_bytes_read"]), 2 * DeviceBytes(300, 200) + (16 << 10));
  const json large = Times(Elementwise("neg", 1200, 200))["kernels"][0];
  EXPECT_LT(Number(large["device_bytes_read"]), DeviceBytes(1200, 200) + (16 << 10)) << "bytes";
}

TEST_F(TimingInvariantsTest, WhatEntersARingStopLeavesItOrIsForItsCore) {
  const json report = Times(Elementwise("neg", 256, 512));
  std::map<std::string, uint64_t> bytes;
  for (const json& unit : report["units"]) bytes[unit["name"]] = Number(unit["launch_bytes"]);
  const auto stop_of = [&](const char* link, int stop) {
    return bytes.at(fmt::format("ring.{}{:02}", link, stop));
  };
  int stops = 0;
  while (bytes.count(fmt::format("ring.cw{:02}", stops)) != 0) ++stops;
  ASSERT_EQ(stops, 33) << "32 cores and the memory";
  const uint64_t program =
      Number(report["kernels"][0]["device_bytes_read"]) - DeviceBytes(256, 512);
  uint64_t loaded = 0;
  int with_program = 0;
  for (int core = 0; core < 32; ++core) {
    const uint64_t in = stop_of("cw", (core + stops - 1) % stops) +
                        stop_of("ccw", (core + 1) % stops) +
                        bytes.at(fmt::format("core{:02}.store", core));
    const uint64_t out =
        stop_of("cw", core) + stop_of("ccw", core) + bytes.at(fmt::format("core{:02}.load", core));
    // Programs are broadcast: they end at the last core of each way, and go past all others.
    EXPECT_GE(in, out) << "bytes; core " << core;
    EXPECT_LE(in - out, program) << "bytes; core " << core;
    with_program += in == out ? 0 : 1;
    loaded += bytes.at(fmt::format("core{:02}.load", core));
  }
  EXPECT_LE(with_program, 3) << "the last core of each way, and core 0 with the correction";
  EXPECT_GE(loaded, DeviceBytes(256, 512));
}

TEST_F(TimingInvariantsTest, PartialSumsTakeEachLinkOfTheirChainOnce) {
  const json report = Times(Matmul(64, 512, 64, "split = { k = 4 }\n"));
  for (const json& unit : report["units"]) {
    const std::string name = unit["name"];
    if (name.rfind("ring.psum", 0) != 0) continue;
    // Cores 0 to 3; 64 x 64 fp32 from each to the next.
    const bool used =
        name == "ring.psum_cw00" || name == "ring.psum_cw01" || name == "ring.psum_cw02";
    EXPECT_EQ(unit["launch_bytes"], used ? 64 * 64 * 4 : 0) << "bytes; " << name;
  }
}

TEST_F(TimingInvariantsTest, DmaMovesTheTensorsAndPcieWhatDmaMoves) {
  const json report = Times(Elementwise("add", 300, 500));
  const uint64_t in = SessionBytes(report, "dma.in");
  const uint64_t out = SessionBytes(report, "dma.out");
  EXPECT_EQ(out, DeviceBytes(300, 500)) << "bytes; the result";
  EXPECT_GE(in, 2 * DeviceBytes(300, 500)) << "bytes; the inputs, program and locations";
  EXPECT_LT(in, 2 * DeviceBytes(300, 500) + (32 << 10)) << "bytes";
  // Beyond the payload: queue entries, messages, responses.
  const uint64_t down = SessionBytes(report, "pcie.downstream");
  const uint64_t up = SessionBytes(report, "pcie.upstream");
  EXPECT_GE(down, in) << "bytes";
  EXPECT_LT(down, in + (16 << 10)) << "bytes";
  EXPECT_GE(up, out) << "bytes";
  EXPECT_LT(up, out + (16 << 10)) << "bytes";
}

TEST_F(TimingInvariantsTest, DataMakesNoDifferenceToTimeForAnyKindOfOperation) {
  const std::vector<std::string> workloads = {
      Matmul(70, 300, 200, Split(3, 2)),
      Matmul(64, 512, 64, "split = { k = 4 }\n"),
      Matmul(32, 64, 64, "batch = 3\n"),
      Elementwise("gelu", 37, 200),
      Elementwise("div", 37, 200),
      Elementwise("mean", 64, 1000, "split = { cols = 5, rows = 3 }\n"),
      Elementwise("amin", 200, 130, "axis = \"rows\"\n"),
      Elementwise("softmax", 40, 300),
      Elementwise("neg", 40, 300, "tile = { rows = 20 }\n"),
  };
  for (const std::string& workload : workloads) {
    const json with = Report(workload);
    const json without = Report(kTimingOnly + workload);
    EXPECT_EQ(with["verified"]["mismatches"], 0) << workload;
    EXPECT_TRUE(without["verified"].is_null()) << workload;
    for (const char* part :
         {"sim_time_ns", "kernels", "corrections", "tile_kernels", "units", "operations"})
      EXPECT_EQ(with[part], without[part]) << part << ": " << workload;
    EXPECT_EQ(with["trace"]["digest"], without["trace"]["digest"]) << workload;
  }
}

}  // namespace
}  // namespace spyre::test::timing_invariants_test
