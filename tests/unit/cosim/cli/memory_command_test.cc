// SPDX-License-Identifier: Apache-2.0
// What the memory command prints for traffic whose times are known, and what bad input is told.
#include "cosim/cli/memory_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/json_text.h"
#include "model/memory/address_map.h"

namespace spyre::cosim::memory_command_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kDevice = 112ull << 30;

class MemoryCommandTest : public ::testing::Test {
 protected:
  MemoryCommandTest() { options_.pattern.requests = 20'000; }
  nlohmann::json Json() {
    options_.json = true;
    std::ostringstream out;
    EXPECT_EQ(RunMemoryCommand(options_, out), 0);
    return SortedJsonOf(out.str());
  }
  double Gbps() { return Json()["all"]["bandwidth_gbps"]; }
  std::string Message() {
    std::ostringstream out;
    try {
      RunMemoryCommand(options_, out);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      EXPECT_EQ(out.str(), "") << "nothing is printed before the error";
      return error.what();
    }
    return "no error";
  }
  void Trace(const std::string& text) {
    options_.trace = ::testing::TempDir() + "memory_trace_" +
                     ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(options_.trace) << text;
  }
  MemoryOptions options_;
};

TEST_F(MemoryCommandTest, AReadOfAnIdleCardTakesControllerActivateLatencyAndBurst) {
  Trace("# one burst of an idle memory\nR 0x1000 32\n");
  options_.sets = {"card.memory.ecc=none", "card.memory.controller_ns=30"};
  const auto json = Json();
  EXPECT_EQ(json["requests"], 1);
  EXPECT_DOUBLE_EQ(json["all"]["read_latency"]["max_ns"], 30 + 18.75 + 21.25 + 5.0)
      << "ns: controller, tRCD, RL, burst";
  EXPECT_EQ(json["all"]["bytes_read"], 32);
  EXPECT_EQ(json["all"]["row_misses"], 1);
}

TEST_F(MemoryCommandTest, ArrivalsOfATraceAreKept) {
  Trace("1000 R 0 32\n5000.125 R 64 32  # a row hit\n");
  options_.sets = {"card.memory.ecc=none", "card.memory.refresh=none",
                   "card.memory.controller_ns=0"};
  EXPECT_DOUBLE_EQ(Json()["elapsed_ns"], 5001.25 + 21.25 + 5.0) << "ns: from the next clock";
}

TEST_F(MemoryCommandTest, StreamsReachThePublicBandwidths) {
  options_.pattern.pattern = "mix";
  options_.load.outstanding = 4;
  for (const double fraction : {0.0, 1.0}) {
    options_.pattern.read_fraction = fraction;
    EXPECT_NEAR(Gbps(), 150, 5) << "GB/s in one direction, read share " << fraction;
  }
  options_.pattern.read_fraction = 0.5;
  EXPECT_NEAR(Gbps(), 105, 8) << "GB/s, balanced";
  options_.pattern.pattern = "sequential";
  options_.load.outstanding = 32;
  EXPECT_NEAR(Gbps(), 105, 12) << "GB/s, balanced, one requester";
  options_.pattern.read_fraction = 1;
  EXPECT_NEAR(Gbps(), 150, 5) << "GB/s, one requester";
}

TEST_F(MemoryCommandTest, SmallRandomReadsCollapse) {
  options_.pattern.pattern = "random";
  options_.load.outstanding = 32;
  options_.pattern.block_bytes = 4096;
  const double streaming = Gbps();
  options_.pattern.block_bytes = 64;
  EXPECT_LT(Gbps(), streaming / 4) << "GB/s, with as many requests in flight";
}

TEST_F(MemoryCommandTest, AStrideOverOneChannelGetsNoMoreThanThatChannel) {
  const model::AddressMap map{model::MemoryConfig()};
  EXPECT_EQ(map.Locate(0).channel, map.Locate(16 * 16 * 16 * 256).channel);
  options_.pattern.pattern = "stride";
  options_.pattern.block_bytes = 256;
  options_.pattern.stride_bytes = 16 * 16 * 16 * 256;
  EXPECT_LT(Gbps(), 12.8) << "GB/s of one channel";
}

TEST_F(MemoryCommandTest, AllBytesPassAndTheTimeOfEveryBusIsAccountedFor) {
  options_.pattern.pattern = "mix";
  options_.pattern.read_fraction = 0.5;
  const auto json = Json();
  const auto& all = json["all"];
  EXPECT_EQ(all["bytes_read"].get<uint64_t>() + all["bytes_written"].get<uint64_t>(),
            20'000u * 4096);
  double share = 0;
  for (const auto& [cause, part] : all["bus_share"].items()) share += part.get<double>();
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_LT(all["bandwidth_gbps"], all["peak_gbps"]);
  EXPECT_EQ(json["channels"].size(), 16u);
}

TEST_F(MemoryCommandTest, ARateBelowWhatMemoryGivesIsKept) {
  options_.load.rate = 0.25;
  EXPECT_NEAR(Gbps(), 51.2, 0.2) << "GB/s: a quarter of 204.8";
}

TEST_F(MemoryCommandTest, ChannelsAndCardKeysCanBeChanged) {
  options_.channels = 4;
  EXPECT_EQ(Json()["channels"].size(), 4u);
  options_.sets = {"card.memory.refresh=per_bank", "card.memory.ecc=none"};
  options_.channels.reset();
  EXPECT_GT(Gbps(), 190) << "GB/s: only rows are left to lose time";
}

TEST_F(MemoryCommandTest, TheSameSeedGivesTheSameText) {
  options_.pattern.pattern = "random";
  options_.pattern.read_fraction = 0.7;
  const auto first = Json();
  EXPECT_EQ(first, Json());
  options_.pattern.seed = 2;
  EXPECT_NE(first, Json());
}

TEST_F(MemoryCommandTest, TextNamesBandwidthLatencyAndCauses) {
  std::ostringstream out;
  RunMemoryCommand(options_, out);
  for (const char* word :
       {"of peak", "row hits", "ECC", "turn", "refresh", "idle", "p99 ns", "channel 15"})
    EXPECT_THAT(out.str(), HasSubstr(word));
}

TEST_F(MemoryCommandTest, BadOptionsAreNamed) {
  options_.pattern.pattern = "randum";
  EXPECT_THAT(Message(), HasSubstr("--pattern randum is not known; did you mean 'random'?"));
  options_.pattern = {};
  options_.pattern.requests = 0;
  EXPECT_THAT(Message(), HasSubstr("--requests 0 is out of range"));
  options_.pattern = {};
  options_.pattern.read_fraction = 1.5;
  EXPECT_THAT(Message(), HasSubstr("--read-fraction 1.5 is outside 0 .. 1"));
  options_.pattern.read_fraction = NAN;
  EXPECT_THAT(Message(), HasSubstr("--read-fraction nan"));
  options_.pattern = {};
  options_.pattern.block_bytes = 0;
  EXPECT_THAT(Message(), HasSubstr("--block 0 bytes is out of range"));
  options_.pattern = {};
  options_.pattern.stride_bytes = kDevice + 1;
  EXPECT_THAT(Message(), HasSubstr("--stride 120259084289 bytes is out of range"));
  options_.pattern = {};
  options_.pattern.pattern = "mix";
  options_.pattern.streams = 1 << 20;
  EXPECT_THAT(Message(), HasSubstr("--streams 1048576 of --stride 2097152 bytes"));
  options_.pattern = {};
  options_.load.outstanding = 0;
  EXPECT_THAT(Message(), HasSubstr("--outstanding 0 is out of range"));
  options_.load = {};
  options_.load.rate = -0.1;
  EXPECT_THAT(Message(), HasSubstr("--rate -0.1 of the peak is outside 0 .. 1"));
  options_.load = {};
  options_.channels = 0;
  EXPECT_THAT(Message(), HasSubstr("card.memory.channels = 0 channels is out of range"));
  options_.channels.reset();
  options_.sets = {"card.memory.t_ras_ps=1000"};
  EXPECT_THAT(Message(), HasSubstr("card.memory.t_ras_ps = 1000"));
}

TEST_F(MemoryCommandTest, BadLinesOfATraceAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"R 0 128\nX 0 128\n", ":2: 'X' must be R or W"},
      {"R 0\n", ":1: must be '[ARRIVAL_NS] R|W ADDRESS BYTES'"},
      {"R 0 1 2 3\n", ":1: must be"},
      {"R zero 128\n", ":1: address 'zero' is not a number"},
      {"R -1 128\n", ":1: address '-1' is not a number"},
      {"R 0x 128\n", ":1: address '0x' is not a number"},
      {"R 99999999999999999999 128\n", ":1: address '99999999999999999999' is not a number"},
      {"R 0 0\n", ":1: 0 bytes is out of range"},
      {"R 0 99999999999\n", ":1: 99999999999 bytes is out of range"},
      {"\n# far\nW 0x1c00000000 1\n", ":3: 1 bytes at 0x1c00000000 reach beyond the device"},
      {"R 0 1\n10 R 0 1\n", ":2: either all requests have an arrival or none has"},
      {"10 R 0 1\n9 R 0 1\n", ":2: arrival 9 ns is before that of the request above"},
      {"1.2345 R 0 1\n", ":1: arrival '1.2345' must be nanoseconds"},
      {"9999999999999 R 0 1\n", ":1: arrival 9999999999999 ns is beyond"},
      {"# nothing\n\n", ": has no request"},
  };
  for (const auto& [text, message] : cases) {
    Trace(text);
    EXPECT_THAT(Message(), HasSubstr(options_.trace + message)) << text;
  }
  options_.trace = "/nonexistent";
  EXPECT_THAT(Message(), HasSubstr("/nonexistent"));
}

TEST(LatencyHistogram, PercentilesAreExactToOnePercent) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.PercentilePs(0.95), 0u);
  for (uint64_t i = 1; i <= 100'000; ++i) histogram.Add(i * 100);
  EXPECT_EQ(histogram.count(), 100'000u);
  EXPECT_DOUBLE_EQ(histogram.mean_ps(), 5'000'050);
  EXPECT_EQ(histogram.max_ps(), 10'000'000u);
  EXPECT_NEAR(static_cast<double>(histogram.PercentilePs(0.95)), 9.5e6, 9.5e4);
  EXPECT_EQ(histogram.PercentilePs(1), 10'000'000u);
  histogram.Add(UINT64_MAX);
  EXPECT_EQ(histogram.PercentilePs(1), UINT64_MAX);
}

}  // namespace
}  // namespace spyre::cosim::memory_command_test
