// SPDX-License-Identifier: Apache-2.0
// Rung 4: what the card tells of itself: performance counters, sensors, vital product data, the
// error log with its times.
#include "driver/telemetry.h"

#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"
#include "driver/vpd.h"

namespace spyre::bringup {
namespace {

using driver::PerformanceReading;
using driver::SensorReading;

class Rung4Telemetry : public Rung {
 protected:
  static constexpr uint64_t kMapped = 16 << 20;

  void SetUp() override {
    driver::PhysicalFunction(Physical()).MapRange(0, kMapped, kPermissionRead | kPermissionWrite);
  }
  void Run(Opcode opcode, driver::IoAddress host, uint64_t size) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.host_address = host;
    block.size_bytes = size;
    driver::Entry entry = block;
    Physical().queue().Submit(entry);
    ExpectOk(Physical().queue().Wait());
  }
};

TEST_F(Rung4Telemetry, CopiesAreCountedToTheByte) {
  std::vector<uint8_t> host(100'000);
  const ReachedMemory reached(card(), 0, host.data(), host.size());
  const driver::IoAddress io = reached.address();
  for (const uint64_t size : {uint64_t{128}, uint64_t{4096}, uint64_t{host.size()}}) {
    const PerformanceReading before = driver::ReadCounters(card(), 0);
    Run(Opcode::DMA_IN, io, size);
    const PerformanceReading between = driver::ReadCounters(card(), 0);
    Run(Opcode::DMA_OUT, io, size);
    const PerformanceReading after = driver::ReadCounters(card(), 0);
    EXPECT_EQ(between.device_written_bytes - before.device_written_bytes, size);
    EXPECT_EQ(between.device_read_bytes, before.device_read_bytes);
    EXPECT_EQ(between.pcie_received_bytes - before.pcie_received_bytes, size + kEntryBytes);
    EXPECT_EQ(after.device_read_bytes - between.device_read_bytes, size);
    EXPECT_EQ(after.device_written_bytes, between.device_written_bytes);
    EXPECT_GE(after.pcie_sent_bytes - between.pcie_sent_bytes, size + kEntryBytes);
    EXPECT_EQ(after.operations - before.operations, 2u);
    EXPECT_GT(after.busy_ps, between.busy_ps);
    EXPECT_GT(between.busy_ps, before.busy_ps);
    EXPECT_LE(after.busy_ps - before.busy_ps, after.time_ps - before.time_ps);
  }
}

TEST_F(Rung4Telemetry, AFillIsNoTrafficOfTheLink) {
  const PerformanceReading before = driver::ReadCardCounters(card());
  Run(Opcode::DMA_FILL, 0, 1 << 20);
  const PerformanceReading after = driver::ReadCardCounters(card());
  EXPECT_EQ(after.device_written_bytes - before.device_written_bytes, 1u << 20);
  EXPECT_EQ(after.pcie_received_bytes - before.pcie_received_bytes, kEntryBytes);
}

TEST_F(Rung4Telemetry, TheMappedMemoryIsCounted) {
  EXPECT_EQ(driver::ReadCounters(card(), 0).memory_bytes, kMapped);
  driver::PhysicalFunction physical(Physical());
  physical.MapRange(kMapped, 1 << 20, kPermissionRead);
  EXPECT_EQ(driver::ReadCounters(card(), 0).memory_bytes, kMapped + (1 << 20));
  physical.UnmapRange(kMapped);
  const PerformanceReading reading = driver::ReadCounters(card(), 0);
  EXPECT_EQ(reading.memory_bytes, kMapped);
  EXPECT_EQ(reading.memory_peak_bytes, kMapped + (1 << 20));
}

TEST_F(Rung4Telemetry, CountersOfAFunctionStartAgainWithItsReset) {
  Run(Opcode::DMA_FILL, 0, 4096);
  EXPECT_GE(driver::ReadCounters(card(), 0).device_written_bytes, 4096u);
  Physical().Reset();
  EXPECT_EQ(driver::ReadCounters(card(), 0).device_written_bytes, 0u);
}

TEST_F(Rung4Telemetry, SensorsArePlausible) {
  driver::ReadSensors(card());
  card().Advance(10 * kMillisecondPs);
  const SensorReading first = driver::ReadSensors(card());
  EXPECT_GT(first.power_w, 0);
  EXPECT_LT(first.power_w, 2 * first.power_limit_w);
  EXPECT_GT(first.temperature_c, 0);
  EXPECT_LT(first.temperature_c, 150);
  EXPECT_GE(first.core_clock_mhz, 1u);
  EXPECT_GE(first.ring_clock_mhz, 1u);
  EXPECT_GE(first.percent, 1u);
  EXPECT_LE(first.percent, 100u);
  card().Advance(10 * kMillisecondPs);
  const SensorReading second = driver::ReadSensors(card());
  EXPECT_GT(second.time_ps, first.time_ps);
  const double span_s = static_cast<double>(second.time_ps - first.time_ps) * 1e-12;
  EXPECT_NEAR(second.energy_j - first.energy_j, second.power_w * span_s,
              0.01 * second.power_w * span_s)
      << "the mean power of the time between two readings";
}

TEST_F(Rung4Telemetry, VitalProductDataNameTheCard) {
  RequireOwnConfigSpace();
  const driver::Vpd vpd = driver::ReadVpd(card());
  EXPECT_FALSE(vpd.name.empty());
  EXPECT_FALSE(vpd.fields.at("PN").empty());
  EXPECT_FALSE(vpd.fields.at("SN").empty());
}

TEST_F(Rung4Telemetry, ARecordOfTheErrorLogHasATimeOfTheCardsClock) {
  driver::PhysicalFunction physical(Physical());
  const uint64_t before = Physical().ReadTimePs();
  EXPECT_NE(FailureOf([&] { physical.ReleaseRegion(200, 0); }), "no error");
  const uint64_t after = Physical().ReadTimePs();
  const std::vector<driver::RasRecord> records = physical.ReadErrorLog();
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back().code, RasCode::ADMIN_REFUSED);
  EXPECT_GE(records.back().time_ps, before);
  EXPECT_LE(records.back().time_ps, after);
  const auto severities = physical.ReadErrorSeverities();
  EXPECT_GE(severities[static_cast<size_t>(RasSeverity::NON_FATAL)], 1u);
}

}  // namespace

void LinkTelemetryRung() {}

}  // namespace spyre::bringup
