// SPDX-License-Identifier: Apache-2.0
#include "driver/telemetry.h"

#include <contract/registers.h>

#include <iterator>

#include "driver/function_registers.h"
#include "driver/pci.h"
#include "model/contract/memory_map.h"

namespace spyre::driver {
namespace {

FunctionRegisters RegistersOf(Transport& card, FunctionId function) {
  return FunctionRegisters(Bar0{&card, function});
}

void RequireCard(Transport& card, FunctionId function) {
  RequirePresent(function, card.Read32(function, 0, regs::MAGIC), "telemetry");
}

// The counters in the order of their registers.
constexpr uint64_t PerformanceReading::*kCounters[] = {
    &PerformanceReading::time_ps,
    &PerformanceReading::device_read_bytes,
    &PerformanceReading::device_written_bytes,
    &PerformanceReading::pcie_received_bytes,
    &PerformanceReading::pcie_sent_bytes,
    &PerformanceReading::peer_read_bytes,
    &PerformanceReading::peer_written_bytes,
    &PerformanceReading::device_reads,
    &PerformanceReading::device_writes,
    &PerformanceReading::pcie_reads,
    &PerformanceReading::pcie_writes,
    &PerformanceReading::peer_reads,
    &PerformanceReading::peer_writes,
    &PerformanceReading::operations,
    &PerformanceReading::busy_ps,
    &PerformanceReading::pt_active_cycles,
    &PerformanceReading::macs,
    &PerformanceReading::memory_bytes,
    &PerformanceReading::memory_peak_bytes,
};
static_assert(std::size(kCounters) == (regs::PERF_MEMORY_PEAK_LO - regs::PERF_TIME_LO) / 8 + 1,
              "name the last register here");

PerformanceReading Latched(Transport& card, FunctionId function, uint32_t latch, uint32_t value,
                           uint32_t offset) {
  RequireCard(card, function);
  card.Write32(function, 0, latch, value);
  return ReadingOf([&](size_t counter) {
    const uint32_t at = offset + static_cast<uint32_t>(counter) * 8;
    const uint64_t low = card.Read32(function, 0, at);
    return static_cast<uint64_t>(card.Read32(function, 0, at + 4)) << 32 | low;
  });
}

}  // namespace

PerformanceReading ReadingOf(const std::function<uint64_t(size_t)>& value) {
  PerformanceReading reading;
  for (size_t i = 0; i < std::size(kCounters); ++i) reading.*kCounters[i] = value(i);
  return reading;
}

PerformanceReading ReadCounters(Transport& card, FunctionId function) {
  return Latched(card, function, regs::PERF_LATCH, 1, regs::PERF_TIME_LO);
}

PerformanceReading ReadCountersOf(Transport& card, FunctionId function) {
  return Latched(card, 0, regs::CARD_LATCH, function, regs::CARD_TIME_LO);
}

PerformanceReading ReadCardCounters(Transport& card) {
  return Latched(card, 0, regs::CARD_LATCH, UINT32_MAX, regs::CARD_TIME_LO);
}

SensorReading ReadSensors(Transport& card) {
  RequireCard(card, 0);
  FunctionRegisters registers = RegistersOf(card, 0);
  registers.WriteSensorLatch(1);
  SensorReading reading;
  reading.time_ps = registers.ReadSensorTime();
  reading.power_w = registers.ReadSensorPower() * 1e-3;
  reading.temperature_c = registers.ReadSensorTemperature() * 0.1;
  reading.core_clock_mhz = registers.ReadSensorCoreClock();
  reading.ring_clock_mhz = registers.ReadSensorRingClock();
  const uint32_t throttle = registers.ReadSensorThrottle();
  reading.percent =
      (throttle & regs::SENSOR_THROTTLE_PERCENT_MASK) >> regs::SENSOR_THROTTLE_PERCENT_SHIFT;
  reading.limited_by_power = (throttle & regs::SENSOR_THROTTLE_POWER_MASK) != 0;
  reading.limited_by_temperature = (throttle & regs::SENSOR_THROTTLE_TEMPERATURE_MASK) != 0;
  reading.limited_from_outside = (throttle & regs::SENSOR_THROTTLE_OUTSIDE_MASK) != 0;
  reading.power_limit_w = registers.ReadSensorPowerLimit() * 1e-3;
  reading.temperature_limit_c = registers.ReadSensorTemperatureLimit() * 0.1;
  reading.energy_j = static_cast<double>(registers.ReadSensorEnergy()) * 1e-9;
  reading.throttled_ps = registers.ReadSensorThrottled();
  return reading;
}

ErrorReading ReadErrors(Transport& card, unsigned channels) {
  RequireCard(card, 0);
  FunctionRegisters registers = RegistersOf(card, 0);
  ErrorReading reading;
  for (unsigned channel = 0; channel < channels; ++channel) {
    registers.WriteEccSelect(channel);
    reading.channels.push_back(
        {registers.ReadEccChannelCorrected(), registers.ReadEccChannelUncorrected()});
  }
  reading.corrected = registers.ReadEccCorrected();
  reading.uncorrected = registers.ReadEccUncorrected();
  reading.lx_parity = registers.ReadEccLxParity();
  reading.ring_retries = registers.ReadEccRingRetries();
  reading.ring_dead = registers.ReadEccRingDead();
  reading.pcie_retrains = registers.ReadEccPcieRetrains();
  return reading;
}

std::vector<uint64_t> ReadRegions(Transport& card, FunctionId function) {
  RequireCard(card, function);
  FunctionRegisters registers = RegistersOf(card, function);
  std::vector<uint64_t> bytes;
  for (unsigned region = 0; region < kRegions; ++region) {
    registers.WriteRegionSelect(region);
    bytes.push_back(registers.ReadRegionLength());
  }
  return bytes;
}

}  // namespace spyre::driver
