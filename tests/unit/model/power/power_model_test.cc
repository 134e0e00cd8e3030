// SPDX-License-Identifier: Apache-2.0
// Energy by hand, temperature by the closed form, and what throttling decides.
#include "model/power/power_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace spyre::model::power_model_test {
namespace {

constexpr uint64_t kSecond = 1'000'000'000'000;

TEST(Energy, IsTheSumOfWhatEachPartOfTheWorkCosts) {
  PowerConfig power;
  power.idle_mw = 20'000;
  power.busy_mw = 5'000;
  power.mac_fj = 1'000;
  power.vector_byte_fj = 2'000;
  power.lx_byte_fj = 3'000;
  power.ring_byte_fj = 4'000;
  power.memory_byte_fj = 5'000;
  power.pcie_byte_fj = 6'000;
  const Activity activity{1'000'000'000, 2'000'000'000, 3'000'000'000, 4'000'000'000,
                          5'000'000'000, 6'000'000'000, kSecond / 4};
  const Energy energy = EnergyOf(power, activity, kSecond / 2);
  EXPECT_DOUBLE_EQ(energy.idle, 10.0);    // 20 W for half a second
  EXPECT_DOUBLE_EQ(energy.busy, 1.25);    // 5 W for a quarter
  EXPECT_NEAR(energy.macs, 1e-3, 1e-12);  // 10^9 times 1 pJ
  EXPECT_NEAR(energy.vector, 4e-3, 1e-12);
  EXPECT_NEAR(energy.lx, 9e-3, 1e-12);
  EXPECT_NEAR(energy.ring, 16e-3, 1e-12);
  EXPECT_NEAR(energy.memory, 25e-3, 1e-12);
  EXPECT_NEAR(energy.pcie, 36e-3, 1e-12);
  EXPECT_NEAR(energy.Total(), 11.25 + 91e-3, 1e-9);
}

TEST(Energy, TakesTheActivityOfUnitsByTheirNames) {
  const auto unit = [](const char* name, uint64_t bytes) {
    UnitStatistics statistics;
    statistics.name = name;
    statistics.bytes = bytes;
    return statistics;
  };
  const Activity activity = ActivityOf(
      {unit("core00.lx_port", 1), unit("core31.lx_port", 2), unit("service_core.lx_port", 4),
       unit("core00.vector", 8), unit("core00.load", 16), unit("ring.cw00", 32),
       unit("ring.psum_ccw32", 64), unit("memory.channel15", 128), unit("pcie.upstream", 256),
       unit("control", 512), unit("dma.in", 1024)});
  EXPECT_EQ(activity.lx_bytes, 7u);
  EXPECT_EQ(activity.vector_bytes, 8u);
  EXPECT_EQ(activity.ring_bytes, 96u);
  EXPECT_EQ(activity.memory_bytes, 128u);
  EXPECT_EQ(activity.pcie_bytes, 256u);
}

PowerConfig Simple() {
  PowerConfig power;
  power.idle_mw = 20'000;
  power.busy_mw = 10'000;
  power.mac_fj = 1'000;
  power.ambient_c = 30;
  power.thermal_mk_per_w = 500;
  power.time_constant_us = 2'000'000;  // 2 s
  power.limit_mw = 60'000;
  power.limit_c = 50;
  power.least_percent = 40;
  return power;
}

// So many fp16 multiply-accumulates cost so many joules.
Activity Work(double joules, uint64_t busy_ps) {
  Activity activity;
  activity.fp16_macs = static_cast<uint64_t>(joules * 1e12);
  activity.busy_ps = busy_ps;
  return activity;
}

TEST(PowerModel, BeginsAsACardThatHasBeenIdleForLong) {
  const PowerModel model(Simple());
  EXPECT_DOUBLE_EQ(model.power_w(), 20);
  EXPECT_DOUBLE_EQ(model.temperature_c(), 30 + 0.5 * 20);
  EXPECT_DOUBLE_EQ(model.energy_j(), 0);
}

TEST(PowerModel, StaysAsItIsWhileIdle) {
  PowerModel model(Simple());
  for (int i = 1; i <= 10; ++i) model.Update(i * kSecond, {});
  EXPECT_NEAR(model.power_w(), 20, 1e-9);
  EXPECT_NEAR(model.temperature_c(), 40, 1e-9);
  EXPECT_NEAR(model.energy_j(), 200, 1e-9);
}

TEST(PowerModel, FollowsTheClosedFormWhateverTheSteps) {
  // 20 W idle, 10 W busy, 20 J of work in each second: 50 W.
  const auto after = [](int steps) {
    PowerModel model(Simple());
    for (int i = 1; i <= steps; ++i) {
      const uint64_t now = 3 * kSecond * static_cast<uint64_t>(i) / static_cast<uint64_t>(steps);
      model.Update(now, Work(20.0 * static_cast<double>(now) / kSecond, now));
    }
    EXPECT_NEAR(model.power_w(), 50, 1e-6);
    EXPECT_NEAR(model.energy_j(), 150, 1e-6);
    return model.temperature_c();
  };
  const double end_c = 30 + 0.5 * 50;
  const double expected = end_c + (40 - end_c) * std::exp(-3.0 / 2.0);
  for (const int steps : {1, 3, 300}) EXPECT_NEAR(after(steps), expected, 1e-6) << steps;
}

TEST(PowerModel, ASecondReadingOfOneMomentChangesNothing) {
  PowerModel model(Simple());
  model.Update(kSecond, Work(5, kSecond));
  const double power = model.power_w(), temperature = model.temperature_c();
  model.Update(kSecond, Work(5, kSecond));
  EXPECT_EQ(model.power_w(), power);
  EXPECT_EQ(model.temperature_c(), temperature);
}

TEST(PowerModel, SlowsDownUntilThePowerIsBelowItsLimitAndNoFurther) {
  // Work that takes 59.9 W at full speed, as much less at a lower one, over 30 W: the limit of 60 W
  // leaves half of it.
  PowerModel model(Simple());
  double joules = 0;
  uint64_t now = 0;
  const auto step = [&] {
    now += kSecond / 1000;
    joules += 0.0599 * model.percent() / 100;
    model.Update(now, Work(joules, now));
    model.Decide();
  };
  step();
  EXPECT_TRUE(model.limited_by_power());
  EXPECT_EQ(model.percent(), 50u);
  for (int i = 0; i < 20; ++i) {
    step();
    EXPECT_LE(model.power_w(), 60.001);
    EXPECT_EQ(model.percent(), 50u);
  }
  model.DecideAfterIdle();
  EXPECT_EQ(model.percent(), 100u);
}

TEST(PowerModel, IsNeverSlowerThanItsLeast) {
  PowerModel model(Simple());
  model.Update(kSecond, Work(1000, kSecond));
  model.Decide();
  EXPECT_EQ(model.percent(), 40u);
}

TEST(PowerModel, SlowsDownByStepsWhileTooHotAndComesBackWhenCooler) {
  PowerModel model(Simple());
  uint64_t now = 0;
  double joules = 0;
  // 58 W, below the power limit, lead to 59 degrees.
  for (int i = 0; i < 100 && model.temperature_c() <= 50; ++i) {
    EXPECT_EQ(model.percent(), 100u);
    now += kSecond / 10;
    joules += 2.8;
    model.Update(now, Work(joules, now));
    model.Decide();
  }
  EXPECT_TRUE(model.limited_by_temperature());
  EXPECT_FALSE(model.limited_by_power());
  EXPECT_EQ(model.percent(), 90u);
  model.Decide();
  EXPECT_EQ(model.percent(), 80u);
  now += kSecond / 100;  // idle: 1 % of a time constant is not enough to be two degrees below
  model.Update(now, Work(joules, now));
  model.DecideAfterIdle();
  EXPECT_EQ(model.percent(), 80u);
  now += 10 * kSecond;
  model.Update(now, Work(joules, now));
  model.DecideAfterIdle();
  EXPECT_EQ(model.percent(), 100u);
}

}  // namespace
}  // namespace spyre::model::power_model_test
