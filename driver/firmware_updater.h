// SPDX-License-Identifier: Apache-2.0
// Firmware images in the card's flash, by way of its physical function (block "firmware" of the
// registers, docs/firmware.md). Any card, also one whose firmware does not answer: hardware serves
// this. Calls block until the card has answered, which takes as long as its flash does.
//
// Threads: as Device. Errors: BadInput naming the UpdateStatus for what the card refuses;
// DeviceFault if it stops answering.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/device.h"
#include "model/contract/firmware_package.h"

namespace spyre::driver {

struct SlotInfo {
  UpdateStatus state = UpdateStatus::EMPTY;  // DONE: a good image, and what follows is its
  PackageVersion version;
  uint64_t build_id = 0;
  uint32_t bytes = 0;  // header included
};

struct BootInfo {
  std::optional<unsigned> running, active, pending;  // slots
  unsigned attempts = 0;                             // of the pending one
  BootFailure failure = BootFailure::NONE;
  std::optional<unsigned> failed_slot;
  uint32_t failure_detail = 0;
};

class FirmwareUpdater {
 public:
  // BadInput for a virtual function.
  explicit FirmwareUpdater(Device& device);
  // Of function 0 of a card that nobody has opened, as one whose firmware does not run cannot be:
  // enables its memory.
  explicit FirmwareUpdater(Transport& transport);

  BootInfo ReadBoot();
  SlotInfo ReadSlot(unsigned slot);

  // Puts bytes of an image into the staging window, at any offset; the end is filled up with zeros
  // to a word. BadInput beyond the window.
  void Download(uint32_t offset, const std::vector<uint8_t>& bytes);
  UpdateStatus Verify(uint32_t image_bytes);         // of what is staged; changes nothing
  void Commit(unsigned slot, uint32_t image_bytes);  // what is staged, to the flash
  std::vector<uint8_t> ReadBack(unsigned slot);      // what the flash holds
  void Erase(unsigned slot);
  void Activate(unsigned slot);  // boots next, on trial
  // Boots the management controller: DONE, or ROLLED_BACK if what was activated did not come up.
  // Virtual functions must be off, and their regions have to be assigned again.
  UpdateStatus Restart();

  // All of that but Restart: stages the image, commits it to the slot that is free, reads it back,
  // activates it. Returns the slot.
  unsigned Update(const std::vector<uint8_t>& image);

 private:
  UpdateStatus Command(UpdateCommand command);
  void Must(UpdateCommand command, const std::string& what);

  Transport& transport_;
  FunctionRegisters registers_;
};

// "A", "B"; "none".
std::string SlotName(std::optional<unsigned> slot);

}  // namespace spyre::driver
