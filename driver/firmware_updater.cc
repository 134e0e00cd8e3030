// SPDX-License-Identifier: Apache-2.0
#include "driver/firmware_updater.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "driver/pci.h"

namespace spyre::driver {
namespace {

// A flash takes tens of milliseconds to erase a sector; what is asked more often learns nothing.
constexpr double kPollNs = 1e6;
// The card counts its flash operations. One that takes longer than this has hung: serial flash
// erases a sector in less than half a second at its worst.
constexpr double kOperationNs = 1e9;

std::optional<unsigned> Slot(uint32_t field) {
  return field == kFirmwareNoSlot ? std::nullopt : std::optional<unsigned>(field);
}

const char* Name(UpdateCommand command) {
  for (const EnumName<UpdateCommand>& entry : kUpdateCommandNames) {
    if (entry.value == command) return entry.name;
  }
  return "?";
}

}  // namespace

std::string SlotName(std::optional<unsigned> slot) {
  return slot ? std::string(1, static_cast<char>('A' + *slot)) : "none";
}

FirmwareUpdater::FirmwareUpdater(Device& device)
    : transport_(device.transport()), registers_(Bar0{&device.transport(), 0}) {
  if (!device.is_physical()) {
    throw BadInput("function {} is a virtual function; only function 0 updates the card's firmware",
                   device.function())
        .Subject(fmt::format("function {}", device.function()))
        .Remedy("function 0");
  }
}

FirmwareUpdater::FirmwareUpdater(Transport& transport)
    : transport_(transport), registers_(Bar0{&transport, 0}) {
  const uint32_t command = transport_.ConfigRead(0, pci::kCommandStatus);
  RequirePresent(0, command, "updating its firmware");
  transport_.ConfigWrite(0, pci::kCommandStatus, (command & 0xFFFF) | pci::kCommandMemory);
}

BootInfo FirmwareUpdater::ReadBoot() {
  using Registers = FunctionRegisters;
  const uint32_t boot = registers_.ReadFwBoot();
  RequirePresent(0, boot, "FW_BOOT");
  const uint32_t failure = registers_.ReadFwFailure();
  BootInfo info;
  info.running = Slot(Registers::FwBootRunning(boot));
  info.active = Slot(Registers::FwBootActive(boot));
  info.pending = Slot(Registers::FwBootPending(boot));
  info.attempts = Registers::FwBootAttempts(boot);
  info.failure = static_cast<BootFailure>(Registers::FwFailureCause(failure));
  info.failed_slot = Slot(Registers::FwFailureSlot(failure));
  info.failure_detail = registers_.ReadFwFailureDetail();
  return info;
}

SlotInfo FirmwareUpdater::ReadSlot(unsigned slot) {
  using Registers = FunctionRegisters;
  registers_.WriteFwSlot(slot);
  SlotInfo info;
  info.state = static_cast<UpdateStatus>(registers_.ReadFwSlotState());
  const uint32_t version = registers_.ReadFwSlotVersion();
  info.version = {static_cast<uint8_t>(Registers::FwSlotVersionMajor(version)),
                  static_cast<uint8_t>(Registers::FwSlotVersionMinor(version)),
                  static_cast<uint16_t>(Registers::FwSlotVersionPatch(version))};
  info.build_id = registers_.ReadFwSlotBuild();
  info.bytes = registers_.ReadFwSlotBytes();
  return info;
}

void FirmwareUpdater::Download(uint32_t offset, const std::vector<uint8_t>& bytes) {
  if (offset % 4 != 0 || offset > kFirmwareSlotBytes ||
      bytes.size() > kFirmwareSlotBytes - offset) {
    throw BadInput(
        "{} bytes of firmware at offset {}: the staging window has {} bytes, and is "
        "written by words",
        bytes.size(), offset, kFirmwareSlotBytes);
  }
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, &bytes[at], std::min<size_t>(4, bytes.size() - at));
    transport_.Write32(0, 4, kFirmwareStagingOffset + offset + at, word);
  }
}

UpdateStatus FirmwareUpdater::Command(UpdateCommand command) {
  registers_.WriteFwCommand(static_cast<uint32_t>(command));
  uint32_t progress = 0;
  uint64_t deadline = transport_.NowPs() + PsFromNs(kOperationNs);
  for (;;) {
    const uint32_t status = registers_.ReadFwStatus();
    RequirePresent(0, status, Name(command));
    if (status != kAdminBusy) return static_cast<UpdateStatus>(status);
    const uint32_t now = registers_.ReadFwProgress();
    const uint64_t time_ps = transport_.NowPs();
    if (now != progress) deadline = time_ps + PsFromNs(kOperationNs);
    progress = now;
    if (time_ps >= deadline) {
      throw DeviceFault(
          "{}: the card's boot logic has made no progress for {} ms ({} of {} flash "
          "operations)\n{}",
          Name(command), kOperationNs / 1e6, FunctionRegisters::FwProgressDone(progress),
          FunctionRegisters::FwProgressAll(progress), transport_.Diagnose())
          .Subject(Name(command));
    }
    transport_.Advance(PsFromNs(kPollNs));
  }
}

void FirmwareUpdater::Must(UpdateCommand command, const std::string& what) {
  const UpdateStatus status = Command(command);
  if (status == UpdateStatus::DONE) return;
  const EnumName<UpdateStatus>& entry = Describe(status);
  throw BadInput("{} {} refused by the card: {} ({})", Name(command), what, entry.description,
                 entry.name)
      .Subject(Name(command))
      .Value(entry.name);
}

UpdateStatus FirmwareUpdater::Verify(uint32_t image_bytes) {
  registers_.WriteFwBytes(image_bytes);
  return Command(UpdateCommand::VERIFY);
}

void FirmwareUpdater::Commit(unsigned slot, uint32_t image_bytes) {
  registers_.WriteFwSlot(slot);
  registers_.WriteFwBytes(image_bytes);
  Must(UpdateCommand::COMMIT,
       fmt::format("of an image of {} bytes to slot {}", image_bytes, SlotName(slot)));
}

std::vector<uint8_t> FirmwareUpdater::ReadBack(unsigned slot) {
  const uint32_t size = ReadSlot(slot).bytes;  // this slot from here on
  Must(UpdateCommand::READ, "of slot " + SlotName(slot));
  std::vector<uint8_t> image(size);
  for (uint32_t at = 0; at < size; at += 4) {
    const uint32_t word = transport_.Read32(0, 4, kFirmwareStagingOffset + at);
    std::memcpy(&image[at], &word, std::min<uint32_t>(4, size - at));
  }
  return image;
}

void FirmwareUpdater::Erase(unsigned slot) {
  registers_.WriteFwSlot(slot);
  Must(UpdateCommand::ERASE, "of slot " + SlotName(slot));
}

void FirmwareUpdater::Activate(unsigned slot) {
  registers_.WriteFwSlot(slot);
  Must(UpdateCommand::ACTIVATE, "of slot " + SlotName(slot));
}

UpdateStatus FirmwareUpdater::Restart() {
  const UpdateStatus status = Command(UpdateCommand::RESTART);
  if (status == UpdateStatus::DONE || status == UpdateStatus::ROLLED_BACK) return status;
  const EnumName<UpdateStatus>& entry = Describe(status);
  throw BadInput("RESTART refused by the card: {} ({})", entry.description, entry.name)
      .Subject("RESTART")
      .Value(entry.name);
}

unsigned FirmwareUpdater::Update(const std::vector<uint8_t>& image) {
  const BootInfo boot = ReadBoot();
  unsigned slot = 0;
  const auto is_in_use = [&](unsigned i) {
    if (!boot.running && ReadSlot(i).state != UpdateStatus::DONE) return false;
    return boot.active == i || boot.running == i || boot.pending == i;
  };
  while (slot < kFirmwareSlots && is_in_use(slot)) ++slot;
  if (slot == kFirmwareSlots) {
    throw BadInput(
        "no slot is free: {} runs, {} is active, {} is to boot next; restart the card or "
        "activate slot {} again first",
        SlotName(boot.running), SlotName(boot.active), SlotName(boot.pending),
        SlotName(boot.active));
  }
  Download(0, image);
  Commit(slot, static_cast<uint32_t>(image.size()));
  if (ReadBack(slot) != image) {
    throw DeviceFault("slot {} does not hold the image of {} bytes that was written",
                      SlotName(slot), image.size());
  }
  Activate(slot);
  return slot;
}

}  // namespace spyre::driver
