// SPDX-License-Identifier: Apache-2.0
// Waves of an RTL block, read back: signals, time base, window, rolling files.
#include "model/rtl/waves.h"

#include <contract/registers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "model/rtl/rtl_blocks.h"
#include "tests/unit/model/rtl/fst_reader.h"

namespace spyre::model::waves_test {
namespace {

using test::FstFile;
using test::ReadFst;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kPeriodPs = 1000;
constexpr uint64_t kOriginPs = 5000 * kPeriodPs;  // the clock stood still until then

class NoBus : public ControllerBus {
  uint32_t Read(uint32_t /*address*/) override { return 0; }
  void Write(uint32_t /*address*/, uint32_t /*value*/) override {}
};

// A controller that counts in x5 for ever.
class WavesTest : public ::testing::Test {
 protected:
  WavesTest() {
    ElfImage image;
    image.name = "counter";
    image.entry = kControllerSramBase;
    // addi x5, x5, 1; jal x0, -4
    image.segments.push_back(
        {kControllerSramBase, {0x93, 0x82, 0x12, 0x00, 0x6f, 0xf0, 0xdf, 0xff}, 0});
    controller_.Load(image);
    controller_.SkipCycles(kOriginPs / kPeriodPs);
  }
  static std::string PathOf(const std::string& name) {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return ::testing::TempDir() + "waves_" + info->name() + "_" + name + ".fst";
  }
  void Run(Waves& waves, uint64_t cycles) {
    controller_.SetWaves(&waves, Clock(1000));
    controller_.Run(cycles);
    controller_.SetWaves(nullptr, Clock(1000));
    waves.Close();
  }

  NoBus bus_;
  const std::unique_ptr<RtlController> block_ = MakeRtlController(bus_);
  RtlController& controller_ = *block_;
};

TEST_F(WavesTest, TheTimeBaseIsPicosecondsOfSimulatedTime) {
  Waves waves(PathOf("all"), {});
  Run(waves, 100);
  EXPECT_THAT(waves.Files(), ElementsAre(PathOf("all")));
  const FstFile file = ReadFst(PathOf("all"));
  ASSERT_TRUE(file.readable);
  EXPECT_EQ(file.timescale, -12);
  EXPECT_EQ(file.start, kOriginPs + kPeriodPs);
  EXPECT_EQ(file.end, kOriginPs + 100 * kPeriodPs + kPeriodPs / 2);
}

TEST_F(WavesTest, TheClockRisesOncePerPeriod) {
  Waves waves(PathOf("clock"), {});
  Run(waves, 100);
  const FstFile::Changes clock = ReadFst(PathOf("clock")).signals["TOP.clk"];
  ASSERT_EQ(clock.size(), 200u);
  for (size_t i = 0; i < clock.size(); ++i) {
    EXPECT_EQ(clock[i].first, kOriginPs + kPeriodPs + i * kPeriodPs / 2);
    EXPECT_EQ(clock[i].second, i % 2 == 0 ? "1" : "0");
  }
}

TEST_F(WavesTest, ACycleThatIsNoWholeNumberOfPicosecondsDoesNotDrift) {
  Waves waves(PathOf("thirds"), {});
  controller_.SetWaves(&waves, Clock(3, 1000));  // 3 cycles in 1000 us
  controller_.Run(3000);
  controller_.SetWaves(nullptr, Clock(1));
  waves.Close();
  const FstFile::Changes clock = ReadFst(PathOf("thirds")).signals["TOP.clk"];
  ASSERT_EQ(clock.size(), 6000u);
  EXPECT_EQ(clock[5998].first, Clock(3, 1000).Edge(kOriginPs / kPeriodPs + 3000));
}

TEST_F(WavesTest, SignalsHaveTheValuesOfTheBlock) {
  Waves waves(PathOf("signals"), {});
  Run(waves, 100);
  FstFile file = ReadFst(PathOf("signals"));
  const FstFile::Changes& pc = file.signals["TOP.pc"];
  ASSERT_GT(pc.size(), 10u);
  EXPECT_EQ(std::stoul(pc.back().second, nullptr, 2), controller_.pc());
  EXPECT_EQ(file.signals.count("TOP.controller.core.clk"), 1u);
}

TEST_F(WavesTest, NothingOutsideTheWindowIsKept) {
  Waves waves(PathOf("window"), {kOriginPs + 20 * kPeriodPs, kOriginPs + 30 * kPeriodPs});
  Run(waves, 100);
  const FstFile file = ReadFst(PathOf("window"));
  ASSERT_TRUE(file.readable);
  EXPECT_EQ(file.start, kOriginPs + 20 * kPeriodPs);
  EXPECT_EQ(file.end, kOriginPs + 30 * kPeriodPs);
  EXPECT_EQ(file.signals.at("TOP.clk").size(), 21u);
}

TEST_F(WavesTest, AWindowThatTimeNeverReachesMakesNoFile) {
  Waves waves(PathOf("never"), {kOriginPs * 2});
  Run(waves, 100);
  EXPECT_THAT(waves.Files(), IsEmpty());
}

TEST_F(WavesTest, RollingFilesKeepTheLastClocks) {
  Waves waves(PathOf("rolling"), {0, UINT64_MAX, 20});
  Run(waves, 105);
  const std::string earlier =
      PathOf("rolling").substr(0, PathOf("rolling").size() - 4) + "_earlier.fst";
  EXPECT_THAT(waves.Files(), ElementsAre(earlier, PathOf("rolling")));
  const FstFile first = ReadFst(earlier), second = ReadFst(PathOf("rolling"));
  ASSERT_TRUE(first.readable && second.readable);
  EXPECT_EQ(first.start, kOriginPs + 91 * kPeriodPs);
  EXPECT_EQ(second.start, kOriginPs + 101 * kPeriodPs);
  EXPECT_EQ(second.end, kOriginPs + 105 * kPeriodPs + kPeriodPs / 2);
  EXPECT_EQ(first.signals.at("TOP.clk").size(), 20u);
  EXPECT_EQ(second.signals.at("TOP.clk").size(), 10u);
}

TEST_F(WavesTest, DiscardedWavesLeaveNoFile) {
  Waves waves(PathOf("discarded"), {0, UINT64_MAX, 20});
  Run(waves, 100);
  waves.Discard();
  EXPECT_THAT(waves.Files(), IsEmpty());
}

TEST_F(WavesTest, AFileThatCannotBeWrittenIsBadInput) {
  Waves waves("/nowhere/waves.fst", {});
  try {
    Run(waves, 10);
    FAIL() << "written to /nowhere";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("/nowhere/waves.fst"));
  }
}

}  // namespace
}  // namespace spyre::model::waves_test
