// SPDX-License-Identifier: Apache-2.0
// The boot logic of the management controller: hardware that chooses which firmware starts, and
// that writes images to the card's flash for the host (block "firmware" of the registers). It needs
// nothing of the firmware, so no firmware can keep the card from getting another one.
//
// Firmware that the host has activated starts on trial. If it becomes ready, it is the active one
// from then on; if it fails, or if power goes, it is tried again, management.trial_boots times in
// all, and then the one before starts (docs/firmware.md).
//
// At power-on, which is when simulation begins, all of this has happened already. Later starts, and
// commands, take the times of the flash. Kernel thread only.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <functional>
#include <systemc>
#include <vector>

#include "model/boot/firmware_slots.h"
#include "model/boot/flash.h"
#include "model/common/card_config.h"

namespace spyre::model {

// The controller that is booted.
class BootClient {
 public:
  virtual ~BootClient() = default;
  virtual void HoldFirmware() = 0;  // stops it, and forgets what it had
  virtual void StartFirmware(const FirmwareProgram& program) = 0;
  virtual void NoFirmware(const std::string& why) = 0;  // nothing can be started
  virtual void AnswerUpdate() = 0;                      // FW_STATUS has an answer
};

class BootLogic : public sc_core::sc_module {
 public:
  // `factory`: the image that a new flash has in both slots. Throws Error(kBadInput) if the file of
  // the flash cannot be used.
  BootLogic(const sc_core::sc_module_name& name, const CardConfig& config,
            const std::vector<uint8_t>& factory, FirmwareSlots::Runs runs, BootClient& client);

  // Wiring: FIRMWARE_SLOT_BYTES of SRAM that the host writes, and how many VFs are enabled.
  void SetStaging(uint8_t* staging) { staging_ = staging; }
  void SetEnabledFunctions(std::function<unsigned()> enabled) { enabled_ = std::move(enabled); }

  // --- the controller's side ---
  // What starts at power-on; null if there is nothing, and NoFirmware is told when time begins.
  const FirmwareProgram* first() const { return choice_.slot < 0 ? nullptr : &program_; }
  void Ready();
  // The firmware has failed before it was ready. True: it was on trial, and another start follows.
  bool Failed(BootFailure failure, uint32_t detail);
  void Reset();  // of the card: what was going on ends, then it boots

  // --- the register side ---
  void Command(uint32_t command, uint32_t slot, uint32_t bytes, const sc_core::sc_time& arrival);
  uint32_t status() const { return status_; }
  uint32_t progress() const { return done_ | all_ << 16; }
  uint32_t boot() const;            // FW_BOOT
  uint32_t failure() const;         // FW_FAILURE
  uint32_t failure_detail() const;  // FW_FAILURE_DETAIL
  UpdateStatus SlotInfo(uint32_t slot, FirmwareHeader* header) const {
    return slots_.Check(slot, header);
  }

  Flash& flash() { return flash_; }
  // A declared fault: a bit of the image that runs is lost from the flash; `seed` chooses it.
  void DamageImage(uint64_t seed);
  std::string DescribeWait() const;  // of a command that goes on; "" if none does

 private:
  struct Order {
    uint32_t command = 0;
    uint32_t slot = 0;
    uint32_t bytes = 0;
  };
  enum class Outcome { kNone, kReady, kFailed, kLost };

  void Run();
  // What follows is false if a reset came in between.
  bool Boot();
  bool Await();
  bool Pause(uint64_t ps);
  bool Perform(const std::vector<FlashOperation>& operations);
  bool Execute(UpdateStatus* status);
  bool Commit(unsigned slot, UpdateStatus* status);
  bool Restart(UpdateStatus* status);
  bool Record(const BootRecord& record);
  void Choose();
  uint64_t ReadPs(uint64_t bytes) const;
  bool InUse(unsigned slot) const;

  const CardConfig& config_;
  Flash flash_;
  FirmwareSlots slots_;
  BootClient& client_;
  uint8_t* staging_ = nullptr;
  std::function<unsigned()> enabled_;

  BootChoice choice_;
  FirmwareProgram program_;
  int running_ = -1;
  Outcome outcome_ = Outcome::kNone;
  BootFailure failure_ = BootFailure::NONE;
  uint32_t detail_ = 0;

  bool reset_ = false;
  bool ordered_ = false;
  Order order_;
  uint32_t status_ = 0;
  uint32_t done_ = 0, all_ = 0;
  sc_core::sc_event arrived_, outcome_event_, reset_event_;
};

}  // namespace spyre::model
