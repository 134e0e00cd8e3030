// SPDX-License-Identifier: Apache-2.0
// Rung 2: the registers of BAR0, all of them as the specification lists them, and the windows of
// BAR2 and BAR4.
#include "bringup/ladder/raw_queue.h"
#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

using regs::Access;
using regs::RegisterInfo;

class Rung2Registers : public Rung {
 protected:
  // Turns on the function without the driver, so that every register has its reset value.
  void PowerOn(driver::FunctionId function) {
    EnableBars(0);
    if (function == 0) return;
    RequireVirtualFunctions(kVirtualFunctions,
                            [this] { card().EnableVirtualFunctions(kVirtualFunctions); });
    card().Advance(100 * kMillisecondPs);
    EnableBars(function);
  }
  uint32_t Read(driver::FunctionId function, const RegisterInfo& info) {
    return card().Read32(function, 0, info.offset);
  }
  void Write(driver::FunctionId function, const RegisterInfo& info, uint32_t value) {
    card().Write32(function, 0, info.offset, value);
  }
};

class Rung2EveryRegister : public Rung2Registers,
                           public ::testing::WithParamInterface<driver::FunctionId> {
 protected:
  void SetUp() override { PowerOn(GetParam()); }
  bool Hidden(const RegisterInfo& info) const { return info.pf_only && GetParam() != 0; }
};
INSTANTIATE_TEST_SUITE_P(Function, Rung2EveryRegister, ::testing::Values(0, 1),
                         [](const auto& test) { return test.param == 0 ? "PF" : "VF"; });

TEST_P(Rung2EveryRegister, ReadsItsResetValueAfterPowerOn) {
  for (const RegisterInfo& info : regs::kRegisters) {
    if (info.dynamic && !Hidden(info)) continue;
    const bool reads_zero = info.access == Access::kWriteOnly || Hidden(info);
    EXPECT_EQ(Read(GetParam(), info), reads_zero ? 0 : info.reset) << info.name;
  }
}

TEST_P(Rung2EveryRegister, KeepsWhatIsWrittenIfReadWriteAndIgnoresItIfReadOnly) {
  for (const RegisterInfo& info : regs::kRegisters) {
    if (info.access == Access::kWriteOnly) continue;  // commands: later rungs
    for (const uint32_t value : {0xA5A5A5A5u, 0x5A5A5A5Au, 0xFFFFFFFFu}) {
      const bool counts = info.offset == regs::TIME_LO || info.offset == regs::TIME_HI;
      const uint32_t before = Read(GetParam(), info);
      Write(GetParam(), info, value);
      const uint32_t after = Read(GetParam(), info);
      if (info.access == Access::kReadWrite && !Hidden(info)) {
        EXPECT_EQ(after, value & info.mask) << info.name;
      } else if (!counts) {
        EXPECT_EQ(after, before) << info.name;
      }
    }
    Write(GetParam(), info, info.reset);
  }
  EXPECT_EQ(Registers(GetParam()).ReadErrorCode(), 0u) << "nothing of this started the queue";
}

TEST_P(Rung2EveryRegister, HasNothingBetweenTheRegistersAndNothingAtOddOffsets) {
  size_t next = 0;
  for (uint32_t offset = 0; offset < 0x6000; offset += 4) {
    if (next < std::size(regs::kRegisters) && regs::kRegisters[next].offset == offset) {
      ++next;
      continue;
    }
    if (offset % 0x1000 > 0x40) continue;
    card().Write32(GetParam(), 0, offset, 0xFFFFFFFF);
    EXPECT_EQ(card().Read32(GetParam(), 0, offset), 0u) << "offset " << offset;
  }
  card().Write32(GetParam(), 0, regs::SCRATCH + 2, 0xFFFFFFFF);
  EXPECT_EQ(Registers(GetParam()).ReadScratch(), 0u);
}

TEST_F(Rung2Registers, EachFunctionTellsItsNumberAndWhatItHas) {
  EnableVfs(64 << 20, 3);
  EnableBars(2);
  EXPECT_EQ(Registers(0).ReadFunction(), 0u);
  EXPECT_GE(Registers(0).ReadCapabilitiesCores(), 1u);
  EXPECT_LE(Registers(0).ReadCapabilitiesCores(), 32u);
  EXPECT_EQ(Registers(0).ReadCapabilitiesRegions(), 0u);
  EXPECT_GE(Registers(0).ReadMemoryMib(), 1u);
  auto second = Registers(2);
  EXPECT_EQ(second.ReadFunction(), 2u);
  EXPECT_EQ(second.ReadCapabilitiesCores(), Registers(0).ReadCapabilitiesCores());
  EXPECT_EQ(second.ReadCapabilitiesRegions(), 3u);
  EXPECT_EQ(second.ReadMemoryMib(), 192u);
  second.WriteRegionSelect(2);
  EXPECT_EQ(second.ReadRegionLength(), 64ull << 20);
  second.WriteRegionSelect(3);
  EXPECT_EQ(second.ReadRegionLength(), 0u);
  second.WriteRegionSelect(0xFFFFFFFF);
  EXPECT_EQ(second.ReadRegionLength(), 0u);
}

TEST_F(Rung2Registers, TheClockCountsPicosecondsAndItsHalvesBelongTogether) {
  PowerOn(0);
  auto registers = Registers(0);
  const uint64_t first = registers.ReadTime();
  card().Advance(1'000'000);
  const uint64_t second = registers.ReadTime();
  EXPECT_GE(second - first, 1'000'000u);
  if (!board().backend().time_passes) {
    EXPECT_LT(second - first, 10'000'000u);
  }
  const uint32_t high = registers.ReadTimeHi();
  card().Advance(5'000'000'000);  // past a carry of the low half
  EXPECT_EQ(registers.ReadTimeHi(), high) << "latched by the read of the low half";
  registers.ReadTimeLo();
  EXPECT_GT(registers.ReadTimeHi(), high);
}

TEST_F(Rung2Registers, AnErrorIsShownUntilOnesAreWrittenAndMessagesAreCountedUntilRead) {
  Physical().queue();  // MSI on
  auto registers = Registers(0);
  registers.WriteIntEnable(regs::INT_STATUS_ERROR_MASK);
  registers.ReadIntCount();
  registers.WriteSqTail(1000);  // beyond the ring
  constexpr int kErrorVector = 1;
  constexpr uint64_t kSoonPs = 5'000'000, kAgainPs = 50'000'000;
  const uint64_t begin = card().NowPs();
  EXPECT_EQ(card().WaitInterrupt(0, kErrorVector, begin + kMillisecondPs),
            driver::WaitResult::kInterrupt)
      << "the interrupt of an error";
  const uint64_t took = card().NowPs() - begin;
  if (took > kSoonPs && !board().backend().time_passes) {
    Marginal(fmt::format("the interrupt of an error came after {:.1f} us",
                         static_cast<double>(took) * 1e-6));
  }
  if (card().WaitInterrupt(0, kErrorVector, card().NowPs() + kAgainPs) ==
      driver::WaitResult::kInterrupt)
    Marginal("the interrupt of an error came twice");
  EXPECT_EQ(registers.ReadErrorCode(), static_cast<uint32_t>(Status::BAD_FIELD));
  EXPECT_EQ(registers.ReadStatusError(), 1u);
  EXPECT_EQ(registers.ReadStatusReady(), 0u);
  EXPECT_EQ(registers.ReadQueueControlEnable(), 0u);
  EXPECT_EQ(registers.ReadIntStatus(), regs::INT_STATUS_ERROR_MASK);
  EXPECT_EQ(registers.ReadIntCount(), 1u);
  EXPECT_EQ(registers.ReadIntCount(), 0u) << "cleared by reading";
  registers.WriteIntStatus(~regs::INT_STATUS_ERROR_MASK);
  EXPECT_EQ(registers.ReadIntStatus(), regs::INT_STATUS_ERROR_MASK) << "zeros clear nothing";
  registers.WriteIntStatus(regs::INT_STATUS_ERROR_MASK);
  EXPECT_EQ(registers.ReadIntStatus(), 0u);
  registers.WriteErrorCode(0xFFFFFFFF);
  EXPECT_EQ(registers.ReadErrorCode(), 0u);
  EXPECT_EQ(registers.ReadStatusReady(), 1u);
}

TEST_F(Rung2Registers, PhysicalFunctionRegistersAreOutOfReachOfAVirtualFunction) {
  EnableVfs();
  EnableBars(1);
  auto physical = Registers(0);
  physical.WriteAdminBase(0x40000000);
  auto virtual_function = Registers(1);
  virtual_function.WriteMapBase(0);
  virtual_function.WriteMapLength(1 << 20);
  virtual_function.WriteMapCommand(1);
  virtual_function.WriteAdminVf(1);
  virtual_function.WriteAdminBase(RegionBase(2, 0));
  virtual_function.WriteAdminLength(1 << 20);
  virtual_function.WriteAdminCommand(1);
  EXPECT_EQ(virtual_function.ReadMapBase(), 0u);
  EXPECT_EQ(virtual_function.ReadAdminBase(), 0u);
  EXPECT_EQ(physical.ReadAdminBase(), 0x40000000u);
  EXPECT_EQ(card().Read32(1, 2, 0), 0xFFFFFFFFu) << "no BAR2";
  EXPECT_EQ(card().Read32(1, 4, 0), 0xFFFFFFFFu) << "no BAR4";
  EXPECT_EQ(card().Read32(1, 0, kVfBar0Bytes), 0xFFFFFFFFu) << "beyond its BAR0";
  EXPECT_EQ(virtual_function.ReadMemoryMib(), 128u) << "its regions as they were";
}

TEST_F(Rung2Registers, TheWindowShowsDeviceMemoryWhereItIsPut) {
  driver::PhysicalFunction manager(Physical());
  const uint64_t end = memory_bytes();
  std::vector<uint64_t> addresses = {0, end / 2 - 4, end / 2, end - 4};
  if (end > kBar2Bytes) addresses.insert(addresses.end(), {kBar2Bytes - 4, kBar2Bytes});
  for (const uint64_t address : addresses) {
    manager.PokeMemory(address, static_cast<uint32_t>(address) ^ 0x5A);
  }
  for (const uint64_t address : addresses) {
    EXPECT_EQ(manager.PeekMemory(address), static_cast<uint32_t>(address) ^ 0x5A) << address;
  }
  EXPECT_EQ(manager.PeekMemory(end), 0xFFFFFFFFu) << "beyond memory";
}

TEST_F(Rung2Registers, TheSramHoldsWhatIsWritten) {
  PowerOn(0);
  for (const uint64_t offset : {uint64_t{0}, uint64_t{0x1234}, kBar4Bytes - 4}) {
    card().Write32(0, 4, offset, static_cast<uint32_t>(offset) + 7);
    EXPECT_EQ(card().Read32(0, 4, offset), static_cast<uint32_t>(offset) + 7);
  }
  EXPECT_EQ(card().Read32(0, 4, kBar4Bytes), 0xFFFFFFFFu);
}

TEST_F(Rung2Registers, AResetCommandClearsQueueInterruptsAndWindow) {
  if (memory_bytes() <= kBar2Bytes) CannotRun("the window holds all of the card's memory");
  driver::PhysicalFunction manager(Physical());
  manager.PokeMemory(0, 1);
  manager.PokeMemory(kBar2Bytes, 2);  // moves the window
  auto registers = Registers(0);
  registers.WriteControl(1);
  EXPECT_EQ(registers.ReadQueueControlEnable(), 0u);
  EXPECT_EQ(registers.ReadSqBase(), 0u);
  EXPECT_EQ(registers.ReadSqTail(), 0u);
  EXPECT_EQ(registers.ReadIntEnable(), 0u);
  EXPECT_EQ(registers.ReadWindowBase(), 0u);
  EXPECT_EQ(card().Read32(0, 2, 0), 1u) << "the window is where its register says";
}

TEST_F(Rung2Registers, TailsWrittenWhileTheQueueIsOffAreNotDoorbells) {
  PowerOn(0);
  auto registers = Registers(0);
  registers.WriteSqTail(77);
  registers.WriteSqTail(0);
  RawQueue queue(card(), 0);
  registers.WriteQueueControl(0);
  registers.WriteSqTail(5000);
  registers.WriteSqTail(0);
  registers.WriteQueueControl(1);
  queue.Put(queue.Make<ControlBlock>(Opcode::NOP));
  queue.Ring();
  EXPECT_EQ(queue.Settle(), (std::map<uint64_t, Status>{{1, Status::OK}}));
  EXPECT_EQ(registers.ReadErrorCode(), 0u);
}

}  // namespace

void LinkRegistersRung() {}

}  // namespace spyre::bringup
