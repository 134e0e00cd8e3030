// SPDX-License-Identifier: Apache-2.0
// What the card tells of itself: performance counters, sensors, counts of errors of the hardware;
// and the throttling that follows from the sensors, if card.power.throttle says so. Registers and
// monitors read all of it without an effect on anything.
//
// Sensors are evaluated when somebody reads them: what the card has done since the reading before
// counts as spread evenly over that time. With throttling they are also read each
// card.power.interval_us while an operation runs. Kernel thread only.
#pragma once

#include <array>
#include <functional>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/hardware_error.h"
#include "model/common/performance_counters.h"
#include "model/common/resource.h"
#include "model/common/transfer.h"
#include "model/mmu/mmu.h"
#include "model/power/power_model.h"

namespace spyre::model {

// The state at one moment. What registers of block sensors show, in their units.
struct SensorReadings {
  uint64_t time_ps = 0;
  uint64_t energy_nj = 0;
  uint64_t throttled_ps = 0;
  uint32_t power_mw = 0;
  uint32_t temperature_decidegrees = 0;
  uint32_t core_clock_mhz = 0;
  uint32_t ring_clock_mhz = 0;
  uint32_t percent = 100;  // of full speed
  bool limited_by_power = false;
  bool limited_by_temperature = false;
  bool limited_from_outside = false;
};

// Since the card was reset.
struct ErrorCounts {
  struct Channel {
    uint32_t corrected = 0, uncorrected = 0;
  };
  std::vector<Channel> channels;
  Channel memory;  // all channels
  uint32_t lx_parity = 0, ring_retries = 0, ring_dead = 0, pcie_retrains = 0;
};

class CardTelemetry final : public sc_core::sc_module, public HardwareErrorSink {
 public:
  static constexpr uint32_t kWholeCard = UINT32_MAX;

  // units: what the card's units have done. set_speed: makes the cores run at so many percent.
  CardTelemetry(const sc_core::sc_module_name& name, const CardConfig& config, Mmu& mmu,
                std::function<std::vector<UnitStatistics>()> units,
                std::function<void(unsigned percent)> set_speed);

  PerformanceCounters& counters() { return counters_; }
  // Errors are counted here and go on to *next.
  void SetNext(HardwareErrorSink* next) { next_ = next; }

  // All zero for a function that the card does not have.
  CounterValues ReadCounters(uint32_t function) const;
  SensorReadings ReadSensors();
  // What the sensors' energy is counted from: everything that the card has done in its life.
  Activity Done() const;
  const ErrorCounts& errors() const { return errors_; }
  void Report(const HardwareError& error) override;

  // Somebody outside, such as a declared fault, lets the cores run at no more than so many percent
  // of full speed. 100: it does not.
  void LimitSpeed(unsigned percent);

  void CardReset();  // all but what is physical starts again

 private:
  void Evaluate(PowerModel& power) const { power.Update(NowPs(), Done()); }
  void BeginWork();  // an operation is about to run
  void Throttle();   // process, while something runs
  void FollowGovernor();
  void UseSpeed();

  const CardConfig& config_;
  Mmu& mmu_;
  const std::function<std::vector<UnitStatistics>()> units_;
  const std::function<void(unsigned)> set_speed_;
  PerformanceCounters counters_;
  PowerModel power_;     // for readers
  PowerModel governor_;  // for throttling, which readings must not influence
  // Of the card's life before its last reset, as counters start again there and heat does not.
  Activity before_reset_;
  ErrorCounts errors_;
  HardwareErrorSink* next_ = nullptr;
  sc_core::sc_event look_;
  bool looking_ = false;  // look_ will come
  uint64_t looked_ps_ = 0;
  unsigned governor_percent_ = 100, outer_percent_ = 100;  // the lower one counts
  uint64_t outer_since_ps_ = 0;
  uint64_t throttled_ps_ = 0;
};

}  // namespace spyre::model
