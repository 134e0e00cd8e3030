// SPDX-License-Identifier: Apache-2.0
#include "model/boot/firmware_slots.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "model/contract/control_block.h"

namespace spyre::model {
namespace {

constexpr uint32_t kRecordMagic = 0x544F4F42;  // "BOOT"
constexpr int kSectorPages = kFlashSectorBytes / kFlashPageBytes;
constexpr int kRecordPages = kBootRecordBytes / kFlashPageBytes;
static_assert(kFirmwareSlotBytes % kFlashSectorBytes == 0);
static_assert(kFirmwareSlotBytes >= sizeof(FirmwareHeader) + kControllerSramBytes);

constexpr uint32_t Address(unsigned slot) { return kBootRecordBytes + slot * kFirmwareSlotBytes; }
constexpr unsigned Other(unsigned slot) { return 1 - slot; }

uint32_t RecordCrc(const BootRecord& record) { return Crc32c(&record, offsetof(BootRecord, crc)); }

BootRecord RecordAt(const Flash& flash, int page) {
  BootRecord record;
  std::memcpy(&record, &flash.contents()[static_cast<uint32_t>(page) * kFlashPageBytes],
              sizeof(record));
  return record;
}

bool IsGood(const BootRecord& record) {
  return record.magic == kRecordMagic && record.crc == RecordCrc(record) &&
         record.active < kFirmwareSlots &&
         (record.pending < kFirmwareSlots || record.pending == kNoSlot);
}

FlashOperation ProgramRecord(int page, BootRecord record) {
  record.magic = kRecordMagic;
  record.crc = RecordCrc(record);
  FlashOperation operation{static_cast<uint32_t>(page) * kFlashPageBytes};
  operation.data.resize(sizeof(record));
  std::memcpy(operation.data.data(), &record, sizeof(record));
  return operation;
}

BootRecord WithFailure(BootRecord record, unsigned slot, BootFailure failure, uint32_t detail) {
  record.failed_slot = static_cast<uint8_t>(slot);
  record.failure = static_cast<uint32_t>(failure);
  record.detail = detail;
  return record;
}

}  // namespace

bool SameBoot(const BootRecord& a, const BootRecord& b) {
  const auto parts = [](const BootRecord& r) {
    return std::tie(r.active, r.pending, r.attempts, r.failed_slot, r.failure, r.detail);
  };
  return parts(a) == parts(b);
}

std::vector<FlashOperation> FirmwareSlots::Factory(const std::vector<uint8_t>& image) {
  std::vector<FlashOperation> operations;
  for (unsigned slot = 0; slot < kFirmwareSlots; ++slot) {
    for (FlashOperation& operation : Writing(slot, image)) {
      if (!operation.erases()) operations.push_back(std::move(operation));
    }
  }
  operations.push_back(ProgramRecord(0, {}));
  return operations;
}

int FirmwareSlots::NewestPage() const {
  int newest = -1;
  uint32_t sequence = 0;
  for (int page = 0; page < kRecordPages; ++page) {
    const BootRecord record = RecordAt(flash_, page);
    if (!IsGood(record) || (newest >= 0 && record.sequence < sequence)) continue;
    newest = page;
    sequence = record.sequence;
  }
  return newest;
}

BootRecord FirmwareSlots::Record() const {
  const int page = NewestPage();
  return page < 0 ? BootRecord{} : RecordAt(flash_, page);
}

UpdateStatus FirmwareSlots::Check(unsigned slot, FirmwareHeader* header) const {
  if (header != nullptr) *header = {};
  if (slot >= kFirmwareSlots) return UpdateStatus::BAD_SLOT;
  if (flash_.IsBlank(Address(slot), sizeof(FirmwareHeader))) return UpdateStatus::EMPTY;
  const std::vector<uint8_t> image = Image(slot);
  const UpdateStatus status = Check(image);
  if (header != nullptr && status == UpdateStatus::DONE)
    CheckFirmware(image.data(), image.size(), header);
  return status;
}

UpdateStatus FirmwareSlots::Check(const std::vector<uint8_t>& image) const {
  const UpdateStatus status = CheckFirmware(image.data(), image.size());
  if (status != UpdateStatus::DONE) return status;
  return runs_(UnpackFirmware(image)) ? UpdateStatus::DONE : UpdateStatus::NOT_RUNNABLE;
}

std::vector<uint8_t> FirmwareSlots::Image(unsigned slot) const {
  const auto begin = flash_.contents().begin() + Address(slot);
  FirmwareHeader header;
  std::memcpy(static_cast<void*>(&header), &*begin, sizeof(header));
  const uint64_t bytes =
      std::min<uint64_t>(sizeof(header) + uint64_t{header.payload_bytes}, kFirmwareSlotBytes);
  return {begin, begin + static_cast<ptrdiff_t>(bytes)};
}

bool FirmwareSlots::Holds(unsigned slot, const std::vector<uint8_t>& image) const {
  return std::equal(image.begin(), image.end(), flash_.contents().begin() + Address(slot));
}

BootChoice FirmwareSlots::Choose(unsigned trial_boots) const {
  BootRecord record = Record();
  if (record.pending != kNoSlot) {
    const unsigned slot = record.pending;
    const UpdateStatus status = Check(slot);
    if (status == UpdateStatus::DONE && record.attempts < trial_boots) {
      ++record.attempts;
      return {static_cast<int>(slot), true, record};
    }
    if (status != UpdateStatus::DONE) {
      record = WithFailure(record, slot, BootFailure::BAD_IMAGE, static_cast<uint32_t>(status));
    } else if (record.failed_slot != slot) {
      record = WithFailure(record, slot, BootFailure::INTERRUPTED, 0);
    }
    record.pending = kNoSlot;
    record.attempts = 0;
  }
  for (const unsigned slot : {unsigned{record.active}, Other(record.active)}) {
    const UpdateStatus status = Check(slot);
    if (status == UpdateStatus::DONE) {
      record.active = static_cast<uint8_t>(slot);
      return {static_cast<int>(slot), false, record};
    }
    record = WithFailure(record, slot, BootFailure::BAD_IMAGE, static_cast<uint32_t>(status));
  }
  return {-1, false, record};
}

BootRecord FirmwareSlots::Confirmed() const {
  BootRecord record = Record();
  record.active = record.pending;
  record.pending = kNoSlot;
  record.attempts = 0;
  return record;
}

BootRecord FirmwareSlots::Failed(BootFailure failure, uint32_t detail) const {
  const BootRecord record = Record();
  return WithFailure(record, record.pending, failure, detail);
}

// A failure of an earlier trial must not be taken for one of this.
BootRecord FirmwareSlots::Activated(unsigned slot) const {
  BootRecord record = Record();
  record.pending = slot == record.active ? kNoSlot : static_cast<uint8_t>(slot);
  record.attempts = 0;
  return WithFailure(record, kNoSlot, BootFailure::NONE, 0);
}

std::vector<FlashOperation> FirmwareSlots::Recording(const BootRecord& record) const {
  const int newest = NewestPage();
  BootRecord next = record;
  next.sequence = newest < 0 ? 0 : RecordAt(flash_, newest).sequence + 1;
  const int sector = newest < 0 ? 1 : newest / kSectorPages;
  for (int page = sector * kSectorPages; newest >= 0 && page < (sector + 1) * kSectorPages;
       ++page) {
    if (flash_.IsBlank(static_cast<uint32_t>(page) * kFlashPageBytes, kFlashPageBytes))
      return {ProgramRecord(page, next)};
  }
  const int first = (1 - sector) * kSectorPages;  // of the other sector
  return {FlashOperation{static_cast<uint32_t>(first) * kFlashPageBytes},
          ProgramRecord(first, next)};
}

// The page with the header comes last: until then the slot is empty.
std::vector<FlashOperation> FirmwareSlots::Writing(unsigned slot,
                                                   const std::vector<uint8_t>& image) {
  std::vector<FlashOperation> operations;
  for (uint32_t at = 0; at < image.size(); at += kFlashSectorBytes)
    operations.push_back({Address(slot) + at});
  const auto program = [&](uint32_t at) {
    const size_t bytes = std::min<size_t>(kFlashPageBytes, image.size() - at);
    operations.push_back({Address(slot) + at, {&image[at], &image[at] + bytes}});
  };
  for (uint32_t at = kFlashPageBytes; at < image.size(); at += kFlashPageBytes) program(at);
  program(0);
  return operations;
}

std::vector<FlashOperation> FirmwareSlots::Erasing(unsigned slot) {
  std::vector<FlashOperation> operations;
  for (uint32_t at = 0; at < kFirmwareSlotBytes; at += kFlashSectorBytes)
    operations.push_back({Address(slot) + at});
  return operations;
}

}  // namespace spyre::model
