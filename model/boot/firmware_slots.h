// SPDX-License-Identifier: Apache-2.0
// What the card's flash holds: a record of what boots, and two slots with firmware images.
//
//   0x00000  two sectors of boot records, one a page: the good one with the highest sequence counts
//   0x02000  slot A, FIRMWARE_SLOT_BYTES
//   0x43000  slot B
//
// A record is written to the next blank page, so the one before stays good until the new one is
// whole; a sector is erased only while the record that counts is in the other. Power may go at any
// operation: what is read then is the record before or the one after.
//
// Says what is there and which operations would change it; does none. Pure, no time.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "model/boot/flash.h"
#include "model/contract/firmware_package.h"

namespace spyre::model {

inline constexpr uint32_t kBootRecordBytes = 2 * kFlashSectorBytes;
inline constexpr uint32_t kFlashBytes = kBootRecordBytes + kFirmwareSlots * kFirmwareSlotBytes;
inline constexpr uint8_t kNoSlot = kFirmwareNoSlot;

struct BootRecord {
  uint32_t magic = 0;
  uint32_t sequence = 0;
  uint8_t active = 0;         // the slot whose firmware has come up
  uint8_t pending = kNoSlot;  // the slot that is to be tried
  uint8_t attempts = 0;       // how often it has been
  uint8_t failed_slot = kNoSlot;
  uint32_t failure = 0;  // BootFailure of failed_slot
  uint32_t detail = 0;
  uint32_t crc = 0;
};
static_assert(sizeof(BootRecord) == 24);

// Which firmware starts. slot < 0: none can. `record` is to be written before it starts, if it is
// not the one that is there.
struct BootChoice {
  int slot = -1;
  bool trial = false;
  BootRecord record;
};

class FirmwareSlots {
 public:
  // Whether the controller can run a good image: a behavioural one runs a single one.
  using Runs = std::function<bool(const FirmwareProgram&)>;
  FirmwareSlots(const Flash& flash, Runs runs) : flash_(flash), runs_(std::move(runs)) {}

  // For a flash that is new: the image in both slots, A active.
  static std::vector<FlashOperation> Factory(const std::vector<uint8_t>& image);

  BootRecord Record() const;  // slot A boots, if there is none
  UpdateStatus Check(unsigned slot, FirmwareHeader* header = nullptr) const;
  UpdateStatus Check(const std::vector<uint8_t>& image) const;
  std::vector<uint8_t> Image(unsigned slot) const;  // of one that is good
  bool Holds(unsigned slot, const std::vector<uint8_t>& image) const;

  BootChoice Choose(unsigned trial_boots) const;
  // What Record() is after: the firmware on trial came up; it did not; the host wants `slot` next.
  BootRecord Confirmed() const;
  BootRecord Failed(BootFailure failure, uint32_t detail) const;
  BootRecord Activated(unsigned slot) const;

  std::vector<FlashOperation> Recording(const BootRecord& record) const;
  static std::vector<FlashOperation> Writing(unsigned slot, const std::vector<uint8_t>& image);
  static std::vector<FlashOperation> Erasing(unsigned slot);

 private:
  int NewestPage() const;  // of the records; -1: none is good

  const Flash& flash_;
  const Runs runs_;
};

// Does the host or the card see a difference?
bool SameBoot(const BootRecord& a, const BootRecord& b);

}  // namespace spyre::model
