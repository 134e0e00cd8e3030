// SPDX-License-Identifier: Apache-2.0
// A declared fault: what goes wrong with the card, where and when. Plain data, part of CardConfig;
// docs/faults.md says what each kind is and ends in, model/fault/fault_kind.h has the table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace spyre::model {

enum class FaultKind : uint8_t {
  kMemorySingleBit,
  kMemoryDoubleBit,
  kMemoryPoison,
  kLxParity,
  kRingRetry,
  kRingDead,
  kPcieLostCompletion,
  kPcieLateCompletion,
  kPciePoisonedCompletion,
  kPcieMalformedCompletion,
  kPcieRetrain,
  kPcieLinkDown,
  kPcieRemoval,
  kMsiLost,
  kMsiLate,
  kMsiSpurious,
  kCoreStop,
  kCoreLate,
  kCoreWrong,
  kDmaStuck,
  kControlStuck,
  kFirmwareHang,
  kFirmwareTrap,
  kFirmwareCorrupt,
  kResponseTorn,
  kResponseLost,
  kResponseDuplicated,
  kThermalThrottle,
  kPowerBrake,
  kRtlBitFlip,
};

// One [[fault]] of a configuration.
struct FaultSpec {
  FaultKind kind{};
  // Only there; without a value, anywhere.
  struct {
    std::optional<uint64_t> channel, bank, row, core, function, stream, operation, address;
    std::string link;   // of the ring: "cw03"
    std::string block;  // of RTL: "control", "management" or "pt"
  } where;
  // Of the events at those places, those from time_ps on, of which the `count`th and those after it
  // are struck, each with a probability. Of kinds whose site is kTime: that moment.
  struct {
    uint64_t time_ps = 0;
    uint64_t count = 1;
    double probability = 1;
    uint64_t seed = 0;
  } when;
  uint64_t times = 1;  // it strikes at most
  uint64_t lasts_ps = 0;
  uint64_t percent = 50;  // of their speed, at which throttled cores run
};

}  // namespace spyre::model
