// SPDX-License-Identifier: Apache-2.0
#include "model/card/telemetry.h"

#include <algorithm>
#include <cmath>

namespace spyre::model {

CardTelemetry::CardTelemetry(const sc_core::sc_module_name& name, const CardConfig& config,
                             Mmu& mmu, std::function<std::vector<UnitStatistics>()> units,
                             std::function<void(unsigned)> set_speed)
    : sc_module(name),
      config_(config),
      mmu_(mmu),
      units_(std::move(units)),
      set_speed_(std::move(set_speed)),
      counters_(static_cast<unsigned>(config.num_vfs) + 1,
                config.core.pt_macs_per_cycle * config.core.corelets),
      power_(config.power),
      governor_(config.power) {
  errors_.channels.resize(config.memory.channels);
  mmu_.OnNewTenant([this](unsigned function) { counters_.Restart(function, NowPs()); });
  SC_HAS_PROCESS(CardTelemetry);
  SC_METHOD(Throttle);
  sensitive << look_;
  dont_initialize();
  if (config.power.throttle != Throttle::kNone) counters_.OnBegin([this] { BeginWork(); });
}

CounterValues CardTelemetry::ReadCounters(uint32_t function) const {
  const bool whole = function == kWholeCard;
  if (!whole && function > config_.num_vfs) return {};
  CounterValues values = whole ? counters_.ReadCard(NowPs()) : counters_.Read(function, NowPs());
  const Mmu::Reserved& memory = whole ? mmu_.all_reserved() : mmu_.reserved(function);
  values[PerformanceCounter::kMemory] = memory.bytes;
  values[PerformanceCounter::kMemoryPeak] = memory.peak_bytes;
  return values;
}

Activity CardTelemetry::Done() const {
  const WorkDone work = counters_.ReadCardWork();
  Activity done = ActivityOf(units_());
  // Also where the memory's channels are not simulated (card.fidelity = "functional").
  done.memory_bytes = before_reset_.memory_bytes + work.bytes_read + work.bytes_written;
  done.fp16_macs = before_reset_.fp16_macs + work.fp16_macs;
  done.busy_ps = before_reset_.busy_ps + counters_.ReadCard(NowPs())[PerformanceCounter::kBusy];
  return done;
}

SensorReadings CardTelemetry::ReadSensors() {
  Evaluate(power_);
  SensorReadings readings;
  readings.time_ps = NowPs();
  readings.energy_nj = static_cast<uint64_t>(std::llround(power_.energy_j() * 1e9));
  readings.throttled_ps = throttled_ps_;
  if (outer_percent_ < 100) {
    readings.throttled_ps += NowPs() - outer_since_ps_;
  } else if (looking_ && governor_percent_ < 100) {
    readings.throttled_ps += NowPs() - looked_ps_;
  }
  const unsigned percent = std::min(governor_percent_, outer_percent_);
  readings.power_mw = static_cast<uint32_t>(std::lround(power_.power_w() * 1e3));
  readings.temperature_decidegrees =
      static_cast<uint32_t>(std::lround(power_.temperature_c() * 10));
  readings.core_clock_mhz = static_cast<uint32_t>(config_.clock.core_mhz * percent / 100);
  readings.ring_clock_mhz = static_cast<uint32_t>(config_.clock.ring_mhz);
  readings.percent = percent;
  readings.limited_by_power = governor_.limited_by_power();
  readings.limited_by_temperature = governor_.limited_by_temperature();
  readings.limited_from_outside = outer_percent_ < 100;
  return readings;
}

// What was done before is kept.
void CardTelemetry::CardReset() {
  const WorkDone work = counters_.ReadCardWork();
  before_reset_.memory_bytes += work.bytes_read + work.bytes_written;
  before_reset_.fp16_macs += work.fp16_macs;
  before_reset_.busy_ps += counters_.ReadCard(NowPs())[PerformanceCounter::kBusy];
  counters_.RestartAll(NowPs());
  mmu_.RestartPeak();
  errors_ = {};
  errors_.channels.resize(config_.memory.channels);
}

void CardTelemetry::Report(const HardwareError& error) {
  const uint32_t channel = error.detail[0] >> 8;
  const auto count = [&](uint32_t ErrorCounts::Channel::*kind) {
    ++(errors_.memory.*kind);
    if (channel < errors_.channels.size()) ++(errors_.channels[channel].*kind);
  };
  switch (error.code) {
    case RasCode::MEMORY_CORRECTED:
      count(&ErrorCounts::Channel::corrected);
      break;
    case RasCode::MEMORY_UNCORRECTED:
    case RasCode::MEMORY_POISONED:
      count(&ErrorCounts::Channel::uncorrected);
      break;
    case RasCode::LX_PARITY:
      ++errors_.lx_parity;
      break;
    case RasCode::RING_RETRY:
      errors_.ring_retries += error.detail[1];
      break;
    case RasCode::RING_DEAD:
      ++errors_.ring_dead;
      break;
    case RasCode::PCIE_RETRAIN:
      ++errors_.pcie_retrains;
      break;
    default:  // no fault of the hardware: throttling
      break;
  }
  if (next_ != nullptr) next_->Report(error);
}

// ---------------------------------------------------------------- throttling

void CardTelemetry::BeginWork() {
  if (looking_) return;
  Evaluate(governor_);
  governor_.DecideAfterIdle();
  FollowGovernor();
  looking_ = true;
  looked_ps_ = NowPs();
  look_.notify(Ps(config_.power.interval_us * 1000000));
}

// Work that never ends by itself must not look as if something went on in the card.
void CardTelemetry::Throttle() {
  if (governor_percent_ < 100 && outer_percent_ == 100) throttled_ps_ += NowPs() - looked_ps_;
  looked_ps_ = NowPs();
  looking_ = counters_.busy() && sc_core::sc_pending_activity();
  if (!looking_) return;
  Evaluate(governor_);
  governor_.Decide();
  FollowGovernor();
  look_.notify(Ps(config_.power.interval_us * 1000000));
}

void CardTelemetry::FollowGovernor() {
  const unsigned before = governor_percent_;
  governor_percent_ = governor_.percent();
  if (governor_percent_ == before) return;
  UseSpeed();
  if (before != 100 && governor_percent_ != 100) return;  // it goes on
  HardwareError event;
  event.severity = RasSeverity::INFO;
  event.detail[1] = governor_percent_;
  event.code = RasCode::POWER_LIMIT;
  event.detail[0] = static_cast<uint32_t>(std::lround(governor_.power_w() * 1e3));
  if (governor_.limited_by_temperature()) {
    event.code = RasCode::THERMAL_THROTTLE;
    event.detail[0] = static_cast<uint32_t>(std::lround(governor_.temperature_c() * 10));
  }
  Report(event);
}

void CardTelemetry::LimitSpeed(unsigned percent) {
  if (outer_percent_ < 100) throttled_ps_ += NowPs() - outer_since_ps_;
  outer_since_ps_ = looked_ps_ = NowPs();
  outer_percent_ = percent;
  UseSpeed();
}

void CardTelemetry::UseSpeed() { set_speed_(std::min(governor_percent_, outer_percent_)); }

}  // namespace spyre::model
