// SPDX-License-Identifier: Apache-2.0
// The faults that a configuration can declare: what each is called, where in the card it is, what
// its table may say, and what it should end in. One table for the reader of configurations, for
// `spyre-cosim faults`, and for docs/faults.md. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/common/fault_spec.h"

namespace spyre::model {

// Where a fault strikes: what asks FaultInjector::Strike, and how often.
enum class FaultSite : uint8_t {
  kMemory,       // each piece of an access to device memory that lies in one block of a channel
  kLx,           // each instruction that reads LX
  kRing,         // each transfer on each link that it passes
  kCompletion,   // each read of host memory by the card
  kLink,         // each packet, or read or write of several, that the card sends over PCIe
  kMsi,          // each message-signalled interrupt
  kInstruction,  // each tensor instruction of a core
  kResult,       // each instruction of a core that computes: PT and vector unit
  kDma,          // each DMA operation
  kFetch,        // each fetch of entries of a submission ring
  kResponse,     // each response
  kTime,         // a moment
};

enum class FaultOutcome : uint8_t {
  kPending,    // struck, and nothing has come of it yet
  kMasked,     // nothing that anybody could see came of it, but time
  kCorrected,  // put right; nothing was lost
  kDetected,   // somebody found it, and the work that it hit failed
  kSilent,     // results are wrong, or may be, and nobody in the card or the driver knows
};
const char* Name(FaultOutcome outcome);

struct FaultKindInfo {
  FaultKind kind;
  const char* name;  // in configurations
  FaultSite site;
  std::vector<std::string> where;  // keys of `where` that it knows
  bool by_address;                 // it knows when.address
  const char* effect;              // what happens in the card
  FaultOutcome outcome;            // of one that meets work, with the card's and driver's defaults
  const char* seen_by;             // who masks, corrects or detects it
  const char* ends;                // what the work that it hits ends in
  const char* recovery;            // what makes function or card usable again
  const char* lasts;               // what `lasts_us` means; null: it has no effect
  uint64_t lasts_us;               // its default

  bool is_moment() const { return site == FaultSite::kTime; }
  // It knows `percent`: how fast the cores still are.
  bool slows() const {
    return kind == FaultKind::kThermalThrottle || kind == FaultKind::kPowerBrake;
  }
  // It knows when.seed: what it hits is drawn.
  bool has_seed() const {
    return !is_moment() || kind == FaultKind::kFirmwareCorrupt || kind == FaultKind::kRtlBitFlip;
  }
};

// In the order of FaultKind.
const std::vector<FaultKindInfo>& FaultKinds();
const FaultKindInfo& Info(FaultKind kind);
std::vector<std::string> FaultKindNames();

}  // namespace spyre::model
