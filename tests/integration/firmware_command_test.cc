// SPDX-License-Identifier: Apache-2.0
// The commands `firmware ...` as a user calls them. A card keeps its flash in a file, so that what
// one run writes is what the next one boots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::firmware_command_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class FirmwareCommand : public test::ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    Write(
        "card.toml",
        "[card]\ncores = 2\nmanagement.flash = \"card.flash\"\nmanagement.boot_deadline_us = 500\n"
        "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n");
  }
  Outcome Firmware(const std::string& arguments) const { return Call("firmware " + arguments); }
};

TEST_F(FirmwareCommand, PacksAnImageThatInfoAndVerifyRead) {
  EXPECT_EQ(Firmware("pack -o new.spfw --image-version 1.2.3").status, 0);
  const Outcome info = Firmware("info new.spfw");
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_THAT(info.out, AllOf(HasSubstr("version         1.2.3"), HasSubstr("rv32im"),
                              HasSubstr("at 0x80000000"), HasSubstr("image           good")));
  EXPECT_EQ(Firmware("verify new.spfw").status, 0);
  std::string image = Read("new.spfw");
  image[1000] = static_cast<char>(image[1000] ^ 4);
  Write("bad.spfw", image);
  const Outcome bad = Firmware("verify bad.spfw");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.out, HasSubstr("BAD_PAYLOAD_CRC"));
  EXPECT_EQ(Firmware("info bad.spfw").status, 1);
  Write("text", "no image");
  EXPECT_EQ(Firmware("info text").status, 1);
  EXPECT_EQ(Firmware("verify nowhere").status, 2);
  EXPECT_EQ(Firmware("pack -o x --image-version 1.2").status, 2);
}

TEST_F(FirmwareCommand, AnUpdateIsWhatTheNextRunBoots) {
  const Outcome first = Firmware("slots card.toml");
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.out,
              ContainsRegex("A +1\\.0\\.1 .*good, running, active\nB +1\\.0\\.1 .*good\n"));
  ASSERT_EQ(Firmware("pack -o new.spfw --image-version 1.2.3").status, 0);
  const Outcome update = Firmware("update card.toml new.spfw");
  EXPECT_EQ(update.status, 0) << update.err;
  EXPECT_THAT(update.err, Not(HasSubstr("forgets")));
  EXPECT_THAT(update.out, HasSubstr("slot B: "));
  const Outcome next = Firmware("slots card.toml");
  EXPECT_THAT(next.out,
              ContainsRegex("A +1\\.0\\.1 .*good\nB +1\\.2\\.3 .*good, running, active\n"));
  EXPECT_EQ(Call("run card.toml --out out --no-progress").status, 0) << "with the new firmware";
}

TEST_F(FirmwareCommand, ABehaviouralCardRefusesAnotherProgram) {
  ASSERT_EQ(
      Firmware("pack " SPYRE_BUILD_DIR "/tests/firmware/trap_at_start.elf -o other.spfw").status,
      0);
  const Outcome update = Firmware("update card.toml other.spfw");
  EXPECT_EQ(update.status, 2);
  EXPECT_THAT(update.err, AllOf(HasSubstr("NOT_RUNNABLE"), HasSubstr("card.management.fidelity")));
}

TEST_F(FirmwareCommand, FirmwareThatFailsIsRolledBackAndTheNextRunWorks) {
  ASSERT_EQ(Firmware("pack " SPYRE_BUILD_DIR "/tests/firmware/trap_at_start.elf -o bad.spfw "
                     "--image-version 9.9.9")
                .status,
            0);
  const std::string rtl = " --set card.management.fidelity=rtl";
  const Outcome update = Firmware("update card.toml bad.spfw" + rtl);
  EXPECT_EQ(update.status, 1);
  EXPECT_THAT(update.out, AllOf(HasSubstr("ROLLED_BACK"), HasSubstr("last failure: slot B, TRAP")));
  EXPECT_THAT(Firmware("slots card.toml" + rtl).out,
              AllOf(ContainsRegex("A +1\\.0\\.1 .*running, active"), HasSubstr("9.9.9")));
  EXPECT_EQ(Call("run card.toml --out out --no-progress" + rtl).status, 0);
  EXPECT_THAT(Firmware("slots card.toml").out, HasSubstr("NOT_RUNNABLE"))
      << "a behavioural card cannot run what is in slot B";
}

TEST_F(FirmwareCommand, WithoutAFileTheUpdateEndsWithTheCommand) {
  ASSERT_EQ(Firmware("pack -o new.spfw").status, 0);
  const Outcome update = Firmware("update card.toml new.spfw --set 'card.management.flash=\"\"'");
  EXPECT_EQ(update.status, 0) << update.err;
  EXPECT_THAT(update.err, HasSubstr("forgets the update"));
}

TEST_F(FirmwareCommand, AFlashFileOfAnotherKindIsRefused) {
  Write("card.flash", "not a flash");
  const Outcome slots = Firmware("slots card.toml");
  EXPECT_EQ(slots.status, 2);
  EXPECT_THAT(slots.err, AllOf(HasSubstr("card.management.flash"), HasSubstr("has 11 bytes")));
}

}  // namespace
}  // namespace spyre::cosim::firmware_command_test
