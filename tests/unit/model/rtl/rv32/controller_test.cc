// SPDX-License-Identifier: Apache-2.0
// The controller as its users drive it: load, run, sleep, bus, debugger, waves.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "model/rtl/waves.h"
#include "tests/unit/model/rtl/rv32/controller_fixture.h"

namespace spyre::model::rv32::controller_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Stop = RtlController::Stop;

std::string LoadError(RtlController& rtl, const ElfImage& image) {
  try {
    rtl.Load(image);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST_F(ControllerTest, StartsAtTheEntryWithEverythingZero) {
  rtl.Load(Image({kNop, Addi(5, 0, 7), kNop}, kBase + 4));
  EXPECT_EQ(rtl.pc(), kBase + 4);
  Steps(1);
  EXPECT_EQ(rtl.Register(5), 7u);
  ASSERT_TRUE(rtl.WriteMemory(kBase + 0x100, "rest", 4));
  rtl.Load(Image({kNop}));
  EXPECT_EQ(rtl.pc(), kBase);
  EXPECT_EQ(rtl.Register(5), 0u);
  EXPECT_EQ(Memory(kBase + 0x100), 0u);
  EXPECT_EQ(rtl.cycles(), 0u);
  EXPECT_EQ(rtl.retired(), 0u);
  EXPECT_EQ(rtl.timer_due(), UINT64_MAX);
}

TEST_F(ControllerTest, RefusesImagesOutsideTheSram) {
  ElfImage image = Image({kNop});
  image.segments[0].address = kBase - 4;
  EXPECT_THAT(LoadError(rtl, image), HasSubstr("4 bytes at 0x7ffffffc is outside"));
  image.segments[0].address = kBase;
  image.segments[0].zero_bytes = kControllerSramBytes;
  EXPECT_THAT(LoadError(rtl, image), HasSubstr("262148 bytes"));
  EXPECT_THAT(LoadError(rtl, Image({kNop}, 0x1000)), HasSubstr("entry 0x00001000"));
  EXPECT_THAT(LoadError(rtl, Image({kNop}, kBase + 2)), HasSubstr("multiple of 4"));
}

TEST_F(ControllerTest, RunsForTheCyclesThatItIsGiven) {
  rtl.Load(Image({Addi(5, 5, 1), Jal(0, -4)}));
  EXPECT_EQ(rtl.Run(1000), Stop::kCycles);
  EXPECT_EQ(rtl.cycles(), 1000u);
  EXPECT_EQ(rtl.retired(), 500u) << "two cycles an instruction";
}

// The registers, CSRs and times of a program with products, quotients, memory and a trap.
TEST_F(ControllerTest, NothingDependsOnWhatItsRegistersHeldAtPowerOn) {
  const std::vector<uint32_t> words{Addi(5, 5, 3),   Op(1, 4, 6, 5, 7),  Sw(5, 0x100, 8),
                                    Lw(9, 0x100, 8), Op(1, 0, 10, 9, 5), Csrw(kMscratch, 10),
                                    Sw(5, 0, 0),     Jal(0, -28)};
  const auto state = [&](uint32_t seed) {
    const std::unique_ptr<RtlController> controller = MakeRtlController(bus, {seed});
    controller->Load(Image(words));
    controller->SetPc(kBase);
    controller->SetRegister(8, kBase);
    controller->Run(300);
    std::vector<uint64_t> values{controller->pc(), controller->retired(), controller->timer_due()};
    for (unsigned number = 0; number < 32; ++number) values.push_back(controller->Register(number));
    for (unsigned number = 0; number < 0x1000; ++number) {
      uint32_t value = 0;
      if (controller->Csr(number, &value)) values.push_back(value);
    }
    return values;
  };
  const std::vector<uint64_t> expected = state(0);
  for (uint32_t seed = 1; seed <= 100; ++seed) EXPECT_EQ(state(seed), expected) << "seed " << seed;
}

TEST_F(ControllerTest, SplittingARunChangesNothing) {
  const std::vector<uint32_t> words{Addi(5, 5, 3), Op(1, 4, 6, 5, 7), Sw(5, 0x100, 8),
                                    Lw(9, 0x100, 8), Jal(0, -16)};
  const std::unique_ptr<RtlController> whole_block = MakeRtlController(bus);
  RtlController& whole = *whole_block;
  for (RtlController* controller : {&whole, &rtl}) {
    controller->Load(Image(words));
    controller->SetRegister(8, kBase);
  }
  whole.Run(997);
  for (int i = 0; i < 997; ++i) rtl.Run(1);
  EXPECT_EQ(rtl.pc(), whole.pc());
  EXPECT_EQ(rtl.retired(), whole.retired());
  EXPECT_EQ(rtl.Register(6), whole.Register(6));
}

TEST_F(ControllerTest, SleepsWithoutCyclesUntilAnInterruptIsPending) {
  rtl.Load(Image({Csrw(kMie, 5), kWfi, Addi(6, 0, 1), Jal(0, 0)}));
  rtl.SetRegister(5, 0x800);
  EXPECT_EQ(rtl.Run(1000), Stop::kAsleep);
  const uint64_t cycles = rtl.cycles();
  EXPECT_LT(cycles, 10u);
  EXPECT_TRUE(rtl.asleep());
  EXPECT_FALSE(rtl.Step());
  EXPECT_EQ(rtl.Run(1000), Stop::kAsleep);
  EXPECT_EQ(rtl.cycles(), cycles);
  rtl.SetExternalInterrupt(true);
  EXPECT_FALSE(rtl.asleep());
  EXPECT_EQ(rtl.Run(20), Stop::kCycles);
  EXPECT_EQ(rtl.Register(6), 1u) << "MIE is off: it goes on behind the wfi";
}

TEST_F(ControllerTest, TheTimerEndsASleepWhenTimeWasSkippedToIt) {
  rtl.Load(Image({Sw(0, 4, 11), Sw(12, 0, 11), Csrw(kMie, 5), kWfi, Lw(6, 0, 13), Jal(0, 0)}));
  rtl.SetRegister(5, 0x80);
  rtl.SetRegister(11, kControllerClintBase + 0x4000);
  rtl.SetRegister(12, 5000);
  rtl.SetRegister(13, kControllerClintBase + 0xBFF8);
  EXPECT_EQ(rtl.Run(1000), Stop::kAsleep);
  EXPECT_EQ(rtl.timer_due(), 5000u);
  rtl.SkipCycles(4999 - rtl.cycles());
  EXPECT_TRUE(rtl.asleep());
  rtl.SkipCycles(1);
  EXPECT_FALSE(rtl.asleep());
  EXPECT_EQ(rtl.Run(20), Stop::kCycles);
  EXPECT_GE(rtl.Register(6), 5000u) << "mtime counts skipped cycles";
  EXPECT_LT(Csr(kMcycle), 100u) << "mcycle counts clocks";
}

TEST_F(ControllerTest, AccessesReachTheBusOnce) {
  bus.answer = 0x12345678;
  rtl.Load(Image({Lw(5, 0x24, 11), Sw(5, 0x28, 11), Jal(0, 0)}));
  rtl.SetRegister(11, kBus);
  rtl.Run(30);
  EXPECT_THAT(bus.reads, ElementsAre(kBus + 0x24));
  EXPECT_THAT(bus.writes, ElementsAre(Pair(kBus + 0x28, 0x12345678)));
}

TEST_F(ControllerTest, AnAccessCanStopTheRun) {
  bus.stops = &rtl;
  rtl.Load(Image({Sw(11, 0, 11), Sw(11, 4, 11), Jal(0, 0)}));
  rtl.SetRegister(11, kBus);
  EXPECT_EQ(rtl.Run(100), Stop::kBus);
  EXPECT_EQ(bus.writes.size(), 1u);
  EXPECT_EQ(rtl.Run(100), Stop::kBus);
  EXPECT_EQ(bus.writes.size(), 2u);
  EXPECT_EQ(rtl.Run(100), Stop::kCycles);
  EXPECT_EQ(bus.writes.size(), 2u);
}

TEST_F(ControllerTest, AnAccessThatThrowsIsMadeAgain) {
  bus.throws = true;
  bus.answer = 5;
  rtl.Load(Image({Lw(6, 0, 11), Jal(0, 0)}));
  rtl.SetRegister(11, kBus);
  EXPECT_THROW(rtl.Run(100), std::runtime_error);
  bus.throws = false;
  rtl.Run(100);
  EXPECT_EQ(rtl.Register(6), 5u);
  EXPECT_EQ(bus.reads.size(), 1u);
}

TEST_F(ControllerTest, StopsBeforeAnInstructionWithABreakpoint) {
  rtl.Load(Image({Addi(5, 5, 1), Addi(6, 6, 1), Jal(0, -8)}));
  rtl.SetBreakpoint(kBase + 4);
  for (uint32_t round = 1; round <= 3; ++round) {
    EXPECT_EQ(rtl.Run(1000), Stop::kBreakpoint);
    EXPECT_EQ(rtl.pc(), kBase + 4);
    EXPECT_EQ(rtl.Register(5), round);
    EXPECT_EQ(rtl.Register(6), round - 1);
  }
  rtl.ClearBreakpoint(kBase + 4);
  EXPECT_EQ(rtl.Run(1000), Stop::kCycles);
}

TEST_F(ControllerTest, ABreakpointIsSeenHoweverARunIsSplit) {
  rtl.Load(Image({kNop, kNop, kNop, Jal(0, 0)}));
  rtl.SetBreakpoint(kBase + 8);
  Stop stop = Stop::kCycles;
  for (int i = 0; i < 20 && stop == Stop::kCycles; ++i) stop = rtl.Run(1);
  EXPECT_EQ(stop, Stop::kBreakpoint);
  EXPECT_EQ(rtl.pc(), kBase + 8);
}

TEST_F(ControllerTest, TheDebuggerMovesPcAndWakes) {
  rtl.Load(Image({kWfi, Addi(5, 0, 1), Addi(6, 0, 2)}));
  EXPECT_EQ(rtl.Run(100), Stop::kAsleep);
  const uint64_t cycles = rtl.cycles();
  rtl.SetPc(kBase + 8);
  EXPECT_EQ(rtl.cycles(), cycles);
  EXPECT_EQ(rtl.pc(), kBase + 8);
  Steps(1);
  EXPECT_EQ(rtl.Register(5), 0u);
  EXPECT_EQ(rtl.Register(6), 2u);
}

TEST_F(ControllerTest, TheDebuggerSetsRegistersButNotZero) {
  rtl.Load(Image({Op(0, 0, 7, 5, 0)}));
  rtl.SetRegister(5, 0xDEADBEEF);
  rtl.SetRegister(0, 1);
  EXPECT_EQ(rtl.pc(), kBase);
  Steps(1);
  EXPECT_EQ(rtl.Register(7), 0xDEADBEEF);
}

TEST_F(ControllerTest, TheDebuggerSeesWhichCsrsThereAre) {
  rtl.Load(Image({kNop}));
  uint32_t value = 0;
  EXPECT_TRUE(rtl.Csr(kMisa, &value));
  EXPECT_EQ(value, 0x40001100u);
  EXPECT_FALSE(rtl.Csr(0x180, &value));
  EXPECT_FALSE(rtl.Csr(0x1000, &value));
}

TEST_F(ControllerTest, MemoryByTheBackDoorEndsAtTheSram) {
  uint8_t data[8] = {};
  EXPECT_TRUE(rtl.ReadMemory(kBase + kControllerSramBytes - 8, data, 8));
  EXPECT_FALSE(rtl.ReadMemory(kBase + kControllerSramBytes - 7, data, 8));
  EXPECT_FALSE(rtl.WriteMemory(kBase - 1, data, 8));
  EXPECT_FALSE(rtl.ReadMemory(0, data, SIZE_MAX));
}

TEST_F(ControllerTest, WritesWavesInsideTheirWindowOnly) {
  const std::string path = ::testing::TempDir() + "controller_waves.fst";
  std::filesystem::remove(path);
  {
    Waves waves(path, {1'000'000, 2'000'000});
    rtl.SetWaves(&waves, Clock(1000));
    rtl.Load(Image({Addi(5, 5, 1), Jal(0, -4)}));
    rtl.Run(500);
    EXPECT_FALSE(std::filesystem::exists(path));
    rtl.Run(1000);
    rtl.SetWaves(nullptr, Clock(1000));
  }
  EXPECT_GT(std::filesystem::file_size(path), 1000u);
}

}  // namespace
}  // namespace spyre::model::rv32::controller_test
