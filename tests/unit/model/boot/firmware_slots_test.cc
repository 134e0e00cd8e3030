// SPDX-License-Identifier: Apache-2.0
// What is in the flash, and that it says one thing at every moment: power is cut at every operation
// of an update, and the card must boot the old firmware or the new.
#include "model/boot/firmware_slots.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"

namespace spyre::model::firmware_slots_test {
namespace {

std::vector<uint8_t> Image(uint8_t patch, size_t bytes) {
  FirmwareProgram program{kControllerSramBase, kControllerSramBase, std::vector<uint8_t>(bytes)};
  for (size_t i = 0; i < bytes; ++i) program.payload[i] = static_cast<uint8_t>(i * 31 + patch);
  return PackFirmware(program, {1, 0, patch});
}

constexpr unsigned kTrialBoots = 2;

// A card that is nothing but its flash and the decisions of its boot logic.
class Bench {
 public:
  Bench() { Do(FirmwareSlots::Factory(old_)); }

  void Do(const std::vector<FlashOperation>& operations) {
    for (const FlashOperation& operation : operations) flash_.Do(operation);
  }
  void Record(const BootRecord& record) {
    if (!SameBoot(record, slots_.Record())) Do(slots_.Recording(record));
  }
  void Activate(unsigned slot) { Record(slots_.Activated(slot)); }
  void Update(unsigned slot, const std::vector<uint8_t>& image) {
    Do(FirmwareSlots::Writing(slot, image));
    if (flash_.powered()) Activate(slot);
  }
  // Boots until firmware is up of which `comes_up` says so; its image.
  template <class ComesUp>
  std::vector<uint8_t> Boot(ComesUp comes_up) {
    for (int start = 0; start < 10; ++start) {
      const BootChoice choice = slots_.Choose(kTrialBoots);
      Record(choice.record);
      if (!flash_.powered() || choice.slot < 0) return {};
      const auto image = slots_.Image(static_cast<unsigned>(choice.slot));
      const bool up = comes_up(image);
      ++starts_;
      if (choice.trial) Record(up ? slots_.Confirmed() : slots_.Failed(BootFailure::TRAP, 2));
      if (!flash_.powered()) return {};
      if (up) return image;
      if (!choice.trial) return {};
    }
    ADD_FAILURE() << "it never ends";
    return {};
  }
  std::vector<uint8_t> Boot() {
    return Boot([](const auto&) { return true; });
  }

  const std::vector<uint8_t> old_ = Image(1, 3000), new_ = Image(2, 9001);
  Flash flash_{"", kFlashBytes};
  FirmwareSlots slots_{flash_, [](const FirmwareProgram&) { return true; }};
  int starts_ = 0;
};

class FirmwareSlotsTest : public ::testing::Test, protected Bench {};

TEST_F(FirmwareSlotsTest, ANewCardHasTheFactorysImageTwiceAndBootsA) {
  EXPECT_EQ(slots_.Image(0), old_);
  EXPECT_EQ(slots_.Image(1), old_);
  EXPECT_EQ(slots_.Record().active, 0);
  EXPECT_EQ(Boot(), old_);
}

TEST_F(FirmwareSlotsTest, AnUpdateRunsFromTheNextBootOn) {
  Update(1, new_);
  EXPECT_EQ(slots_.Record().active, 0) << "until it has come up";
  EXPECT_EQ(slots_.Record().pending, 1);
  EXPECT_EQ(Boot(), new_);
  EXPECT_EQ(slots_.Record().active, 1);
  EXPECT_EQ(slots_.Record().pending, kNoSlot);
  EXPECT_EQ(Boot(), new_);
}

TEST_F(FirmwareSlotsTest, FirmwareThatDoesNotComeUpIsTriedAsOftenAsConfiguredAndRolledBack) {
  Update(1, new_);
  EXPECT_EQ(Boot([&](const auto& image) { return image == old_; }), old_);
  EXPECT_EQ(starts_, 3) << "two of the new, one of the old";
  const BootRecord record = slots_.Record();
  EXPECT_EQ(record.active, 0);
  EXPECT_EQ(record.pending, kNoSlot);
  EXPECT_EQ(record.failed_slot, 1);
  EXPECT_EQ(record.failure, static_cast<uint32_t>(BootFailure::TRAP));
  EXPECT_EQ(record.detail, 2u);
}

TEST_F(FirmwareSlotsTest, FirmwareThatComesUpTheSecondTimeStays) {
  Update(1, new_);
  EXPECT_EQ(Boot([&](const auto&) { return starts_ == 1; }), new_);
  EXPECT_EQ(slots_.Record().active, 1);
}

TEST_F(FirmwareSlotsTest, ABootThatNeverEndsIsRolledBackAsInterrupted) {
  Update(1, new_);
  for (unsigned i = 0; i < kTrialBoots; ++i) {  // power goes while it starts
    const BootChoice choice = slots_.Choose(kTrialBoots);
    EXPECT_EQ(choice.slot, 1);
    Record(choice.record);
  }
  EXPECT_EQ(Boot(), old_);
  EXPECT_EQ(slots_.Record().failure, static_cast<uint32_t>(BootFailure::INTERRUPTED));
}

TEST_F(FirmwareSlotsTest, AnActivationCanBeTakenBack) {
  Update(1, new_);
  Activate(0);
  EXPECT_EQ(slots_.Record().pending, kNoSlot);
  EXPECT_EQ(Boot(), old_);
}

TEST_F(FirmwareSlotsTest, APendingImageThatIsNotGoodIsNotStarted) {
  Update(1, new_);
  Do(FirmwareSlots::Erasing(1));
  EXPECT_EQ(slots_.Check(1), UpdateStatus::EMPTY);
  EXPECT_EQ(Boot(), old_);
  EXPECT_EQ(starts_, 1);
  EXPECT_EQ(slots_.Record().failure, static_cast<uint32_t>(BootFailure::BAD_IMAGE));
  EXPECT_EQ(slots_.Record().detail, static_cast<uint32_t>(UpdateStatus::EMPTY));
}

TEST_F(FirmwareSlotsTest, AnActiveImageThatRotsIsReplacedByTheOther) {
  flash_.Do({kBootRecordBytes + 500, {0}});
  EXPECT_EQ(slots_.Check(0), UpdateStatus::BAD_PAYLOAD_CRC);
  EXPECT_EQ(Boot(), old_);
  EXPECT_EQ(slots_.Record().active, 1);
  EXPECT_EQ(slots_.Record().failed_slot, 0);
}

TEST_F(FirmwareSlotsTest, WithoutAnyGoodImageNothingBoots) {
  Do(FirmwareSlots::Erasing(0));
  Do(FirmwareSlots::Erasing(1));
  EXPECT_LT(slots_.Choose(kTrialBoots).slot, 0);
}

TEST_F(FirmwareSlotsTest, WithoutAnyRecordSlotABoots) {
  Flash flash("", kFlashBytes);
  for (const FlashOperation& operation : FirmwareSlots::Writing(0, new_)) flash.Do(operation);
  const FirmwareSlots slots(flash, [](const FirmwareProgram&) { return true; });
  EXPECT_EQ(slots.Choose(kTrialBoots).slot, 0);
}

TEST_F(FirmwareSlotsTest, AnImageThatTheControllerCannotRunIsRefused) {
  const FirmwareSlots slots(flash_, [](const FirmwareProgram&) { return false; });
  EXPECT_EQ(slots.Check(new_), UpdateStatus::NOT_RUNNABLE);
  EXPECT_LT(slots.Choose(kTrialBoots).slot, 0);
}

TEST_F(FirmwareSlotsTest, RecordsGoOnForManyErasures) {
  for (unsigned i = 0; i < 200; ++i) {
    Activate(i % 2 == 0 ? 1 : 0);
    ASSERT_EQ(slots_.Record().pending, i % 2 == 0 ? 1 : kNoSlot) << i;
    ASSERT_EQ(slots_.Record().sequence, i + 1);
  }
}

// An update, its trial and its confirmation, with power cut in the middle of each flash operation,
// after each share of its bytes. Then the card is switched on: old or new, whole, and the update
// can be made again. `earlier`: records that were written before, so that the sector of records
// becomes full at every place of the update.
TEST(FirmwarePowerCutTest, APowerCutAnywhereLeavesACardThatBootsOldOrNew) {
  int ran_old = 0, ran_new = 0;
  for (const unsigned earlier : {0u, 11u, 12u, 13u, 14u, 15u}) {
    for (unsigned eighths = 0; eighths <= 8; ++eighths) {
      for (uint64_t at = 0;; ++at) {
        Bench bench;
        for (unsigned i = 0; i < earlier; ++i) bench.Activate(i % 2 == 0 ? 1 : 0);
        if (earlier % 2 == 1) bench.Boot();  // not pending any more
        const unsigned free = 1u - bench.slots_.Record().active;
        bench.flash_.CutPower(at, eighths);
        bench.Update(free, bench.new_);
        if (bench.flash_.powered()) bench.Boot();
        if (bench.flash_.powered()) {
          EXPECT_GT(at, 39u) << "erasures, pages and records of an update";
          break;
        }
        bench.flash_.RestorePower();
        const std::vector<uint8_t> runs = bench.Boot();
        ASSERT_TRUE(runs == bench.old_ || runs == bench.new_)
            << "earlier " << earlier << ", operation " << at << ", " << eighths << "/8";
        ++(runs == bench.old_ ? ran_old : ran_new);
        bench.Update(1u - bench.slots_.Record().active, bench.new_);
        ASSERT_EQ(bench.Boot(), bench.new_) << "the update is made again";
      }
    }
  }
  EXPECT_GT(ran_old, 1000);
  EXPECT_GT(ran_new, 50);
}

// Power is cut twice: in the update, and again while the card boots after that.
TEST(FirmwarePowerCutTest, ASecondPowerCutInTheBootAfterTheFirstDoesNotMatterEither) {
  for (const unsigned earlier : {12u, 14u}) {
    for (uint64_t first = 38; first < 50; ++first) {
      for (uint64_t second = 0; second < 5; ++second) {
        Bench bench;
        for (unsigned i = 0; i < earlier; ++i) bench.Activate(i % 2 == 0 ? 1 : 0);
        bench.flash_.CutPower(first, 4);
        bench.Update(1, bench.new_);
        if (bench.flash_.powered()) bench.Boot();
        bench.flash_.RestorePower();
        bench.flash_.CutPower(second, 4);
        bench.Boot();
        bench.flash_.RestorePower();
        const std::vector<uint8_t> runs = bench.Boot();
        ASSERT_TRUE(runs == bench.old_ || runs == bench.new_) << first << " " << second;
      }
    }
  }
}

class FlashFileTest : public ::testing::Test {
 protected:
  FlashFileTest() {
    char name[] = "/tmp/spyre-flash-XXXXXX";
    const int file = mkstemp(name);
    EXPECT_GE(file, 0);
    close(file);
    path_ = name;
    std::remove(path_.c_str());
  }
  ~FlashFileTest() override { std::remove(path_.c_str()); }
  std::string RefusalOf() const {
    try {
      const Flash flash(path_, 8192);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  std::string path_;
};

TEST_F(FlashFileTest, ProgrammingOnlyClearsBitsAndErasingSetsThem) {
  Flash flash("", 8192);
  flash.Do({100, {0x0F, 0xF0}});
  flash.Do({100, {0x3C}});
  EXPECT_EQ(flash.contents()[100], 0x0C);
  EXPECT_EQ(flash.contents()[101], 0xF0);
  flash.Do({4096, {0}});
  flash.Do({0});
  EXPECT_TRUE(flash.IsBlank(0, 4096));
  EXPECT_EQ(flash.contents()[4096], 0) << "of another sector";
}

TEST_F(FlashFileTest, EveryOperationIsInTheFileAtOnce) {
  {
    Flash flash(path_, 8192);
    EXPECT_TRUE(flash.is_new());
    flash.Do({4096, {1, 2, 3}});
    std::ifstream file(path_, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    ASSERT_EQ(bytes.size(), 8192u);
    EXPECT_EQ(bytes.substr(4096, 3), "\1\2\3");
  }
  const Flash again(path_, 8192);
  EXPECT_FALSE(again.is_new());
  EXPECT_EQ(again.contents()[4098], 3);
}

TEST_F(FlashFileTest, AFileThatIsNoFlashIsRefused) {
  std::ofstream(path_) << "a letter";
  EXPECT_NE(RefusalOf().find("it has 8 bytes, and the card's flash has 8192"), std::string::npos)
      << RefusalOf();
}

TEST_F(FlashFileTest, TwoCardsDoNotShareAFile) {
  const Flash flash(path_, 8192);
  EXPECT_NE(RefusalOf().find("another card"), std::string::npos) << RefusalOf();
}

}  // namespace
}  // namespace spyre::model::firmware_slots_test
