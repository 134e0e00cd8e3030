// SPDX-License-Identifier: Apache-2.0
// Registers that show what the card tells of itself: they keep what their latch register has taken,
// so that all of them belong to one moment, and the two halves of a counter to one value.
#include "model/card/function_registers.h"

namespace spyre::model {

void FunctionRegisters::ShowCounters(const Register& time_lo, const CounterValues& values) {
  for (size_t i = 0; i < kPerformanceCounters; ++i) {
    const uint32_t low = time_lo.offset() + static_cast<uint32_t>(8 * i);
    RegisterPair(bar0_.At(low), bar0_.At(low + 4)).Set(values.at(i));
  }
}

void FunctionRegisters::WireCounters() {
  bar0_.perf_latch.OnWrite([this](uint32_t) {
    ShowCounters(bar0_.perf_time_lo, blocks_.telemetry.ReadCounters(function_));
  });
}

void FunctionRegisters::ShowSensors() {
  const SensorReadings readings = blocks_.telemetry.ReadSensors();
  bar0_.sensor_power.Set(readings.power_mw);
  bar0_.sensor_temperature.Set(readings.temperature_decidegrees);
  bar0_.sensor_core_clock.Set(readings.core_clock_mhz);
  bar0_.sensor_ring_clock.Set(readings.ring_clock_mhz);
  bar0_.sensor_throttle.Set(
      readings.percent << regs::SENSOR_THROTTLE_PERCENT_SHIFT |
      (readings.limited_by_power ? regs::SENSOR_THROTTLE_POWER_MASK : 0) |
      (readings.limited_by_temperature ? regs::SENSOR_THROTTLE_TEMPERATURE_MASK : 0) |
      (readings.limited_from_outside ? regs::SENSOR_THROTTLE_OUTSIDE_MASK : 0));
  bar0_.sensor_power_limit.Set(static_cast<uint32_t>(config_.power.limit_mw));
  bar0_.sensor_temperature_limit.Set(static_cast<uint32_t>(config_.power.limit_c * 10));
  bar0_.sensor_time.Set(readings.time_ps);
  bar0_.sensor_energy.Set(readings.energy_nj);
  bar0_.sensor_throttled.Set(readings.throttled_ps);
}

void FunctionRegisters::WireCardTelemetry() {
  CardTelemetry& telemetry = blocks_.telemetry;
  bar0_.card_latch.OnWrite([this, &telemetry](uint32_t function) {
    ShowCounters(bar0_.card_time_lo, telemetry.ReadCounters(function));
  });
  bar0_.sensor_latch.OnWrite([this](uint32_t) { ShowSensors(); });

  using Channel = ErrorCounts::Channel;
  const auto of_channel = [this, &telemetry](Register& shown, uint32_t Channel::*count) {
    shown.OnRead([this, &telemetry, count] {
      const uint32_t channel = bar0_.ecc_select.value();
      const std::vector<Channel>& channels = telemetry.errors().channels;
      return channel < channels.size() ? channels[channel].*count : 0;
    });
  };
  of_channel(bar0_.ecc_channel_corrected, &Channel::corrected);
  of_channel(bar0_.ecc_channel_uncorrected, &Channel::uncorrected);
  const auto shows = [&telemetry](Register& shown, auto value) {
    shown.OnRead([&telemetry, value] { return value(telemetry.errors()); });
  };
  shows(bar0_.ecc_corrected, [](const ErrorCounts& e) { return e.memory.corrected; });
  shows(bar0_.ecc_uncorrected, [](const ErrorCounts& e) { return e.memory.uncorrected; });
  shows(bar0_.ecc_lx_parity, [](const ErrorCounts& e) { return e.lx_parity; });
  shows(bar0_.ecc_ring_retries, [](const ErrorCounts& e) { return e.ring_retries; });
  shows(bar0_.ecc_ring_dead, [](const ErrorCounts& e) { return e.ring_dead; });
  shows(bar0_.ecc_pcie_retrains, [](const ErrorCounts& e) { return e.pcie_retrains; });
}

}  // namespace spyre::model
