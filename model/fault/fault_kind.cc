// SPDX-License-Identifier: Apache-2.0
#include "model/fault/fault_kind.h"

namespace spyre::model {

const char* Name(FaultOutcome outcome) {
  switch (outcome) {
    case FaultOutcome::kPending:
      return "pending";
    case FaultOutcome::kMasked:
      return "masked";
    case FaultOutcome::kCorrected:
      return "corrected";
    case FaultOutcome::kDetected:
      return "detected";
    case FaultOutcome::kSilent:
      break;
  }
  return "silent";
}

const std::vector<FaultKindInfo>& FaultKinds() {
  using Kind = FaultKind;
  using Site = FaultSite;
  using Outcome = FaultOutcome;
  static const std::vector<std::string> memory{"channel", "bank", "row", "function", "operation"};
  static const std::vector<std::string> unit{"core", "function", "stream", "operation"};
  static const std::vector<std::string> ring{"link", "function", "operation"};
  static const std::vector<std::string> host_read{"function", "operation"};
  static const std::vector<std::string> entry{"function", "stream", "operation"};
  static const std::vector<std::string> function{"function"};
  static const std::vector<std::string> block{"block"};
  static const std::vector<FaultKindInfo> kinds{
      {Kind::kMemorySingleBit, "memory_single_bit", Site::kMemory, memory, true,
       "One bit of a word of device memory is wrong", Outcome::kCorrected, "the code of the memory",
       "OK; the read takes card.memory.ecc_correction_ns longer, and MEMORY_CORRECTED is logged",
       "none needed; the word is written back (card.memory.ecc_scrub)", nullptr, 0},
      {Kind::kMemoryDoubleBit, "memory_double_bit", Site::kMemory, memory, true,
       "Two bits of a word of device memory are wrong", Outcome::kDetected,
       "the code of the memory",
       "the operation that reads it answers BUS_ERROR; MEMORY_UNCORRECTED is logged",
       "Reset of the context; the word is right again when all of it is written", nullptr, 0},
      {Kind::kMemoryPoison, "memory_poison", Site::kMemory, memory, true,
       "A word of device memory is marked as damaged", Outcome::kDetected, "the memory",
       "the operation that reads it answers BUS_ERROR; MEMORY_POISONED is logged",
       "Reset of the context; the word is right again when all of it is written", nullptr, 0},
      {Kind::kLxParity, "lx_parity", Site::kLx, unit, false,
       "The parity of an operand in LX is wrong when an instruction reads it", Outcome::kDetected,
       "the core", "the program answers LX_PARITY with the core; LX_PARITY is logged",
       "Reset of the context", nullptr, 0},
      {Kind::kRingRetry, "ring_retry", Site::kRing, ring, false,
       "A link of the ring damages a transfer, and its sender sends it again", Outcome::kCorrected,
       "the ring link",
       "OK; the link is busy for the transfer and card.ring.retry_cycles more, and RING_RETRY "
       "is logged",
       "none needed", nullptr, 0},
      {Kind::kRingDead, "ring_dead", Site::kRing, ring, false, "A link of the ring stops answering",
       Outcome::kDetected, "the ring",
       "programs whose data need the link answer RING_FAULT; RING_DEAD is logged",
       "reset of the card (its link goes down and comes up)", nullptr, 0},
      {Kind::kPcieLostCompletion, "pcie_lost_completion", Site::kCompletion, host_read, true,
       "The completion of a read of host memory never comes", Outcome::kCorrected,
       "the card, which reads again after its completion time-out",
       "OK, late; HOST_FAULT after card.pcie.read_retries failed attempts, and a ring that cannot "
       "be read stops its queue",
       "none needed; after HOST_FAULT Reset of the context", nullptr, 0},
      {Kind::kPcieLateCompletion, "pcie_late_completion", Site::kCompletion, host_read, true,
       "The completion of a read of host memory comes late", Outcome::kMasked,
       "the card, which waits", "OK, later", "none needed", "how late it is", 10},
      {Kind::kPciePoisonedCompletion, "pcie_poisoned_completion", Site::kCompletion, host_read,
       true, "The data of a read of host memory are marked as damaged", Outcome::kCorrected,
       "the card, which logs a poisoned TLP (AER) and reads again",
       "OK, later; HOST_FAULT after card.pcie.read_retries failed attempts, and a ring that cannot "
       "be read stops its queue",
       "none needed; after HOST_FAULT Reset of the context", nullptr, 0},
      {Kind::kPcieMalformedCompletion, "pcie_malformed_completion", Site::kCompletion, host_read,
       true, "The completion of a read of host memory is not a packet that the endpoint can take",
       Outcome::kCorrected, "the card, which logs a malformed TLP (AER) and reads again",
       "OK, later; HOST_FAULT after card.pcie.read_retries failed attempts, and a ring that cannot "
       "be read stops its queue",
       "none needed; after HOST_FAULT Reset of the context", nullptr, 0},
      {Kind::kPcieRetrain,
       "pcie_retrain",
       Site::kLink,
       {},
       false,
       "The PCIe link trains again, and carries nothing meanwhile",
       Outcome::kCorrected,
       "the PCIe link",
       "OK, later; the endpoint logs a receiver error (AER), and PCIE_RETRAIN is logged",
       "none needed",
       "how long the training takes",
       20},
      {Kind::kPcieLinkDown,
       "pcie_link_down",
       Site::kTime,
       {},
       false,
       "The PCIe link goes down, which resets the card, and comes up again",
       Outcome::kDetected,
       "the driver, to which registers read as all ones, or whose operations are gone",
       "what is outstanding ends in a device fault",
       "a new context; in VF mode the PF first sets the functions up again",
       "how long it is down",
       1000},
      {Kind::kPcieRemoval,
       "pcie_removal",
       Site::kTime,
       {},
       false,
       "The card is pulled out",
       Outcome::kDetected,
       "the driver, to which registers read as all ones",
       "what is outstanding ends in a device fault",
       "none: the objects of the runtime are dead, and say so",
       nullptr,
       0},
      {Kind::kMsiLost, "msi_lost", Site::kMsi, function, false,
       "A message-signalled interrupt does not arrive", Outcome::kCorrected,
       "the driver, which looks into the response ring when none comes", "OK, up to 1 ms later",
       "none needed", nullptr, 0},
      {Kind::kMsiLate, "msi_late", Site::kMsi, function, false,
       "A message-signalled interrupt arrives late", Outcome::kMasked, "the driver, which waits",
       "OK, later", "none needed", "how late it is", 10},
      {Kind::kMsiSpurious, "msi_spurious", Site::kMsi, function, false, "An interrupt comes twice",
       Outcome::kMasked, "the driver, which finds nothing new", "OK", "none needed", nullptr, 0},
      {Kind::kCoreStop, "core_stop", Site::kInstruction, unit, false,
       "A unit of a core stands still before an instruction", Outcome::kDetected,
       "the time limit of the operation (card.control.operation_limit_us)",
       "TIMED_OUT; other functions go on", "Reset of the context", nullptr, 0},
      {Kind::kCoreLate, "core_late", Site::kInstruction, unit, false,
       "A unit of a core pauses before an instruction", Outcome::kMasked,
       "the program, which waits", "OK, later", "none needed", "the pause", 10},
      {Kind::kCoreWrong, "core_wrong", Site::kResult, unit, false,
       "One bit of what an instruction has computed is wrong", Outcome::kSilent,
       "only a comparison of the results with a reference",
       "OK; verification fails if the bit reaches a result", "run again", nullptr, 0},
      {Kind::kDmaStuck, "dma_stuck", Site::kDma, entry, false,
       "A DMA channel stands still with an operation", Outcome::kDetected,
       "the time limit of the operation (card.control.operation_limit_us)",
       "TIMED_OUT; other functions go on", "Reset of the context", nullptr, 0},
      {Kind::kControlStuck, "control_stuck", Site::kFetch, function, false,
       "The control processor stands still while it fetches entries", Outcome::kDetected,
       "the driver: the card has nothing left to do, but responses are due",
       "what is outstanding ends in a device fault", "Reset of the context", nullptr, 0},
      {Kind::kFirmwareHang,
       "firmware_hang",
       Site::kTime,
       {},
       false,
       "The firmware of the management controller stops in the middle of a request",
       Outcome::kDetected,
       "its watchdog",
       "the card is lost: the next call ends in a device fault",
       "reset of the card, and a new context",
       nullptr,
       0},
      {Kind::kFirmwareTrap,
       "firmware_trap",
       Site::kTime,
       {},
       false,
       "The next instruction of the firmware is one that its processor does not know",
       Outcome::kDetected,
       "its trap handler, at the next request",
       "the card is lost: the next call ends in a device fault",
       "reset of the card, and a new context",
       nullptr,
       0},
      {Kind::kFirmwareCorrupt,
       "firmware_corrupt",
       Site::kTime,
       {},
       false,
       "A bit of the image in the slot that runs is lost from the flash",
       Outcome::kMasked,
       "the boot logic, when the card boots again",
       "OK; at the next boot another slot with a good image runs, and without one the card is "
       "lost",
       "an update of the firmware",
       nullptr,
       0},
      {Kind::kResponseTorn, "response_torn", Site::kResponse, entry, false,
       "The halves of a response arrive at different times", Outcome::kCorrected,
       "the driver, which waits for the checksum to be right",
       "OK, later; if the second half does not come within a millisecond, a device fault",
       "none needed; after a device fault Reset of the context",
       "how much later the second half comes; 0: never", 1},
      {Kind::kResponseLost, "response_lost", Site::kResponse, entry, false,
       "A response is not written", Outcome::kDetected,
       "the driver: no response comes, or one that is not due",
       "what is outstanding ends in a device fault", "Reset of the context", nullptr, 0},
      {Kind::kResponseDuplicated, "response_duplicated", Site::kResponse, entry, false,
       "A response is written twice, into two places of the ring", Outcome::kDetected,
       "the driver: a response of an operation that is not outstanding",
       "what is outstanding ends in a device fault; nothing, if the next response is written over "
       "the second one first",
       "Reset of the context", nullptr, 0},
      {Kind::kThermalThrottle,
       "thermal_throttle",
       Site::kTime,
       {},
       false,
       "The cores run at `percent` of their speed because the card is hot",
       Outcome::kCorrected,
       "the card, which slows down",
       "OK, later; THERMAL_THROTTLE is logged",
       "none needed",
       "how long",
       100},
      {Kind::kPowerBrake,
       "power_brake",
       Site::kTime,
       {},
       false,
       "The cores run at `percent` of their speed because the slot asks for less power",
       Outcome::kCorrected,
       "the card, which slows down",
       "OK, later; POWER_BRAKE is logged",
       "none needed",
       "how long",
       100},
      {Kind::kRtlBitFlip, "rtl_bit_flip", Site::kTime, block, false,
       "A bit of the state of an RTL block changes", Outcome::kSilent,
       "what meets it, if anything: the driver, a trap of the firmware, a comparison of the "
       "results",
       "what the bit does: OK, a device fault, or wrong results that verification finds",
       "Reset of the context, or of the card", nullptr, 0},
  };
  return kinds;
}

const FaultKindInfo& Info(FaultKind kind) { return FaultKinds()[static_cast<size_t>(kind)]; }

std::vector<std::string> FaultKindNames() {
  std::vector<std::string> names;
  for (const FaultKindInfo& info : FaultKinds()) names.emplace_back(info.name);
  return names;
}

}  // namespace spyre::model
