// SPDX-License-Identifier: Apache-2.0
#include "model/power/power_model.h"

#include <algorithm>
#include <cmath>

namespace spyre::model {

namespace {

constexpr double kBackBelowC = 2;        // under the limit, from where on cores get faster again
constexpr unsigned kStepPercent = 10;    // for the temperature
constexpr double kBackBelowShare = 0.9;  // of the power limit, the same

double Watts(uint64_t mw) { return static_cast<double>(mw) * 1e-3; }

}  // namespace

PowerModel::PowerModel(const PowerConfig& config)
    : config_(config),
      power_w_(Watts(config.idle_mw)),
      temperature_c_(static_cast<double>(config.ambient_c) +
                     Watts(config.thermal_mk_per_w) * Watts(config.idle_mw)) {}

void PowerModel::Update(uint64_t now_ps, const Activity& done) {
  if (now_ps <= now_ps_) return;
  const uint64_t span_ps = now_ps - now_ps_;
  const double span_s = static_cast<double>(span_ps) * 1e-12;
  const double energy = EnergyOf(config_, done - done_, span_ps).Total();
  energy_j_ += energy;
  power_w_ = energy / span_s;
  const double end_c =
      static_cast<double>(config_.ambient_c) + Watts(config_.thermal_mk_per_w) * power_w_;
  const double constant_s = static_cast<double>(config_.time_constant_us) * 1e-6;
  temperature_c_ = end_c + (temperature_c_ - end_c) * std::exp(-span_s / constant_s);
  now_ps_ = now_ps;
  done_ = done;
}

// Only what the cores do gets less with their clock: what is left of the limit beside the rest is
// theirs.
void PowerModel::Decide() {
  const auto least = static_cast<unsigned>(config_.least_percent);
  const double limit_w = Watts(config_.limit_mw);
  const double rest_w = Watts(config_.idle_mw + config_.busy_mw);
  const double cores_w = power_w_ - rest_w;
  if (power_w_ > limit_w || (limited_by_power() && power_w_ < kBackBelowShare * limit_w)) {
    const double wanted_w = (power_w_ > limit_w ? limit_w : kBackBelowShare * limit_w) - rest_w;
    const double percent = cores_w > 0 ? power_percent_ * wanted_w / cores_w : 100;
    power_percent_ = static_cast<unsigned>(std::clamp(percent, static_cast<double>(least), 100.0));
  }
  const auto limit_c = static_cast<double>(config_.limit_c);
  if (temperature_c_ > limit_c) {
    temperature_percent_ -= std::min(kStepPercent, temperature_percent_ - least);
  } else if (temperature_c_ < limit_c - kBackBelowC) {
    temperature_percent_ = std::min(100u, temperature_percent_ + kStepPercent);
  }
}

void PowerModel::DecideAfterIdle() {
  power_percent_ = 100;
  if (temperature_c_ < static_cast<double>(config_.limit_c) - kBackBelowC)
    temperature_percent_ = 100;
}

}  // namespace spyre::model
