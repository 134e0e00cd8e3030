// SPDX-License-Identifier: Apache-2.0
// What rvtest prints and returns for small test programs.
#include "cosim/cli/rvtest_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/json_text.h"
#include "tests/unit/model/common/elf_writer.h"
#include "tests/unit/model/rtl/rv32/rv32_assembler.h"

namespace spyre::cosim::rvtest_command_test {
namespace {

using namespace model::rv32;  // the assembler
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint32_t kBase = 0x80000000, kTohost = kBase + 0x1000;

class RvtestCommandTest : public ::testing::Test {
 protected:
  static std::string Write(const std::string& name, const std::vector<uint8_t>& bytes) {
    const std::string path = ::testing::TempDir() + "rvtest_" + name + ".elf";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return path;
  }
  static std::string Program(const std::string& name, const std::vector<uint32_t>& words) {
    model::ElfWriter writer;
    writer.AddWords(kBase, words);
    writer.AddWords(kTohost, {0, 0});
    writer.symbols = {{"_start", kBase}, {"tohost", kTohost}};
    return Write(name, writer.Bytes());
  }
  // Stores `value` to tohost, then loops.
  static std::string Answer(const std::string& name, int32_t value) {
    return Program(name, {Lui(5, kTohost), Addi(6, 0, value), Sw(6, 0, 5), Jal(0, 0)});
  }
  int Run(const std::vector<std::string>& files) {
    options_.files = files;
    out_.str("");
    return RunRvtestCommand(options_, out_);
  }
  ErrorKind Kind(const std::string& file, const std::string& message) {
    try {
      Run({file});
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
      EXPECT_EQ(out_.str(), "");
      return error.kind();
    }
    ADD_FAILURE() << "no error";
    return ErrorKind::kInternal;
  }
  RvtestOptions options_;
  std::ostringstream out_;
};

TEST_F(RvtestCommandTest, OneInTohostIsAPass) {
  const std::string path = Answer("pass", 1);
  EXPECT_EQ(Run({path}), 0);
  EXPECT_EQ(out_.str(), "PASS " + path + " (6 cycles, 3 instructions)\n");
}

TEST_F(RvtestCommandTest, OtherOddValuesNameTheFailedTest) {
  const std::string good = Answer("good", 1), bad = Answer("bad", 7 << 1 | 1);
  EXPECT_EQ(Run({good, bad}), 1);
  EXPECT_THAT(out_.str(), StartsWith("PASS " + good));
  EXPECT_THAT(out_.str(), HasSubstr("FAIL " + bad + ": test 7 failed\n"));
}

TEST_F(RvtestCommandTest, EvenValuesAreNoResult) {
  EXPECT_EQ(Run({Answer("even", 0x40)}), 1);
  EXPECT_THAT(out_.str(), HasSubstr(": 0x40 in tohost is not a result"));
}

TEST_F(RvtestCommandTest, AProgramWithoutAnswerIsStopped) {
  options_.max_cycles = 100;
  EXPECT_EQ(Run({Program("loop", {kNop, Jal(0, 0)})}), 1);
  EXPECT_THAT(out_.str(), HasSubstr(": no answer within 100 cycles, pc=0x80000004 (_start+0x4)\n"));
}

TEST_F(RvtestCommandTest, AProgramThatSleepsForEverIsStopped) {
  EXPECT_EQ(Run({Program("sleep", {kWfi})}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("no answer within 10000000 cycles, asleep"));
}

TEST_F(RvtestCommandTest, ATimerWhoseInterruptIsDisabledWakesNobody) {
  EXPECT_EQ(Run({Program("masked", {Lui(5, 0x02004000), Addi(6, 0, 5), Sw(6, 0, 5), Sw(0, 4, 5),
                                    Csrw(kMie, 0), kWfi})}),
            1);
  EXPECT_THAT(out_.str(), HasSubstr("no answer within 10000000 cycles, asleep"));
}

TEST_F(RvtestCommandTest, TheTimerWakesASleepingProgram) {
  const std::string path = Program(
      "timer", {Lui(5, 0x02004000), Lui(6, 0x00100000), Sw(0, 4, 5), Sw(6, 0, 5), Addi(7, 0, 0x80),
                Csrw(kMie, 7), kWfi, Lui(5, kTohost), Addi(6, 0, 1), Sw(6, 0, 5)});
  EXPECT_EQ(Run({path}), 0);
}

TEST_F(RvtestCommandTest, NothingIsOnTheBus) {
  // The handler reports mcause: 5, load access fault.
  const std::string path =
      Program("bus", {Auipc(5, 0), Addi(5, 5, 20), Csrw(kMtvec, 5), Lui(6, 0x10000000), Lw(6, 0, 6),
                      Csrr(6, kMcause), Lui(5, kTohost), Sw(6, 0, 5)});
  EXPECT_EQ(Run({path}), 1);
  EXPECT_THAT(out_.str(), HasSubstr("test 2 failed"));
}

TEST_F(RvtestCommandTest, JsonHasEveryProgram) {
  options_.json = true;
  EXPECT_EQ(Run({Answer("json_pass", 1), Answer("json_fail", 5)}), 1);
  const auto json = SortedJsonOf(out_.str());
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["programs"][0]["passed"], true);
  EXPECT_EQ(json["programs"][0]["cycles"], 6);
  EXPECT_EQ(json["programs"][1]["failure"], "test 2 failed");
}

TEST_F(RvtestCommandTest, AProgramWithoutTohostIsBadInput) {
  model::ElfWriter writer;
  writer.AddWords(kBase, {kNop});
  EXPECT_EQ(Kind(Write("no_tohost", writer.Bytes()), "no symbol tohost"), ErrorKind::kBadInput);
  writer.symbols = {{"tohost", 0x100}};
  EXPECT_EQ(Kind(Write("far_tohost", writer.Bytes()), "not a word of the controller's SRAM"),
            ErrorKind::kBadInput);
  EXPECT_EQ(Kind("/nonexistent.elf", "/nonexistent.elf"), ErrorKind::kBadInput);
}

TEST_F(RvtestCommandTest, ACorruptImageIsBadInputBeforeAnythingRuns) {
  const std::string corrupt = Write("corrupt", {0x7F, 'E', 'L', 'F'});
  EXPECT_EQ(Kind(corrupt, "ELF header"), ErrorKind::kBadInput);
  EXPECT_THROW(Run({Answer("before", 1), corrupt}), Error);
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace spyre::cosim::rvtest_command_test
