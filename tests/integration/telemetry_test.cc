// SPDX-License-Identifier: Apache-2.0
// Performance counters, sensors and the error log of a whole card, through its driver: against
// arithmetic by hand, on both control processors, of both kinds of function, serial and pipelined.
#include "driver/telemetry.h"

#include <gmock/gmock.h>

#include <tuple>

#include "base/ranges.h"
#include "bringup/ladder/raw_queue.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::telemetry_test {
namespace {

using bringup::RawQueue;
using driver::PerformanceReading;
using ::testing::HasSubstr;
constexpr uint64_t kEntryBytesInRing = 128, kMsiBytes = 4;

// card.control.fidelity, card.concurrency, virtual functions (0: the PF works).
class Telemetry
    : public CardFixture,
      public ::testing::WithParamInterface<std::tuple<const char*, const char*, unsigned>> {
 protected:
  Telemetry() {
    config_.control.fidelity = test::Named(std::get<0>(GetParam()));
    config_.concurrency = test::Named(std::get<1>(GetParam()));
    config_.cores = 2;
  }
  unsigned vfs() const { return std::get<2>(GetParam()); }
  driver::FunctionId worker() const { return vfs() > 0 ? 1 : 0; }
  PerformanceReading Own() { return driver::ReadCounters(*transport_, worker()); }
};

TEST_P(Telemetry, CountWhatCopiesMoveToTheByte) {
  Open(vfs());
  const flex::DeviceHandle device = context_->Allocate(1 << 20);
  context_->DefaultStream().Synchronize();
  const PerformanceReading before = Own();
  const PerformanceReading card_before = driver::ReadCardCounters(*transport_);
  const auto msi = [&] {
    return driver::FunctionRegisters(driver::Bar0{transport_.get(), worker()}).ReadIntCount();
  };
  msi();

  std::vector<uint8_t> host(204'800, 7);
  context_->DefaultStream().CopyToDevice(host.data(), device, host.size());
  context_->DefaultStream().Synchronize();
  context_->DefaultStream().CopyFromDevice(host.data(), device, 51'200);
  context_->DefaultStream().Synchronize();

  const uint64_t interrupts = msi();
  const PerformanceReading after = Own();
  EXPECT_EQ(after.operations - before.operations, 2u);
  EXPECT_EQ(after.device_written_bytes - before.device_written_bytes, 204'800u);
  EXPECT_EQ(after.device_read_bytes - before.device_read_bytes, 51'200u);
  EXPECT_EQ(after.pcie_received_bytes - before.pcie_received_bytes,
            204'800 + 2 * kEntryBytesInRing);
  EXPECT_EQ(after.pcie_sent_bytes - before.pcie_sent_bytes,
            51'200 + 2 * kEntryBytesInRing + interrupts * kMsiBytes);
  // Requests of 4 KiB: 50 and 13.
  EXPECT_EQ(after.device_writes - before.device_writes, 50u);
  EXPECT_EQ(after.device_reads - before.device_reads, 13u);
  EXPECT_EQ(after.peer_read_bytes + after.peer_written_bytes, 0u);
  EXPECT_EQ(after.macs, 0u);
  // Busy while the two ran, which their responses tell.
  const auto completed = context_->CompletedOperations();
  uint64_t ran_ps = 0;
  for (size_t i = completed.size() - 2; i < completed.size(); ++i)
    ran_ps += completed[i].finished_ps - completed[i].started_ps;
  EXPECT_NEAR(static_cast<double>(after.busy_ps - before.busy_ps), static_cast<double>(ran_ps),
              2'000.0);

  const PerformanceReading card = driver::ReadCardCounters(*transport_);
  EXPECT_EQ(card.device_written_bytes - card_before.device_written_bytes, 204'800u);
  EXPECT_EQ(card.device_read_bytes - card_before.device_read_bytes, 51'200u);
  EXPECT_EQ(card.operations - card_before.operations, 2u);
}

TEST_P(Telemetry, CountWhatALaunchComputes) {
  Open(vfs());
  Upload(std::vector<uint16_t>(8 * 64));
  Upload(std::vector<uint16_t>(64 * 64));
  context_->DefaultStream().Synchronize();
  // 8 x 64 by 64 x 64, twice on each of two cores: 4 x 32768 multiply-accumulates.
  const std::string text = R"(
.program products
.cores 0x3
.lx 2031616
.section pt 0x3
  li r0, 0
  li r1, 0x8000
  li r2, 0x10000
  li r3, 8
  li r4, 64
  li r5, 64
  li r6, 1024
  li r7, 8192
  li r8, 2048
  li r9, 0
  matmul r0, r1, r2, r3, r4, r5, r6, r7, r8, r9
  matmul r0, r1, r2, r3, r4, r5, r6, r7, r8, r9
)";
  const flex::DeviceHandle program = Load(Assemble(text));
  const PerformanceReading before = Own();
  context_->DefaultStream().Launch(program);
  context_->DefaultStream().Synchronize();
  const flex::CompletedOperation launch = context_->CompletedOperations().back();
  ASSERT_EQ(launch.status, Status::OK);
  const PerformanceReading after = Own();
  EXPECT_EQ(after.macs - before.macs, 4u * 8 * 64 * 64);
  EXPECT_EQ(after.pt_active_cycles - before.pt_active_cycles, 4u * 8 * 64 * 64 / 1024)
      << "512 multiply-accumulates in a cycle on each of two corelets";
  EXPECT_EQ(after.device_read_bytes - before.device_read_bytes, launch.device_bytes_read);
  EXPECT_EQ(after.operations - before.operations, 1u);
  EXPECT_GT(after.busy_ps - before.busy_ps, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Card, Telemetry,
    ::testing::Values(std::tuple{"timed", "serial", 0u}, std::tuple{"timed", "serial", 2u},
                      std::tuple{"timed", "pipelined", 0u}, std::tuple{"timed", "pipelined", 2u},
                      std::tuple{"rtl", "serial", 0u}, std::tuple{"rtl", "serial", 2u},
                      std::tuple{"rtl", "pipelined", 2u}),
    [](const auto& test) {
      return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param) +
             (std::get<2>(test.param) > 0 ? "_VF" : "_PF");
    });

class CountersOfTenants : public CardFixture {
 protected:
  void Copy(size_t bytes) {
    std::vector<uint8_t> host(bytes);
    const flex::DeviceHandle device = context_->Allocate(bytes);
    context_->DefaultStream().CopyToDevice(host.data(), device, bytes);
    context_->DefaultStream().Synchronize();
  }
};

TEST_F(CountersOfTenants, AFunctionSeesItsOwnAndNothingElse) {
  Open(2);
  Copy(64 << 10);
  EXPECT_EQ(driver::ReadCounters(*transport_, 1).device_written_bytes, 64u << 10);
  driver::Device second(*transport_, 2);
  const PerformanceReading other = driver::ReadCounters(*transport_, 2);
  EXPECT_EQ(other.device_written_bytes, 0u);
  EXPECT_EQ(other.operations, 0u);
  // What is the physical function's alone reads as nothing, whatever is written.
  for (const regs::RegisterInfo& info : regs::kRegisters) {
    const bool telemetry =
        info.offset >= regs::CARD_LATCH && info.offset < regs::CARD_LATCH + 0x4000;
    if (!telemetry) continue;
    transport_->Write32(2, 0, info.offset, 1);
    EXPECT_EQ(transport_->Read32(2, 0, info.offset), 0u) << info.name;
  }
  // The physical function sees both.
  EXPECT_EQ(driver::ReadCountersOf(*transport_, 1).device_written_bytes, 64u << 10);
  EXPECT_EQ(driver::ReadCountersOf(*transport_, 2).device_written_bytes, 0u);
  EXPECT_EQ(driver::ReadCountersOf(*transport_, 77).time_ps, 0u) << "no such function";
}

TEST_F(CountersOfTenants, StartAgainWithAFunctionLevelResetAndTheCardsDoNot) {
  Open(2);
  Copy(4096);
  const uint64_t card = driver::ReadCardCounters(*transport_).device_written_bytes;
  EXPECT_EQ(card, 4096u);
  context_.reset();
  {
    driver::Device function(*transport_, 1);
    function.Reset();
    const PerformanceReading fresh = driver::ReadCounters(*transport_, 1);
    EXPECT_EQ(fresh.device_written_bytes, 0u);
    EXPECT_EQ(fresh.busy_ps, 0u);
    EXPECT_EQ(fresh.memory_peak_bytes, fresh.memory_bytes);
  }
  EXPECT_EQ(driver::ReadCardCounters(*transport_).device_written_bytes, card);
}

TEST_F(CountersOfTenants, StartAgainWhenARegionGoesToSomebodyElse) {
  Open(2);
  Copy(4096);
  driver::PhysicalFunction(*admin_).ReleaseRegion(1, 6);
  EXPECT_EQ(driver::ReadCounters(*transport_, 1).device_written_bytes, 0u);
}

TEST_F(CountersOfTenants, MemoryIsWhatTheFunctionMayUseAndItsPeak) {
  Open(2);
  EXPECT_EQ(driver::ReadCounters(*transport_, 1).memory_bytes, 8 * kRegionBytes);
  EXPECT_EQ(driver::ReadCardCounters(*transport_).memory_bytes, 16 * kRegionBytes);
  driver::PhysicalFunction(*admin_).ReleaseRegion(2, 0);
  EXPECT_EQ(driver::ReadCardCounters(*transport_).memory_bytes, 15 * kRegionBytes);
  EXPECT_EQ(driver::ReadCardCounters(*transport_).memory_peak_bytes, 16 * kRegionBytes);
}

TEST_F(CountersOfTenants, KeepTheirLatchedValueUntilTheNextLatch) {
  Open();
  driver::FunctionRegisters registers(driver::Bar0{transport_.get(), 0});
  registers.WritePerfLatch(1);
  const uint64_t time = registers.ReadPerfTime();
  Copy(4096);
  EXPECT_EQ(registers.ReadPerfTime(), time);
  EXPECT_EQ(registers.ReadPerfDeviceWritten(), 0u);
  registers.WritePerfLatch(1);
  EXPECT_EQ(registers.ReadPerfDeviceWritten(), 4096u);
  EXPECT_GT(registers.ReadPerfTime(), time);
}

TEST_F(CountersOfTenants, OfTheCardStartAgainWhenItIsReset) {
  Open();
  Copy(4096);
  context_.reset();
  const double energy = driver::ReadSensors(*transport_).energy_j;
  transport_->HotReset();
  driver::Device physical(*transport_, 0);
  EXPECT_EQ(driver::ReadCardCounters(*transport_).device_written_bytes, 0u);
  EXPECT_GT(driver::ReadSensors(*transport_).energy_j, energy) << "heat knows no reset";
}

class Sensors : public CardFixture {};

TEST_F(Sensors, OfAnIdleCardAreThoseOfItsParameters) {
  config_.power.idle_mw = 30'000;
  config_.power.ambient_c = 20;
  config_.power.thermal_mk_per_w = 400;
  Open();
  driver::ReadSensors(*transport_);
  transport_->Advance(1'000'000'000'000);
  const driver::SensorReading reading = driver::ReadSensors(*transport_);
  EXPECT_NEAR(reading.power_w, 30, 0.001);
  EXPECT_NEAR(reading.temperature_c, 20 + 0.4 * 30, 0.05);
  EXPECT_EQ(reading.core_clock_mhz, 1114u);
  EXPECT_EQ(reading.ring_clock_mhz, 1300u);
  EXPECT_EQ(reading.percent, 100u);
  EXPECT_DOUBLE_EQ(reading.power_limit_w, 75);
  EXPECT_DOUBLE_EQ(reading.temperature_limit_c, 95);
}

TEST_F(Sensors, AddTheEnergyOfACopy) {
  // Only device memory costs anything: 1 nJ a byte.
  config_.power = {};
  config_.power.idle_mw = config_.power.busy_mw = config_.power.pcie_byte_fj = 0;
  config_.power.memory_byte_fj = 1'000'000;
  config_.power.ambient_c = 40;
  Open();
  const double before = driver::ReadSensors(*transport_).energy_j;
  const std::vector<uint8_t> host(1 << 20);
  const flex::DeviceHandle device = context_->Allocate(host.size());
  context_->DefaultStream().CopyToDevice(host.data(), device, host.size());
  context_->DefaultStream().Synchronize();
  const driver::SensorReading after = driver::ReadSensors(*transport_);
  EXPECT_NEAR(after.energy_j - before, 1e-9 * (1 << 20), 2e-9);
  EXPECT_NEAR(after.temperature_c, 40, 0.1);
}

// A PT array that works for most of a millisecond.
constexpr const char* kHotProgram = R"(
.program hot
.cores 0x1
.lx 2031616
.section pt 0x1
  li r0, 0
  li r1, 0x40000
  li r2, 0x80000
  li r3, 128
  li r4, 64
  li r5, 512
  li r6, 16384
  li r7, 65536
  li r8, 32768
  li r9, 0
  li r11, 200
  loop r10, r11
    matmul r0, r1, r2, r3, r4, r5, r6, r7, r8, r9
  end
)";

class Throttling : public CardFixture {
 protected:
  // The device time of the program on a card whose multiply-accumulates take so much.
  uint64_t RunHot(uint64_t mac_fj) {
    config_.cores = 1;
    config_.power.mac_fj = mac_fj;
    config_.power.interval_us = 20;
    Open();
    context_->DefaultStream().Launch(Load(Assemble(kHotProgram)));
    context_->DefaultStream().Synchronize();
    const flex::CompletedOperation launch = context_->CompletedOperations().back();
    EXPECT_EQ(launch.status, Status::OK);
    return launch.finished_ps - launch.started_ps;
  }
};

// 1 024 multiply-accumulates a cycle at 1.1 GHz: 100 pJ each are some 110 W.
TEST_F(Throttling, IsOffUnlessAskedFor) {
  const uint64_t time = RunHot(100'000);
  EXPECT_EQ(driver::ReadSensors(*transport_).percent, 100u);
  EXPECT_GT(time, 100'000'000u) << "several intervals";
}

TEST_F(Throttling, OverThePowerLimitCostsTimeAndIsLogged) {
  config_.power.throttle = model::Throttle::kClock;
  const uint64_t time = RunHot(100'000);
  const driver::SensorReading reading = driver::ReadSensors(*transport_);
  EXPECT_TRUE(reading.limited_by_power);
  EXPECT_LT(reading.percent, 70u);
  EXPECT_EQ(reading.core_clock_mhz, 1114u * reading.percent / 100);
  EXPECT_GT(reading.throttled_ps, time / 2);
  context_.reset();
  driver::Device physical(*transport_, 0);
  const std::vector<driver::RasRecord> records = driver::PhysicalFunction(physical).ReadErrorLog();
  const auto found =
      FindIf(records, [](const auto& record) { return record.code == RasCode::POWER_LIMIT; });
  ASSERT_NE(found, records.end());
  EXPECT_EQ(found->severity, RasSeverity::INFO);
  EXPECT_GT(found->detail[0], 75'000u) << "mW";
  EXPECT_THAT(driver::Text(*found), HasSubstr("INFO POWER_LIMIT function 0: "));
}

// ---------------------------------------------------------------- errors

class Errors : public CardFixture {
 protected:
  model::FaultSpec At(model::FaultKind kind, uint64_t address) {
    model::FaultSpec fault;
    fault.kind = kind;
    fault.where.address = address;
    return fault;
  }
};

TEST_F(Errors, OfDeviceMemoryAreCountedByChannelAndLoggedWithTimeAndPlace) {
  config_.faults = {At(model::FaultKind::kMemorySingleBit, 128)};
  config_.faults[0].when.count = 2;  // the first access writes, and makes right what was wrong
  Open();
  const flex::DeviceHandle device = context_->Allocate(64 << 10);
  std::vector<uint8_t> host(64 << 10);
  context_->DefaultStream().CopyToDevice(host.data(), device, host.size());
  context_->DefaultStream().Synchronize();
  const uint64_t before = transport_->NowPs();
  context_->DefaultStream().CopyFromDevice(host.data(), device, host.size());
  context_->DefaultStream().Synchronize();
  const uint64_t after = transport_->NowPs();
  driver::ErrorReading errors = driver::ReadErrors(*transport_, 16);
  EXPECT_EQ(errors.corrected, 1u);
  EXPECT_EQ(errors.uncorrected, 0u);
  // The first 256 bytes are on channel 0.
  for (size_t channel = 0; channel < errors.channels.size(); ++channel)
    EXPECT_EQ(errors.channels[channel].corrected, channel == 0 ? 1u : 0u) << channel;

  context_.reset();
  {
    driver::Device physical(*transport_, 0);
    const std::vector<driver::RasRecord> records =
        driver::PhysicalFunction(physical).ReadErrorLog();
    ASSERT_FALSE(records.empty());
    const driver::RasRecord& record = records.front();
    EXPECT_EQ(record.code, RasCode::MEMORY_CORRECTED);
    EXPECT_EQ(record.severity, RasSeverity::CORRECTED);
    EXPECT_EQ(record.detail[0] >> 8, 0u) << "channel";
    EXPECT_GE(record.time_ps, before);
    EXPECT_LE(record.time_ps, after);
    EXPECT_THAT(driver::Text(record), HasSubstr("channel 0, bank "));
    physical.Reset();
    EXPECT_EQ(driver::PhysicalFunction(physical).ReadErrorLog().front().code,
              RasCode::MEMORY_CORRECTED)
        << "the log survives a function-level reset";
  }
  EXPECT_EQ(driver::ReadErrors(*transport_, 0).corrected, 1u);
  transport_->HotReset();
  driver::Device physical(*transport_, 0);
  EXPECT_EQ(driver::ReadErrors(*transport_, 0).corrected, 0u);
  EXPECT_TRUE(driver::PhysicalFunction(physical).ReadErrorLog().empty()) << "the firmware booted";
}

TEST_F(Errors, APowerBrakeShowsInTheSensors) {
  model::FaultSpec brake;
  brake.kind = model::FaultKind::kPowerBrake;
  brake.when.time_ps = 200'000'000'000;
  brake.lasts_ps = 1'000'000'000;
  brake.percent = 40;
  config_.faults = {brake};
  Open();
  transport_->Advance(200'500'000'000 - transport_->NowPs());
  driver::SensorReading reading = driver::ReadSensors(*transport_);
  EXPECT_EQ(reading.percent, 40u);
  EXPECT_EQ(reading.core_clock_mhz, 1114u * 40 / 100);
  EXPECT_TRUE(reading.limited_from_outside);
  EXPECT_FALSE(reading.limited_by_power);
  transport_->Advance(1'000'000'000);
  reading = driver::ReadSensors(*transport_);
  EXPECT_EQ(reading.percent, 100u);
  EXPECT_EQ(reading.throttled_ps, 1'000'000'000u);
}

}  // namespace
}  // namespace spyre::test::telemetry_test
