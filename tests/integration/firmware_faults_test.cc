// SPDX-License-Identifier: Apache-2.0
// Firmware that cannot be loaded or that fails while it runs: a message that says what, where and
// the last lines of its log, and exit status 3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::firmware_faults_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FirmwareFaults : public test::ProgramFixture {
 protected:
  // A small run with this image on the RTL controller; what it says on standard error.
  std::string FailureOf(const std::string& elf, const std::string& arguments = "",
                        int status = 3) const {
    Write("run.toml", "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n");
    const auto outcome = Call(
        "run run.toml --out out --no-progress --set card.management.fidelity=rtl "
        "--set card.management.firmware=" +
        elf + " " + arguments);
    EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
    return outcome.err;
  }
  static std::string Broken(const std::string& name) {
    return SPYRE_BUILD_DIR "/tests/firmware/" + name + ".elf";
  }
  static std::string Bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(FirmwareFaults, AnImageThatIsNotThereIsBadInput) {
  EXPECT_THAT(FailureOf("nowhere.elf", "", 2), HasSubstr("nowhere.elf"));
}

TEST_F(FirmwareFaults, ABehaviouralControllerTakesNoImageThatIsNotThereEither) {
  const std::string behavioural = "--set card.management.fidelity=behavioural";
  EXPECT_THAT(FailureOf("nowhere.elf", behavioural, 2), HasSubstr("nowhere.elf"));
  Write("text.elf", "this is not firmware");
  EXPECT_THAT(FailureOf("text.elf", behavioural, 2), HasSubstr("text.elf: not an ELF file"));
}

TEST_F(FirmwareFaults, ACorruptImageIsNamedWithWhatIsWrong) {
  const std::string good = Bytes(Broken("hang"));
  ASSERT_GT(good.size(), 100u);
  Write("short.elf", good.substr(0, good.size() / 2));
  EXPECT_THAT(FailureOf(dir_ + "/short.elf", "", 2), HasSubstr("short.elf"));
  Write("text.elf", "this is not firmware, but it is long enough to be taken for a header of one");
  EXPECT_THAT(FailureOf(dir_ + "/text.elf", "", 2), AllOf(HasSubstr("text.elf"), HasSubstr("ELF")));
}

TEST_F(FirmwareFaults, AnImageThatIsTooLargeIsNamedWithItsSize) {
  std::string huge = Bytes(Broken("hang"));
  const size_t table = static_cast<uint8_t>(huge[28]);          // e_phoff of a small file
  for (int i = 0; i < huge[44]; ++i) {                          // e_phnum
    huge[table + static_cast<size_t>(i) * 32 + 20 + 2] = 0x20;  // p_memsz: + 2 MiB
  }
  Write("huge.elf", huge);
  EXPECT_THAT(FailureOf(dir_ + "/huge.elf", "", 2), HasSubstr("huge.elf"));
}

TEST_F(FirmwareFaults, FirmwareThatNeverBecomesReadyEndsAtTheDeadline) {
  EXPECT_THAT(FailureOf(Broken("never_ready"), "--set card.management.boot_deadline_us=500"),
              AllOf(HasSubstr("not ready 500 us after reset"), HasSubstr("(run"),
                    HasSubstr("log: boot: waiting for nothing")));
}

TEST_F(FirmwareFaults, ATrapSaysCauseAndPlace) {
  EXPECT_THAT(FailureOf(Broken("trap")),
              AllOf(HasSubstr("mcause 2"), HasSubstr("(stumble"), HasSubstr("mtval 0xffffffff"),
                    HasSubstr("log: boot: ready to fall")));
}

TEST_F(FirmwareFaults, AHangIsBittenByTheWatchdog) {
  EXPECT_THAT(FailureOf(Broken("hang")),
              AllOf(HasSubstr("watchdog"), HasSubstr("(hang"), HasSubstr("log: boot: about to")));
}

TEST_F(FirmwareFaults, AFailedSelfTestSaysWhatTheLogSays) {
  EXPECT_THAT(FailureOf(Broken("sick")),
              AllOf(HasSubstr("self-test failed"), HasSubstr("memory at 0x80001000 is 0")));
}

}  // namespace
}  // namespace spyre::cosim::firmware_faults_test
