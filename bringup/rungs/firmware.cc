// SPDX-License-Identifier: Apache-2.0
// Rung 2: what the card's flash holds, and from level 2 on an update with the firmware that runs,
// which leaves the card as it was.
#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"
#include "driver/firmware_updater.h"

namespace spyre::bringup {
namespace {

using driver::BootInfo;
using driver::FirmwareUpdater;
using driver::SlotInfo;

class Rung2Firmware : public Rung {};

TEST_F(Rung2Firmware, RunsFromASlotWithAGoodImage) {
  FirmwareUpdater updater(Physical());
  const BootInfo boot = updater.ReadBoot();
  ASSERT_TRUE(boot.running);
  ASSERT_LT(*boot.running, kFirmwareSlots);
  EXPECT_EQ(boot.running, boot.active) << "firmware that has come up is the active one";
  const SlotInfo slot = updater.ReadSlot(*boot.running);
  EXPECT_EQ(slot.state, UpdateStatus::DONE);
  EXPECT_GT(slot.bytes, sizeof(FirmwareHeader));
  EXPECT_LE(slot.bytes, kFirmwareSlotBytes);
}

TEST_F(Rung2Firmware, ShowsWhatTheImageSays) {
  FirmwareUpdater updater(Physical());
  const unsigned running = updater.ReadBoot().running.value();
  const SlotInfo slot = updater.ReadSlot(running);
  const std::vector<uint8_t> image = updater.ReadBack(running);
  FirmwareHeader header;
  ASSERT_EQ(CheckFirmware(image.data(), image.size(), &header), UpdateStatus::DONE);
  EXPECT_EQ(slot.bytes, image.size());
  EXPECT_EQ(slot.build_id, header.build_id);
  EXPECT_EQ(slot.version.major, header.version_major);
  EXPECT_EQ(slot.version.minor, header.version_minor);
  EXPECT_EQ(slot.version.patch, header.version_patch);
}

TEST_F(Rung2Firmware, RefusesAStagedImageWithOneWrongBit) {
  FirmwareUpdater updater(Physical());
  std::vector<uint8_t> image = updater.ReadBack(updater.ReadBoot().running.value());
  const auto bytes = static_cast<uint32_t>(image.size());
  updater.Download(0, image);
  EXPECT_EQ(updater.Verify(bytes), UpdateStatus::DONE);
  image.back() ^= 0x80;
  updater.Download(0, image);
  EXPECT_EQ(updater.Verify(bytes), UpdateStatus::BAD_PAYLOAD_CRC);
  EXPECT_EQ(updater.Verify(bytes - 4), UpdateStatus::BAD_LENGTH);
}

TEST_F(Rung2Firmware, KeepsTheSlotThatRuns) {
  FirmwareUpdater updater(Physical());
  const unsigned running = updater.ReadBoot().running.value();
  EXPECT_NE(FailureOf([&] { updater.Erase(running); }).find("SLOT_IN_USE"), std::string::npos);
  EXPECT_EQ(updater.ReadSlot(running).state, UpdateStatus::DONE);
}

class Rung2FirmwareLevel2 : public Rung {};

TEST_F(Rung2FirmwareLevel2, IsUpdatedRestartedAndPutBack) {
  FirmwareUpdater updater(Physical());
  const BootInfo before = updater.ReadBoot();
  if (!before.running || before.running != before.active || before.pending)
    CannotRun("an update is going on");
  const unsigned running = *before.running, other = 1 - running;
  const bool other_was_good = updater.ReadSlot(other).state == UpdateStatus::DONE;
  const std::vector<uint8_t> other_image =
      other_was_good ? updater.ReadBack(other) : std::vector<uint8_t>();
  const std::vector<uint8_t> image = updater.ReadBack(running);

  EXPECT_EQ(updater.Update(image), other);
  board().WillResetCard();
  EXPECT_EQ(updater.Restart(), UpdateStatus::DONE);
  EXPECT_EQ(updater.ReadBoot().running, other);
  driver::PhysicalFunction(Physical()).ReadFirmwareVersion();  // it answers

  updater.Activate(running);
  board().WillResetCard();
  EXPECT_EQ(updater.Restart(), UpdateStatus::DONE);
  if (other_was_good) {
    updater.Download(0, other_image);
    updater.Commit(other, static_cast<uint32_t>(other_image.size()));
    EXPECT_EQ(updater.ReadBack(other), other_image);
  } else {
    updater.Erase(other);
  }
  EXPECT_EQ(updater.ReadBoot().running, running);
  EXPECT_EQ(updater.ReadBoot().active, running);
  EXPECT_FALSE(updater.ReadBoot().pending);
}

}  // namespace

void LinkFirmwareRung() {}

}  // namespace spyre::bringup
