// SPDX-License-Identifier: Apache-2.0
#include "model/control/boot_logic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "model/common/transfer.h"
#include "model/fault/fault_injector.h"

namespace spyre::model {

BootLogic::BootLogic(const sc_core::sc_module_name& name, const CardConfig& config,
                     const std::vector<uint8_t>& factory, FirmwareSlots::Runs runs,
                     BootClient& client)
    : sc_module(name),
      config_(config),
      flash_(config.management.flash, kFlashBytes),
      slots_(flash_, std::move(runs)),
      client_(client) {
  if (flash_.is_new()) {
    for (const FlashOperation& operation : FirmwareSlots::Factory(factory)) flash_.Do(operation);
  }
  Choose();
  if (!SameBoot(choice_.record, slots_.Record())) {
    for (const FlashOperation& operation : slots_.Recording(choice_.record)) flash_.Do(operation);
  }
  running_ = choice_.slot;
  sc_core::sc_spawn([this] { Run(); }, "boot");
}

void BootLogic::Choose() {
  choice_ = slots_.Choose(static_cast<unsigned>(config_.management.trial_boots));
  if (choice_.slot >= 0)
    program_ = UnpackFirmware(slots_.Image(static_cast<unsigned>(choice_.slot)));
}

void BootLogic::Run() {
  if (choice_.slot < 0) client_.NoFirmware("no slot of the flash has a good image");
  bool booted = choice_.slot < 0 || Await();
  for (;;) {
    if (reset_) {
      reset_ = false;
      booted = false;
    }
    if (!booted) {
      booted = Boot();
    } else if (ordered_) {
      UpdateStatus status{};
      if (!Execute(&status)) continue;
      ordered_ = false;
      status_ = static_cast<uint32_t>(status);
      client_.AnswerUpdate();
    } else {
      sc_core::wait(arrived_ | reset_event_);
    }
  }
}

bool BootLogic::Pause(uint64_t ps) {
  if (config_.timed() && ps != 0) sc_core::wait(Ps(ps), reset_event_);
  return !reset_;
}

// Serial flash is read at a steady rate: MB/s are bytes in a microsecond.
uint64_t BootLogic::ReadPs(uint64_t bytes) const {
  return bytes * 1'000'000 / config_.management.flash_read_mbps;
}

bool BootLogic::Perform(const std::vector<FlashOperation>& operations) {
  done_ = 0;
  all_ = static_cast<uint32_t>(operations.size());
  const ManagementConfig& times = config_.management;
  for (const FlashOperation& operation : operations) {
    const uint64_t us = operation.erases() ? times.flash_erase_us : times.flash_program_us;
    if (!Pause(us * 1'000'000)) return false;
    flash_.Do(operation);
    if (!flash_.powered()) {  // nor has anything else of the card
      client_.HoldFirmware();
      if (!reset_) sc_core::wait(reset_event_);
      return false;
    }
    ++done_;
  }
  return true;
}

bool BootLogic::Record(const BootRecord& record) {
  return SameBoot(record, slots_.Record()) || Perform(slots_.Recording(record));
}

// ---------------------------------------------------------------- booting

bool BootLogic::Boot() {
  for (;;) {
    client_.HoldFirmware();
    running_ = -1;
    Choose();
    if (!Record(choice_.record)) return false;
    if (choice_.slot < 0) {
      client_.NoFirmware("no slot of the flash has a good image");
      return true;
    }
    if (!Pause(ReadPs(sizeof(FirmwareHeader) + program_.payload.size()))) return false;
    running_ = choice_.slot;
    outcome_ = Outcome::kNone;
    client_.StartFirmware(program_);
    if (Await()) return true;
    if (reset_) return false;
  }
}

// Until the firmware has shown what it is. False: another start is due, or a reset.
bool BootLogic::Await() {
  while (outcome_ == Outcome::kNone && !reset_) sc_core::wait(outcome_event_ | reset_event_);
  if (reset_) return false;
  if (outcome_ == Outcome::kReady) return !choice_.trial || Record(slots_.Confirmed());
  if (outcome_ == Outcome::kFailed) Record(slots_.Failed(failure_, detail_));
  return outcome_ == Outcome::kLost;
}

void BootLogic::Ready() {
  if (outcome_ != Outcome::kNone) return;
  outcome_ = Outcome::kReady;
  outcome_event_.notify(sc_core::SC_ZERO_TIME);
}

bool BootLogic::Failed(BootFailure failure, uint32_t detail) {
  const bool again = outcome_ == Outcome::kNone && choice_.trial;
  if (outcome_ != Outcome::kNone) return false;
  failure_ = failure;
  detail_ = detail;
  outcome_ = again ? Outcome::kFailed : Outcome::kLost;
  outcome_event_.notify(sc_core::SC_ZERO_TIME);
  return again;
}

void BootLogic::Reset() {
  flash_.RestorePower();
  reset_ = true;
  ordered_ = false;
  running_ = -1;
  status_ = done_ = all_ = 0;
  arrived_.cancel();
  reset_event_.notify(sc_core::SC_ZERO_TIME);
}

// ---------------------------------------------------------------- the host's commands

void BootLogic::Command(uint32_t command, uint32_t slot, uint32_t bytes,
                        const sc_core::sc_time& arrival) {
  if (status_ == kAdminBusy) return;
  status_ = kAdminBusy;
  order_ = {command, slot, bytes};
  done_ = all_ = 0;
  ordered_ = true;
  arrived_.notify(arrival);
}

// Nothing runs if no image is good; then there is nothing to lose in either slot.
bool BootLogic::InUse(unsigned slot) const {
  if (running_ < 0 && slots_.Check(slot) != UpdateStatus::DONE) return false;
  const BootRecord record = slots_.Record();
  return slot == record.active || slot == record.pending || static_cast<int>(slot) == running_;
}

bool BootLogic::Execute(UpdateStatus* status) {
  const unsigned slot = order_.slot;
  const auto command = static_cast<UpdateCommand>(order_.command);
  const bool names_slot = command == UpdateCommand::COMMIT || command == UpdateCommand::ACTIVATE ||
                          command == UpdateCommand::ERASE || command == UpdateCommand::READ;
  const bool changes_slot = command == UpdateCommand::COMMIT || command == UpdateCommand::ERASE;
  *status = UpdateStatus::DONE;
  if (names_slot && slot >= kFirmwareSlots)
    *status = UpdateStatus::BAD_SLOT;
  else if (changes_slot && InUse(slot))
    *status = UpdateStatus::SLOT_IN_USE;
  if (*status != UpdateStatus::DONE) return true;
  switch (order_.command > 0xFF ? UpdateCommand{} : command) {
    case UpdateCommand::VERIFY:
    case UpdateCommand::COMMIT:
      return Commit(slot, status);
    case UpdateCommand::ACTIVATE:
      *status = slots_.Check(slot);
      return *status != UpdateStatus::DONE || Record(slots_.Activated(slot));
    case UpdateCommand::ERASE:
      return Perform(FirmwareSlots::Erasing(slot));
    case UpdateCommand::READ: {
      *status = slots_.Check(slot);
      if (*status != UpdateStatus::DONE) return true;
      const std::vector<uint8_t> image = slots_.Image(slot);
      if (!Pause(ReadPs(image.size()))) return false;
      std::copy(image.begin(), image.end(), staging_);
      return true;
    }
    case UpdateCommand::RESTART:
      return Restart(status);
  }
  *status = UpdateStatus::BAD_COMMAND;
  return true;
}

// Checks a copy, which is what is written: the host could change what is staged meanwhile.
bool BootLogic::Commit(unsigned slot, UpdateStatus* status) {
  if (order_.bytes > kFirmwareSlotBytes) {
    *status = UpdateStatus::BAD_LENGTH;
    return true;
  }
  const std::vector<uint8_t> image(staging_, staging_ + order_.bytes);
  if (!Pause(ReadPs(image.size()))) return false;
  *status = slots_.Check(image);
  if (*status != UpdateStatus::DONE ||
      order_.command == static_cast<uint32_t>(UpdateCommand::VERIFY))
    return true;
  if (!Perform(FirmwareSlots::Writing(slot, image)) || !Pause(ReadPs(image.size()))) return false;
  if (!slots_.Holds(slot, image)) *status = UpdateStatus::FLASH_FAILED;
  return true;
}

bool BootLogic::Restart(UpdateStatus* status) {
  if (enabled_ && enabled_() != 0) {
    *status = UpdateStatus::FUNCTIONS_ENABLED;
    return true;
  }
  const uint8_t wanted = slots_.Record().pending;
  if (!Boot()) return false;
  if (outcome_ == Outcome::kLost || running_ < 0) {
    *status = UpdateStatus::NO_FIRMWARE;
  } else if (wanted != kNoSlot && running_ != wanted) {
    *status = UpdateStatus::ROLLED_BACK;
  }
  return true;
}

// ---------------------------------------------------------------- registers

uint32_t BootLogic::boot() const {
  const BootRecord record = slots_.Record();
  const uint32_t running = running_ < 0 ? kNoSlot : static_cast<uint32_t>(running_);
  return running | uint32_t{record.active} << regs::FW_BOOT_ACTIVE_SHIFT |
         uint32_t{record.pending} << regs::FW_BOOT_PENDING_SHIFT |
         uint32_t{record.attempts} << regs::FW_BOOT_ATTEMPTS_SHIFT;
}

uint32_t BootLogic::failure() const {
  const BootRecord record = slots_.Record();
  return (record.failure & regs::FW_FAILURE_CAUSE_MASK) | uint32_t{record.failed_slot}
                                                              << regs::FW_FAILURE_SLOT_SHIFT;
}

uint32_t BootLogic::failure_detail() const { return slots_.Record().detail; }

// Cells of a flash lose ones only.
void BootLogic::DamageImage(uint64_t seed) {
  if (running_ < 0) return;
  const auto slot = static_cast<unsigned>(running_);
  if (slots_.Check(slot) != UpdateStatus::DONE) return;
  const uint64_t bytes = slots_.Image(slot).size();
  const uint32_t begin = kBootRecordBytes + slot * kFirmwareSlotBytes;
  for (uint64_t i = 0;; ++i) {
    const auto at = static_cast<uint32_t>(begin + FaultHash(seed, i) % bytes);
    const uint8_t old = flash_.contents()[at];
    if (old == 0) continue;
    flash_.Do(FlashOperation{at, std::vector<uint8_t>{static_cast<uint8_t>(old & (old - 1))}});
    return;
  }
}

std::string BootLogic::DescribeWait() const {
  if (!ordered_) return "";
  return fmt::format("boot logic: command {} on firmware, {} of {} flash operations done",
                     order_.command, done_, all_);
}

}  // namespace spyre::model
