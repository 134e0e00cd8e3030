// SPDX-License-Identifier: Apache-2.0
#include "model/card/fault_moments.h"

#include <algorithm>
#include <utility>

#include "base/ranges.h"
#include "model/common/transfer.h"

namespace spyre::model {
namespace {

constexpr uint32_t kHotDegrees = 1050;  // in 0.1 degrees Celsius: where silicon is slowed down

std::string PlaceOf(const FaultSpec& fault) {
  switch (fault.kind) {
    case FaultKind::kPcieLinkDown:
    case FaultKind::kPcieRemoval:
      return "the PCIe link";
    case FaultKind::kFirmwareHang:
    case FaultKind::kFirmwareTrap:
      return "the management controller";
    case FaultKind::kFirmwareCorrupt:
      return "the flash";
    case FaultKind::kRtlBitFlip:
      return "the RTL of block " + fault.where.block;
    default:
      return "the cores";
  }
}

}  // namespace

FaultMoments::FaultMoments(const sc_core::sc_module_name& name, const FaultPort& port,
                           Blocks blocks)
    : sc_module(name), port_(port), blocks_(std::move(blocks)) {
  const std::vector<FaultSpec>& faults = port.injector->faults();
  for (size_t i = 0; i < faults.size(); ++i) {
    if (!Info(faults[i].kind).is_moment()) continue;
    sc_core::sc_spawn([this, i] { Happen(i); },
                      sc_core::sc_gen_unique_name(Info(faults[i].kind).name));
  }
}

void FaultMoments::Happen(size_t number) {
  const FaultSpec& fault = port_.injector->faults()[number];
  wait(Ps(fault.when.time_ps));
  Hit(fault, port_.injector->StrikeAt(number, PlaceOf(fault), NowPs()));
}

void FaultMoments::Hit(const FaultSpec& fault, Injection& injection) {
  switch (fault.kind) {
    case FaultKind::kPcieLinkDown:
      blocks_.endpoint.SetLink(false);
      wait(Ps(fault.lasts_ps));
      blocks_.endpoint.SetLink(true);
      break;
    case FaultKind::kPcieRemoval:
      blocks_.endpoint.Remove();
      break;
    case FaultKind::kFirmwareHang:
      blocks_.management.Hang(&injection);
      break;
    case FaultKind::kFirmwareTrap:
      blocks_.management.Trap(&injection);
      break;
    case FaultKind::kFirmwareCorrupt:
      blocks_.management.boot().DamageImage(fault.when.seed);
      break;
    case FaultKind::kThermalThrottle:
      Slow(fault, injection, RasCode::THERMAL_THROTTLE, kHotDegrees);
      break;
    case FaultKind::kPowerBrake:
      Slow(fault, injection, RasCode::POWER_BRAKE, 0);
      break;
    case FaultKind::kRtlBitFlip:
      FlipBit(fault);
      break;
    default:
      break;  // not of a moment
  }
}

// The slowest of those that last counts.
void FaultMoments::Slow(const FaultSpec& fault, Injection& injection, RasCode code,
                        uint32_t detail) {
  const auto apply = [this] {
    const auto slowest = std::min_element(slowed_.begin(), slowed_.end());
    blocks_.telemetry.LimitSpeed(slowest == slowed_.end() ? 100 : static_cast<unsigned>(*slowest));
  };
  slowed_.push_back(fault.percent);
  apply();
  FaultInjector::Corrected(injection, "the card, which slows down", NowPs());
  port_.errors->Report(
      {code, RasSeverity::CORRECTED, 0, {detail, static_cast<uint32_t>(fault.percent)}});
  wait(Ps(fault.lasts_ps));
  slowed_.erase(std::find(slowed_.begin(), slowed_.end(), fault.percent));
  apply();
}

void FaultMoments::FlipBit(const FaultSpec& fault) {
  const uint64_t seed = fault.when.seed;
  if (fault.where.block == "control") {
    blocks_.control.FlipBit(seed);
  } else if (fault.where.block == "management") {
    blocks_.management.FlipBit(seed);
  } else {
    const auto rtl = [](Core* core) { return core->rtl_pt_array() != nullptr; };
    const auto core = FindIf(blocks_.cores, rtl);
    if (core != blocks_.cores.end()) (*core)->FlipPtBit(seed);
  }
}

}  // namespace spyre::model
