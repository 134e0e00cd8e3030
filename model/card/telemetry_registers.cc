// SPDX-License-Identifier: Apache-2.0
// Registers that show what the card tells of itself: they keep what their latch register has taken,
// so that all of them belong to one moment, and the two halves of a counter to one value.
#include "model/card/function_registers.h"

namespace spyre::model {

void FunctionRegisters::PokePair(uint32_t low_offset, uint64_t value) {
  registers_.Poke(low_offset, static_cast<uint32_t>(value));
  registers_.Poke(low_offset + 4, static_cast<uint32_t>(value >> 32));
}

void FunctionRegisters::ShowCounters(uint32_t time_lo, const CounterValues& values) {
  for (size_t i = 0; i < kPerformanceCounters; ++i)
    PokePair(time_lo + static_cast<uint32_t>(8 * i), values.at(i));
}

void FunctionRegisters::WireCounters() {
  registers_.OnWrite(regs::PERF_LATCH, [this](uint32_t) {
    ShowCounters(regs::PERF_TIME_LO, blocks_.telemetry.ReadCounters(function_));
  });
}

void FunctionRegisters::ShowSensors() {
  const SensorReadings readings = blocks_.telemetry.ReadSensors();
  registers_.Poke(regs::SENSOR_POWER, readings.power_mw);
  registers_.Poke(regs::SENSOR_TEMPERATURE, readings.temperature_decidegrees);
  registers_.Poke(regs::SENSOR_CORE_CLOCK, readings.core_clock_mhz);
  registers_.Poke(regs::SENSOR_RING_CLOCK, readings.ring_clock_mhz);
  registers_.Poke(
      regs::SENSOR_THROTTLE,
      readings.percent << regs::SENSOR_THROTTLE_PERCENT_SHIFT |
          (readings.limited_by_power ? regs::SENSOR_THROTTLE_POWER_MASK : 0) |
          (readings.limited_by_temperature ? regs::SENSOR_THROTTLE_TEMPERATURE_MASK : 0) |
          (readings.limited_from_outside ? regs::SENSOR_THROTTLE_OUTSIDE_MASK : 0));
  registers_.Poke(regs::SENSOR_POWER_LIMIT, static_cast<uint32_t>(config_.power.limit_mw));
  registers_.Poke(regs::SENSOR_TEMPERATURE_LIMIT,
                  static_cast<uint32_t>(config_.power.limit_c * 10));
  PokePair(regs::SENSOR_TIME_LO, readings.time_ps);
  PokePair(regs::SENSOR_ENERGY_LO, readings.energy_nj);
  PokePair(regs::SENSOR_THROTTLED_LO, readings.throttled_ps);
}

void FunctionRegisters::WireCardTelemetry() {
  CardTelemetry& telemetry = blocks_.telemetry;
  registers_.OnWrite(regs::CARD_LATCH, [this, &telemetry](uint32_t function) {
    ShowCounters(regs::CARD_TIME_LO, telemetry.ReadCounters(function));
  });
  registers_.OnWrite(regs::SENSOR_LATCH, [this](uint32_t) { ShowSensors(); });

  using Channel = ErrorCounts::Channel;
  const auto of_channel = [this, &telemetry](uint32_t offset, uint32_t Channel::*count) {
    registers_.OnRead(offset, [this, &telemetry, count] {
      const uint32_t channel = registers_.Peek(regs::ECC_SELECT);
      const std::vector<Channel>& channels = telemetry.errors().channels;
      return channel < channels.size() ? channels[channel].*count : 0;
    });
  };
  of_channel(regs::ECC_CHANNEL_CORRECTED, &Channel::corrected);
  of_channel(regs::ECC_CHANNEL_UNCORRECTED, &Channel::uncorrected);
  const auto shows = [this, &telemetry](uint32_t offset, auto value) {
    registers_.OnRead(offset, [&telemetry, value] { return value(telemetry.errors()); });
  };
  shows(regs::ECC_CORRECTED, [](const ErrorCounts& e) { return e.memory.corrected; });
  shows(regs::ECC_UNCORRECTED, [](const ErrorCounts& e) { return e.memory.uncorrected; });
  shows(regs::ECC_LX_PARITY, [](const ErrorCounts& e) { return e.lx_parity; });
  shows(regs::ECC_RING_RETRIES, [](const ErrorCounts& e) { return e.ring_retries; });
  shows(regs::ECC_RING_DEAD, [](const ErrorCounts& e) { return e.ring_dead; });
  shows(regs::ECC_PCIE_RETRAINS, [](const ErrorCounts& e) { return e.pcie_retrains; });
}

}  // namespace spyre::model
