// SPDX-License-Identifier: Apache-2.0
// Firmware updates by the host: what the PF's driver does on a whole card, with the firmware as
// host code and on the RTL of its controller, where images of other programs really run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cosim/host/child_process.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/firmware_updater.h"
#include "driver/physical_function.h"
#include "model/common/elf_image.h"
#include "model/control/factory_firmware.h"
#include "tests/card_choices.h"
#include "tests/paths.h"

namespace spyre::test::firmware_update_test {
namespace {

using driver::BootInfo;
using driver::FirmwareUpdater;
using ::testing::HasSubstr;

// The same program as the factory's under another version, which a behavioural card can run.
std::vector<uint8_t> Newer(const model::CardConfig& config) {
  return PackFirmware(model::FlattenElf(model::FactoryFirmware(config)), {1, 7, 42});
}

class UpdateBench {
 public:
  explicit UpdateBench(const char* fidelity, const std::string& flash = "") {
    config_.management.fidelity = test::Named(fidelity);
    config_.management.flash = flash;
    config_.management.boot_deadline_us = 500;
    transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
    Open();
  }
  void Open() {
    device_ = std::make_unique<driver::Device>(*transport_, 0);
    updater_ = std::make_unique<FirmwareUpdater>(*device_);
  }
  void HotReset() {
    updater_.reset();
    device_.reset();
    transport_->HotReset();
    Open();
  }
  std::string RefusalOf(const std::function<void()>& request) const {
    try {
      request();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static std::vector<uint8_t> Broken(const std::string& name) {
    return PackFirmware(
        model::FlattenElf(model::ReadElf(SPYRE_BUILD_DIR "/tests/firmware/" + name + ".elf")),
        {2, 0, 0});
  }
  bool Works() {
    driver::PhysicalFunction physical(*device_);
    return physical.ReadFirmwareVersion().major == 1;
  }

  model::CardConfig config_;
  std::unique_ptr<cosim::InProcessTransport> transport_;
  std::unique_ptr<driver::Device> device_;
  std::unique_ptr<FirmwareUpdater> updater_;
};

class FirmwareUpdate : public ::testing::TestWithParam<const char*>, protected UpdateBench {
 protected:
  FirmwareUpdate() : UpdateBench(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Firmware, FirmwareUpdate, ::testing::Values("behavioural", "rtl"),
                         [](const auto& fidelity) { return std::string(fidelity.param); });

TEST_P(FirmwareUpdate, ANewCardHasTheFactorysFirmwareInBothSlots) {
  const BootInfo boot = updater_->ReadBoot();
  EXPECT_EQ(boot.running, 0u);
  EXPECT_EQ(boot.active, 0u);
  EXPECT_FALSE(boot.pending);
  EXPECT_EQ(boot.failure, BootFailure::NONE);
  for (unsigned slot = 0; slot < 2; ++slot) {
    const driver::SlotInfo info = updater_->ReadSlot(slot);
    EXPECT_EQ(info.state, UpdateStatus::DONE);
    EXPECT_EQ(info.version.major, 1);
    EXPECT_EQ(updater_->ReadBack(slot), model::FactoryPackage(config_));
  }
  EXPECT_EQ(updater_->ReadSlot(2).state, UpdateStatus::BAD_SLOT);
}

TEST_P(FirmwareUpdate, RunsAfterARestart) {
  const std::vector<uint8_t> image = Newer(config_);
  EXPECT_EQ(updater_->Update(image), 1u);
  EXPECT_EQ(updater_->ReadBoot().pending, 1u);
  EXPECT_EQ(updater_->ReadBoot().running, 0u) << "until it is restarted";
  EXPECT_EQ(updater_->Restart(), UpdateStatus::DONE);
  const BootInfo boot = updater_->ReadBoot();
  EXPECT_EQ(boot.running, 1u);
  EXPECT_EQ(boot.active, 1u);
  EXPECT_FALSE(boot.pending);
  EXPECT_EQ(updater_->ReadSlot(1).version.patch, 42);
  EXPECT_TRUE(Works());
}

TEST_P(FirmwareUpdate, RunsAfterAHotReset) {
  updater_->Update(Newer(config_));
  HotReset();
  EXPECT_EQ(updater_->ReadBoot().running, 1u);
  EXPECT_EQ(updater_->ReadBoot().active, 1u);
  EXPECT_TRUE(Works());
  HotReset();
  EXPECT_EQ(updater_->ReadBoot().running, 1u) << "and after the next";
  updater_->Activate(0);  // back by hand
  EXPECT_EQ(updater_->Restart(), UpdateStatus::DONE);
  EXPECT_EQ(updater_->ReadBoot().active, 0u);
}

TEST_P(FirmwareUpdate, TakesTheTimeOfTheFlash) {
  const std::vector<uint8_t> image = Newer(config_);
  updater_->Download(0, image);
  const uint64_t begin = transport_->NowPs();
  updater_->Commit(1, static_cast<uint32_t>(image.size()));
  const uint64_t took_us = (transport_->NowPs() - begin) / 1'000'000;
  const uint64_t sectors = (image.size() + 4095) / 4096, pages = (image.size() + 255) / 256;
  const uint64_t flash_us = sectors * 45'000 + pages * 400 + 2 * image.size() / 50;
  EXPECT_GE(took_us, flash_us);
  EXPECT_LE(took_us, flash_us + 1100) << "the driver looks once in a millisecond";
  EXPECT_EQ(device_->registers().ReadFwProgress(), (sectors + pages) << 16 | (sectors + pages));
}

TEST_P(FirmwareUpdate, TellsThePhysicalFunctionByInterrupt) {
  device_->registers().WriteIntStatus(regs::INT_STATUS_ADMIN_MASK);
  EXPECT_EQ(updater_->Verify(4), UpdateStatus::BAD_LENGTH);
  EXPECT_NE(device_->registers().ReadIntStatus() & regs::INT_STATUS_ADMIN_MASK, 0u);
}

TEST_P(FirmwareUpdate, ABadImageIsRefusedByNameAndChangesNothing) {
  std::vector<uint8_t> image = Newer(config_);
  image[200] ^= 1;
  EXPECT_THAT(RefusalOf([&] { updater_->Update(image); }), HasSubstr("BAD_PAYLOAD_CRC"));
  EXPECT_EQ(updater_->ReadSlot(1).state, UpdateStatus::DONE) << "not even erased";
  EXPECT_FALSE(updater_->ReadBoot().pending);
  EXPECT_EQ(updater_->Verify(kFirmwareSlotBytes + 4), UpdateStatus::BAD_LENGTH);
  EXPECT_EQ(updater_->Verify(0xFFFFFFFF), UpdateStatus::BAD_LENGTH);
  EXPECT_THAT(RefusalOf([&] { updater_->Download(0, std::vector<uint8_t>(0x41004)); }),
              HasSubstr("staging window"));
}

TEST_P(FirmwareUpdate, TheSlotThatBootsCannotBeOverwritten) {
  const std::vector<uint8_t> image = Newer(config_);
  updater_->Download(0, image);
  const auto bytes = static_cast<uint32_t>(image.size());
  EXPECT_THAT(RefusalOf([&] { updater_->Commit(0, bytes); }), HasSubstr("SLOT_IN_USE"));
  EXPECT_THAT(RefusalOf([&] { updater_->Erase(0); }), HasSubstr("SLOT_IN_USE"));
  EXPECT_THAT(RefusalOf([&] { updater_->Commit(2, bytes); }), HasSubstr("BAD_SLOT"));
  updater_->Commit(1, bytes);
  updater_->Activate(1);
  EXPECT_THAT(RefusalOf([&] { updater_->Commit(1, bytes); }), HasSubstr("SLOT_IN_USE"));
  EXPECT_THAT(RefusalOf([&] { updater_->Update(image); }), HasSubstr("no slot is free"));
}

TEST_P(FirmwareUpdate, AnErasedSlotIsEmptyAndDoesNotBoot) {
  updater_->Erase(1);
  EXPECT_EQ(updater_->ReadSlot(1).state, UpdateStatus::EMPTY);
  EXPECT_THAT(RefusalOf([&] { updater_->Activate(1); }), HasSubstr("EMPTY"));
  EXPECT_THAT(RefusalOf([&] { updater_->ReadBack(1); }), HasSubstr("EMPTY"));
}

TEST_P(FirmwareUpdate, ARestartIsRefusedWhileVirtualFunctionsAreEnabled) {
  driver::PhysicalFunction physical(*device_);
  physical.EnableVirtualFunctions(1);
  EXPECT_THAT(RefusalOf([&] { updater_->Restart(); }), HasSubstr("FUNCTIONS_ENABLED"));
  physical.EnableVirtualFunctions(0);
  EXPECT_EQ(updater_->Restart(), UpdateStatus::DONE);
}

TEST_P(FirmwareUpdate, UnknownCommandsAreAnswered) {
  for (const uint32_t command : {0u, 7u, 0x101u, 0xFFFFFFFFu}) {
    device_->registers().WriteFwCommand(command);
    device_->Charge(1e6);
    EXPECT_EQ(device_->registers().ReadFwStatus(), static_cast<uint32_t>(UpdateStatus::BAD_COMMAND))
        << command;
  }
}

TEST_P(FirmwareUpdate, AVirtualFunctionHasNoneOfIt) {
  driver::PhysicalFunction(*device_).EnableVirtualFunctions(1);
  for (uint64_t offset = 0x7000; offset < 0x7040; offset += 4) {
    transport_->Write32(1, 0, offset, 2);
    EXPECT_EQ(transport_->Read32(1, 0, offset), 0u) << offset;
  }
  EXPECT_EQ(transport_->Read32(1, 4, kFirmwareStagingOffset), 0xFFFFFFFFu) << "it has no BAR4";
  EXPECT_EQ(device_->registers().ReadFwStatus(), 0u);
  driver::Device vf(*transport_, 1);
  EXPECT_THAT(RefusalOf([&] { FirmwareUpdater of_vf(vf); }), HasSubstr("function 0"));
}

TEST_P(FirmwareUpdate, AResetInTheMiddleEndsTheCommand) {
  const std::vector<uint8_t> image = Newer(config_);
  updater_->Download(0, image);
  device_->registers().WriteFwSlot(1);
  device_->registers().WriteFwBytes(static_cast<uint32_t>(image.size()));
  device_->registers().WriteFwCommand(static_cast<uint32_t>(UpdateCommand::COMMIT));
  device_->Charge(60e6);
  EXPECT_EQ(device_->registers().ReadFwStatus(), kAdminBusy);
  HotReset();
  EXPECT_EQ(device_->registers().ReadFwStatus(), 0u);
  EXPECT_EQ(updater_->ReadBoot().running, 0u);
  EXPECT_NE(updater_->ReadSlot(1).state, UpdateStatus::DONE);
  EXPECT_EQ(updater_->Update(image), 1u);
}

// Power goes at every flash operation of an update, its trial and its confirmation; then the card
// is switched on again. It is one card all the time.
TEST_P(FirmwareUpdate, APowerCutAtEveryOperationLeavesACardThatWorks) {
  const std::vector<uint8_t> old_image = model::FactoryPackage(config_);
  const std::vector<uint8_t> new_image = Newer(config_);
  int ran_old = 0, ran_new = 0;
  for (uint64_t at = 0;; ++at) {
    model::Flash& flash = transport_->card().management().boot().flash();
    flash.CutPower(at, at % 9);
    // What the host does, as far as it comes.
    const auto order = [&](UpdateCommand command) {
      device_->registers().WriteFwCommand(static_cast<uint32_t>(command));
      while (flash.powered() && device_->registers().ReadFwStatus() == kAdminBusy)
        device_->Charge(1e6);
    };
    const unsigned free = 1 - *updater_->ReadBoot().active;
    updater_->Download(0, new_image);
    device_->registers().WriteFwSlot(free);
    device_->registers().WriteFwBytes(static_cast<uint32_t>(new_image.size()));
    for (const UpdateCommand command :
         {UpdateCommand::COMMIT, UpdateCommand::ACTIVATE, UpdateCommand::RESTART})
      if (flash.powered()) order(command);
    const bool cut = !flash.powered();
    HotReset();
    const BootInfo boot = updater_->ReadBoot();
    ASSERT_TRUE(boot.running) << at;
    EXPECT_EQ(boot.running, boot.active) << at;
    const std::vector<uint8_t> runs = updater_->ReadBack(*boot.running);
    ASSERT_TRUE(runs == old_image || runs == new_image) << at;
    ASSERT_TRUE(Works()) << at;
    ++(runs == old_image ? ran_old : ran_new);
    if (!cut) break;
    if (runs == old_image) continue;
    updater_->Update(old_image);  // back to the beginning
    ASSERT_EQ(updater_->Restart(), UpdateStatus::DONE);
  }
  EXPECT_GT(ran_old, 10);
  EXPECT_GE(ran_new, 2);
}

TEST(FirmwareUpdateBehavioural, RefusesImagesOfOtherProgramsAtCommit) {
  UpdateBench bench("behavioural");
  EXPECT_THAT(bench.RefusalOf([&] { bench.updater_->Update(UpdateBench::Broken("trap")); }),
              HasSubstr("NOT_RUNNABLE"));
  EXPECT_FALSE(bench.updater_->ReadBoot().pending);
}

// Two cards, one after the other, with one flash: `first` writes it, and the second is asked for
// what runs after power-on, once its firmware has come up.
std::string SlotsAfterPowerOn(const char* fidelity,
                              const std::function<void(UpdateBench&)>& first) {
  std::string pattern = (std::filesystem::temp_directory_path() / "spyre_flash_XXXXXX").string();
  const std::string dir = mkdtemp(pattern.data());
  cosim::RunInChild([&] {
    UpdateBench bench(fidelity, dir + "/flash");
    first(bench);
    return std::string();
  });
  const std::string text = cosim::RunInChild([&] {
    UpdateBench bench(fidelity, dir + "/flash");
    bench.device_->Charge(50e6);  // what a trial that fails and its records take
    const BootInfo boot = bench.updater_->ReadBoot();
    return fmt::format("runs {}, active {}, pending {}, failure {}{}",
                       driver::SlotName(boot.running), driver::SlotName(boot.active),
                       driver::SlotName(boot.pending), static_cast<int>(boot.failure),
                       bench.Works() ? "" : ", does not work");
  });
  std::filesystem::remove_all(dir);
  return text;
}

TEST(FirmwareUpdateFile, WhatIsActivatedBootsAtTheNextPowerOn) {
  for (const char* fidelity : {"behavioural", "rtl"}) {
    EXPECT_EQ(
        SlotsAfterPowerOn(fidelity, [](UpdateBench& b) { b.updater_->Update(Newer(b.config_)); }),
        "runs B, active B, pending none, failure 0");
  }
}

TEST(FirmwareUpdateFile, WhatFailsAtPowerOnIsRolledBackThere) {
  EXPECT_EQ(
      SlotsAfterPowerOn(
          "rtl", [](UpdateBench& b) { b.updater_->Update(UpdateBench::Broken("trap_at_start")); }),
      "runs A, active A, pending none, failure 3");
}

TEST(FirmwareUpdateFile, ABehaviouralCardBootsTheSlotThatItCanRun) {
  std::string pattern = (std::filesystem::temp_directory_path() / "spyre_flash_XXXXXX").string();
  const std::string dir = mkdtemp(pattern.data());
  cosim::RunInChild([&] {
    UpdateBench bench("rtl", dir + "/flash");
    bench.updater_->Update(UpdateBench::Broken("other"));
    EXPECT_EQ(bench.updater_->Restart(), UpdateStatus::DONE);
    return std::string();
  });
  UpdateBench bench("behavioural", dir + "/flash");
  EXPECT_EQ(bench.updater_->ReadBoot().running, 0u);
  EXPECT_EQ(bench.updater_->ReadBoot().failed_slot, 1u);
  EXPECT_EQ(bench.updater_->ReadBoot().failure_detail,
            static_cast<uint32_t>(UpdateStatus::NOT_RUNNABLE));
  EXPECT_TRUE(bench.Works());
  std::filesystem::remove_all(dir);
}

TEST(FirmwareUpdateFile, WithoutAnyGoodSlotTheCardIsLostAndSaysWhy) {
  std::string pattern = (std::filesystem::temp_directory_path() / "spyre_flash_XXXXXX").string();
  const std::string dir = mkdtemp(pattern.data());
  std::ofstream(dir + "/flash", std::ios::binary) << std::string(model::kFlashBytes, '\xFF');
  std::string failure = "none";
  try {
    UpdateBench bench("behavioural", dir + "/flash");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
    failure = error.what();
  }
  EXPECT_THAT(failure, HasSubstr("no slot of the flash has a good image"));
  std::filesystem::remove_all(dir);
}

struct Fault {
  const char* image;
  BootFailure failure;
  uint32_t detail;
};

class FirmwareRollback : public ::testing::TestWithParam<Fault>, protected UpdateBench {
 protected:
  FirmwareRollback() : UpdateBench("rtl") {}
  void ExpectOld() {
    const BootInfo boot = updater_->ReadBoot();
    EXPECT_EQ(boot.running, 0u);
    EXPECT_EQ(boot.active, 0u);
    EXPECT_FALSE(boot.pending);
    EXPECT_EQ(boot.failed_slot, 1u);
    EXPECT_EQ(boot.failure, GetParam().failure);
    EXPECT_EQ(boot.failure_detail, GetParam().detail);
    EXPECT_TRUE(Works());
  }
};

TEST_P(FirmwareRollback, FirmwareThatDoesNotComeUpGivesWayToTheOneBefore) {
  updater_->Update(Broken(GetParam().image));
  EXPECT_EQ(updater_->Restart(), UpdateStatus::ROLLED_BACK);
  ExpectOld();
}

TEST_P(FirmwareRollback, AlsoAfterAHotReset) {
  updater_->Update(Broken(GetParam().image));
  HotReset();
  ExpectOld();
}

INSTANTIATE_TEST_SUITE_P(Faults, FirmwareRollback,
                         ::testing::Values(Fault{"trap_at_start", BootFailure::TRAP, 2},
                                           Fault{"hang_at_start", BootFailure::WATCHDOG, 0},
                                           Fault{"never_ready", BootFailure::NOT_READY, 1},
                                           Fault{"sick", BootFailure::SELF_TEST, 0}),
                         [](const auto& fault) { return std::string(fault.param.image); });

TEST(FirmwareUpdateRtl, AnotherProgramReallyRuns) {
  UpdateBench bench("rtl");
  bench.updater_->Update(UpdateBench::Broken("other"));
  EXPECT_EQ(bench.updater_->Restart(), UpdateStatus::DONE);
  EXPECT_EQ(bench.updater_->ReadBoot().running, 1u);
  EXPECT_EQ(bench.device_->registers().ReadMgmtVersion(), 9u << 16 | 5u)
      << "what only that program says";
  const auto& log = bench.transport_->card().management().log();
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log.front(), "boot: another firmware");
}

}  // namespace
}  // namespace spyre::test::firmware_update_test
