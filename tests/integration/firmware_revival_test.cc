// SPDX-License-Identifier: Apache-2.0
// A card in whose flash no image is good, and what brings it back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cosim/host/child_process.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/firmware_updater.h"
#include "driver/physical_function.h"
#include "model/boot/firmware_slots.h"
#include "model/common/elf_image.h"
#include "model/control/factory_firmware.h"
#include "tests/card_choices.h"

namespace spyre::test::firmware_revival_test {
namespace {

using driver::FirmwareUpdater;

constexpr uint64_t kBootPs = 1'000'000'000;

struct Card {
  Card(const char* fidelity, const std::string& flash) {
    config.management.fidelity = test::Named(fidelity);
    config.management.flash = flash;
    transport = std::make_unique<cosim::InProcessTransport>(config, cosim::HostTiming{}, nullptr);
  }
  model::CardConfig config;
  std::unique_ptr<cosim::InProcessTransport> transport;
};

// Boot logic needs no firmware: it takes an image, and the card works. Slots that are empty, and
// slots whose images have a wrong bit.
TEST(FirmwareRevival, ACardWithoutAnyGoodSlotTakesANewImageAndWorks) {
  for (const char* fidelity : {"behavioural", "rtl"}) {
    for (const bool is_empty : {true, false}) {
      std::string pattern =
          (std::filesystem::temp_directory_path() / "spyre_flash_XXXXXX").string();
      const std::string dir = mkdtemp(pattern.data()), flash = dir + "/flash";
      if (is_empty) {
        std::ofstream(flash, std::ios::binary) << std::string(model::kFlashBytes, '\xFF');
      } else {
        cosim::RunInChild([&] {
          const Card factory(fidelity, flash);
          factory.transport->Advance(kBootPs);
          return std::string();
        });
        std::fstream file(flash, std::ios::binary | std::ios::in | std::ios::out);
        for (uint32_t slot = 0; slot < kFirmwareSlots; ++slot) {
          file.seekp(model::kBootRecordBytes + slot * kFirmwareSlotBytes + 200);
          file.write("wrong", 5);
        }
      }
      const std::string revived = cosim::RunInChild([&] {
        const Card card(fidelity, flash);
        EXPECT_THROW(card.transport->Advance(kBootPs), Error) << "nothing runs";
        FirmwareUpdater updater(*card.transport);
        updater.Update(
            PackFirmware(model::FlattenElf(model::FactoryFirmware(card.config)), {1, 7, 42}));
        const UpdateStatus status = updater.Restart();
        return fmt::format("status {}, runs {}", static_cast<int>(status),
                           driver::SlotName(updater.ReadBoot().running));
      });
      EXPECT_EQ(revived, "status 0, runs A") << fidelity;
      const std::string later = cosim::RunInChild([&] {
        const Card card(fidelity, flash);
        driver::Device device(*card.transport, 0);
        return fmt::format("version {}",
                           driver::PhysicalFunction(device).ReadFirmwareVersion().major);
      });
      EXPECT_EQ(later, "version 1") << fidelity;
      std::filesystem::remove_all(dir);
    }
  }
}

}  // namespace
}  // namespace spyre::test::firmware_revival_test
