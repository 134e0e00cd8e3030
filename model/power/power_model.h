// SPDX-License-Identifier: Apache-2.0
// Power and temperature of the card over time, and how fast its cores may run. Nothing here has a
// clock: the caller says what the card has done up to now, and the power between two such readings
// is taken to have been even. The temperature follows the power with one time constant:
//
//   T(t + dt) = T_end + (T(t) - T_end) * exp(-dt / time_constant),  T_end = ambient + R * P
//
// It begins as that of a card that has been idle for long. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/common/card_config.h"
#include "model/power/energy.h"

namespace spyre::model {

class PowerModel {
 public:
  explicit PowerModel(const PowerConfig& config);

  // `done`: since the beginning. now_ps never goes back; a second reading of one moment changes
  // nothing.
  void Update(uint64_t now_ps, const Activity& done);

  double power_w() const { return power_w_; }  // mean, between the last two readings
  double temperature_c() const { return temperature_c_; }
  double energy_j() const { return energy_j_; }

  // How fast the cores may run from now on, in percent of full speed, by the last reading while
  // they work: over the power limit as much slower as brings what depends on them below it; over
  // the temperature limit a step slower at each reading, and back when it is two degrees below.
  void Decide();
  // The same for cores that begin to work after they had nothing to do.
  void DecideAfterIdle();
  unsigned percent() const { return std::min(power_percent_, temperature_percent_); }
  bool limited_by_power() const { return power_percent_ < 100; }
  bool limited_by_temperature() const { return temperature_percent_ < 100; }

 private:
  const PowerConfig config_;
  uint64_t now_ps_ = 0;
  Activity done_;
  double power_w_;
  double temperature_c_;
  double energy_j_ = 0;
  unsigned power_percent_ = 100, temperature_percent_ = 100;
};

}  // namespace spyre::model
