// SPDX-License-Identifier: Apache-2.0
#include "cosim/measure/usage.h"

#include <gtest/gtest.h>

namespace spyre::cosim::usage_test {
namespace {

using model::CardConfig;
using model::Loss;
using model::UnitStatistics;

UnitStatistics Unit(const std::string& name, uint64_t busy_ps, uint64_t bytes = 0,
                    uint64_t waited_ps = 0) {
  UnitStatistics unit;
  unit.name = name;
  unit.busy_ps = busy_ps;
  unit.bytes = bytes;
  unit.waited_ps = waited_ps;
  return unit;
}

LostTime Lost(const Usage& usage, const std::string& cause) {
  for (const LostTime& time : usage.lost) {
    if (time.cause == cause) return time;
  }
  return {};
}

TEST(Usage, BalanceIsOfTheCoresThatTookPart) {
  const Usage usage =
      SummarizeUsage({Unit("core00.pt", 100), Unit("core01.pt", 300), Unit("core02.pt", 7),
                      Unit("core00.load", 50), Unit("core01.load", 50)},
                     {0b011}, 1000);
  EXPECT_EQ(usage.cores, 2u);
  EXPECT_EQ(usage.pt_ps.units, 2u);
  EXPECT_EQ(usage.pt_ps.min, 100u);
  EXPECT_EQ(usage.pt_ps.max, 300u);
  EXPECT_DOUBLE_EQ(usage.pt_ps.Mean(), 200);
  EXPECT_DOUBLE_EQ(usage.pt_ps.Imbalance().value(), 1.5) << "most by mean";
  EXPECT_DOUBLE_EQ(usage.load_ps.Imbalance().value(), 1);
  EXPECT_FALSE(usage.vector_ps.Imbalance().has_value()) << "no vector unit did anything";
}

TEST(Usage, TheServiceCoreCountsForItsOwnProgramsAlone) {
  const std::vector<UnitStatistics> units = {Unit("core00.vector", 100),
                                             Unit("service_core.vector", 7)};
  const Usage prepare = SummarizeUsage(units, {0, true}, 1000);
  EXPECT_EQ(prepare.cores, 1u);
  EXPECT_EQ(prepare.vector_ps.sum, 7u);
  const Usage compute = SummarizeUsage(units, {0b1, false}, 1000);
  EXPECT_EQ(compute.cores, 1u);
  EXPECT_EQ(compute.vector_ps.sum, 100u);
}

TEST(Usage, ChannelsAreBalancedByTheirBytes) {
  const Usage usage = SummarizeUsage(
      {Unit("memory.channel00", 9, 256), Unit("memory.channel01", 1, 768)}, {}, 1000);
  EXPECT_EQ(usage.channel_bytes.min, 256u);
  EXPECT_EQ(usage.channel_bytes.max, 768u);
  EXPECT_EQ(usage.channel_bytes.sum, 1024u);
  EXPECT_DOUBLE_EQ(usage.channel_bytes.Imbalance().value(), 1.5);
}

TEST(Usage, LostTimeIsSummedOverTheUnitsThatCanLoseIt) {
  UnitStatistics channel = Unit("memory.channel00", 0);
  channel.lost(Loss::kRowMiss) = 5;
  channel.lost(Loss::kTurnaround) = 6;
  channel.lost(Loss::kRefresh) = 7;
  channel.lost(Loss::kBankGroup) = 8;
  channel.lost(Loss::kEccCheck) = 9;
  UnitStatistics pt0 = Unit("core00.pt", 0), pt1 = Unit("core01.pt", 0);
  pt0.lost(Loss::kTokenWait) = 10;
  pt1.lost(Loss::kTokenWait) = 20;
  pt1.lost(Loss::kWeightLoad) = 3;
  pt1.lost(Loss::kFillDrain) = 4;
  UnitStatistics ring = Unit("core00.ring", 0, 0, 99);
  UnitStatistics link0 = Unit("ring.cw00", 0, 0, 50), link1 = Unit("ring.ccw00", 0, 0, 50);
  UnitStatistics port = Unit("core00.lx_port", 0), pcie = Unit("pcie.upstream", 0, 64);
  link0.lost(Loss::kQueue) = 11;
  link1.lost(Loss::kQueue) = 1;
  port.lost(Loss::kQueue) = 12;
  pcie.lost(Loss::kQueue) = 2;
  ring.lost(Loss::kBarrierWait) = 8;
  const Usage usage = SummarizeUsage(
      {channel, pt0, pt1, ring, link0, link1, port, pcie, Unit("ring.cw01", 0)}, {0b11}, 1000);
  EXPECT_EQ(Lost(usage, "row_miss").ps, 5u);
  EXPECT_EQ(Lost(usage, "turnaround").ps, 6u);
  EXPECT_EQ(Lost(usage, "refresh").ps, 7u);
  EXPECT_EQ(Lost(usage, "bank_group").ps, 8u);
  EXPECT_EQ(Lost(usage, "ecc_check").ps, 9u);
  EXPECT_EQ(Lost(usage, "token_wait_pt").ps, 30u);
  EXPECT_EQ(Lost(usage, "token_wait_pt").units, 2u);
  EXPECT_EQ(Lost(usage, "weight_load").ps, 3u);
  EXPECT_EQ(Lost(usage, "fill_drain").ps, 4u);
  EXPECT_EQ(Lost(usage, "barrier_wait").ps, 8u);
  EXPECT_EQ(Lost(usage, "ring_wait").ps, 12u) << "links and memory ports, not the core's ring unit";
  EXPECT_EQ(Lost(usage, "ring_wait").units, 2u) << "without the link that carried nothing";
  EXPECT_EQ(Lost(usage, "lx_port_wait").ps, 12u);
  EXPECT_EQ(Lost(usage, "pcie_wait").ps, 2u);
  EXPECT_EQ(usage.pcie_upstream_bytes, 64u);
}

TEST(Usage, LoadsAreThoseOfTheCoresThatTookPart) {
  UnitStatistics load0 = Unit("core00.load", 10), load1 = Unit("core01.load", 10);
  load0.lost(Loss::kLoadPartners) = 1;
  load0.lost(Loss::kLoadMemory) = 20;
  load0.lost(Loss::kLoadRing) = 300;
  load0.lost(Loss::kLoadLx) = 4000;
  load1.lost(Loss::kLoadRing) = 7;
  const Usage one = SummarizeUsage({load0, load1}, {0b01}, 1000);
  EXPECT_EQ(one.loads.partners_ps, 1u);
  EXPECT_EQ(one.loads.memory_ps, 20u);
  EXPECT_EQ(one.loads.ring_ps, 300u);
  EXPECT_EQ(one.loads.lx_ps, 4000u);
  EXPECT_EQ(one.loads.TotalPs(), 4321u);
  EXPECT_EQ(SummarizeUsage({load0, load1}, {0b11}, 1000).loads.ring_ps, 307u);
}

TEST(Usage, NamesThatAreNoUnitsOfTheCardAreLeftOut) {
  const Usage usage = SummarizeUsage(
      {Unit("core.pt", 1), Unit("core99.pt", 1), Unit("core0", 1), Unit("control", 1), Unit("", 1)},
      {0xFFFFFFFF}, 1000);
  EXPECT_EQ(usage.pt_ps.units, 0u);
  EXPECT_TRUE(usage.lost.empty());
}

TEST(Usage, SinceSubtractsEveryCounter) {
  UnitStatistics before = Unit("core00.pt", 10, 20, 30);
  before.requests = 1;
  before.lost(Loss::kFillDrain) = 5;
  UnitStatistics after = Unit("core00.pt", 110, 220, 330);
  after.requests = 4;
  after.lost(Loss::kFillDrain) = 55;
  const UnitStatistics part = after.Since(before);
  EXPECT_EQ(part.name, "core00.pt");
  EXPECT_EQ(part.busy_ps, 100u);
  EXPECT_EQ(part.bytes, 200u);
  EXPECT_EQ(part.waited_ps, 300u);
  EXPECT_EQ(part.requests, 3u);
  EXPECT_EQ(part.lost(Loss::kFillDrain), 50u);
}

TEST(Roofline, PeaksComeFromTheCard) {
  const Peaks peaks = PeaksOf(CardConfig{}, 32);
  EXPECT_DOUBLE_EQ(peaks.macs_per_s, 32 * 2 * 512 * 1.114e9);
  EXPECT_DOUBLE_EQ(peaks.memory_bytes_per_s, 204.8e9) << "16 channels of 16 bit at 6400 MT/s";
  EXPECT_DOUBLE_EQ(PeaksOf(CardConfig{}, 8).macs_per_s, peaks.macs_per_s / 4);
  EXPECT_DOUBLE_EQ(peaks.RidgeMacPerByte(), 178.24);
}

// 1 us on a card of 1000 MAC/ns, 100 bytes/ns of memory and 50 bytes/ns of PCIe each way.
class RooflineRule : public ::testing::Test {
 protected:
  Roofline Of(uint64_t macs, uint64_t memory_bytes) {
    usage_.span_ps = 1000000;
    return RooflineOf({1e12, 100e9, 50e9}, usage_, macs, memory_bytes);
  }
  Usage usage_;
};

TEST_F(RooflineRule, SharesAreOfThePeaks) {
  const Roofline compute = Of(800000, 50000);
  EXPECT_DOUBLE_EQ(compute.compute_share, 0.8);
  EXPECT_DOUBLE_EQ(compute.memory_share, 0.5);
  EXPECT_DOUBLE_EQ(compute.macs_per_s, 8e11);
  EXPECT_DOUBLE_EQ(compute.mac_per_byte.value(), 16);
  usage_.pcie_downstream_bytes = 45000;
  EXPECT_DOUBLE_EQ(Of(0, 0).pcie_downstream_share, 0.9);
  usage_.vector_ps.Add(900000);
  usage_.vector_ps.Add(700000);
  EXPECT_DOUBLE_EQ(Of(0, 50000).vector_share, 0.8);
}

TEST_F(RooflineRule, TheCriticalPathSaysWhatBoundsNotTheShares) {
  usage_.path[static_cast<size_t>(trace::Cause::kRing)] = 600000;
  usage_.path[static_cast<size_t>(trace::Cause::kMemoryRead)] = 400000;
  const Roofline roofline = Of(0, 90000);
  EXPECT_EQ(roofline.bound.resource, "ring") << "although memory is at 90 % of its peak";
  EXPECT_DOUBLE_EQ(roofline.bound.share(), 0.6);
}

TEST_F(RooflineRule, NothingInNoTimeIsNoRate) {
  const Roofline roofline = RooflineOf({1e12, 100e9, 50e9}, Usage{}, 0, 0);
  EXPECT_EQ(roofline.macs_per_s, 0);
  EXPECT_FALSE(roofline.mac_per_byte.has_value());
  EXPECT_EQ(roofline.bound.resource, "none");
}

}  // namespace
}  // namespace spyre::cosim::usage_test
