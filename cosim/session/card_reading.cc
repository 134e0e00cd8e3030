// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/card_reading.h"

#include "model/contract/memory_map.h"

namespace spyre::cosim {
namespace {

driver::PerformanceReading Counters(const model::CounterValues& values) {
  return driver::ReadingOf([&](size_t counter) { return values.at(counter); });
}

driver::SensorReading Sensors(const model::SensorReadings& values) {
  driver::SensorReading reading;
  reading.time_ps = values.time_ps;
  reading.power_w = values.power_mw * 1e-3;
  reading.temperature_c = values.temperature_decidegrees * 0.1;
  reading.core_clock_mhz = values.core_clock_mhz;
  reading.ring_clock_mhz = values.ring_clock_mhz;
  reading.percent = values.percent;
  reading.limited_by_power = values.limited_by_power;
  reading.limited_by_temperature = values.limited_by_temperature;
  reading.limited_from_outside = values.limited_from_outside;
  reading.energy_j = static_cast<double>(values.energy_nj) * 1e-9;
  reading.throttled_ps = values.throttled_ps;
  return reading;
}

}  // namespace

SmiReading ReadCard(model::Card& card) {
  SmiReading reading;
  reading.card = Counters(card.telemetry().ReadCounters(model::CardTelemetry::kWholeCard));
  reading.sensors = Sensors(card.telemetry().ReadSensors());
  reading.sensors.power_limit_w = static_cast<double>(card.config().power.limit_mw) * 1e-3;
  reading.sensors.temperature_limit_c = static_cast<double>(card.config().power.limit_c);
  reading.cores = card.config().cores;
  reading.core_clock_mhz = card.config().clock.core_mhz;
  reading.segment_bytes.assign(kRegions, 0);
  for (unsigned function = 1; function <= card.config().num_vfs; ++function) {
    for (unsigned region = 0; region < kRegions; ++region)
      reading.segment_bytes[region] += card.mmu().region(function, region).length;
  }
  return reading;
}

}  // namespace spyre::cosim
