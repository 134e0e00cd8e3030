// SPDX-License-Identifier: Apache-2.0
#include "model/contract/register_file.h"

#include <contract/register_files.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace spyre::model::register_file_test {
namespace {

TEST(RegisterFile, KeepsWhatIsWrittenToAReadWriteRegister) {
  Bar0Registers registers(true);
  registers.Write(regs::SCRATCH, 0xDEADBEEF);
  EXPECT_EQ(registers.Read(regs::SCRATCH), 0xDEADBEEFu);
  EXPECT_EQ(registers.bad_accesses(), 0u);
}

TEST(RegisterFile, DropsBitsThatDoNotExist) {
  Bar0Registers registers(true);
  registers.Write(regs::QUEUE_CONTROL, 0xFFFFFFFF);
  EXPECT_EQ(registers.Read(regs::QUEUE_CONTROL), regs::QUEUE_CONTROL_ENABLE_MASK);
}

TEST(RegisterFile, HoldsAReadOnlyRegisterAndCountsTheWrite) {
  Bar0Registers registers(true);
  registers.Write(regs::MAGIC, 0);
  EXPECT_EQ(registers.Read(regs::MAGIC), 0x52595053u);
  EXPECT_EQ(registers.bad_accesses(), 1u);
}

TEST(RegisterFile, ClearsExactlyTheOnesWrittenToAWriteOneToClearRegister) {
  Bar0Registers registers(true);
  registers.int_status.Set(0b111);
  registers.Write(regs::INT_STATUS, 0b010);
  EXPECT_EQ(registers.Read(regs::INT_STATUS), 0b101u);
  registers.Write(regs::INT_STATUS, 0);
  EXPECT_EQ(registers.Read(regs::INT_STATUS), 0b101u);
}

TEST(RegisterFile, ReadsAWriteOnlyRegisterAsZeroAndGivesTheCommandToItsHook) {
  Bar0Registers registers(true);
  std::vector<uint32_t> commands;
  registers.map_command.OnWrite([&](uint32_t value) { commands.push_back(value); });
  registers.Write(regs::MAP_COMMAND, 2);
  EXPECT_EQ(registers.Read(regs::MAP_COMMAND), 0u);
  EXPECT_EQ(commands, std::vector<uint32_t>{2});
}

TEST(RegisterFile, ClearsAReadToClearRegisterOnABusReadButNotOnAPeek) {
  Bar0Registers registers(true);
  registers.int_count.Set(7);
  EXPECT_EQ(registers.int_count.value(), 7u);
  EXPECT_EQ(registers.Read(regs::INT_COUNT), 7u);
  EXPECT_EQ(registers.Read(regs::INT_COUNT), 0u);
}

TEST(RegisterFile, WritesOnlyTheBytesThatAreEnabled) {
  Bar0Registers registers(true);
  uint32_t hook = 0;
  registers.scratch.OnWrite([&](uint32_t value) { hook = value; });
  registers.Write(regs::SCRATCH, 0x11223344);
  registers.Write(regs::SCRATCH, 0xAABBCCDD, 0b0101);
  EXPECT_EQ(registers.Read(regs::SCRATCH), 0x11BB33DDu);
  EXPECT_EQ(hook, 0x11BB33DDu) << "the hook sees the whole value";
  registers.int_status.Set(0x7);
  registers.Write(regs::INT_STATUS, 0x7, 0b1110);
  EXPECT_EQ(registers.int_status.value(), 0x7u) << "the byte with the causes is not enabled";
  registers.Write(regs::INT_STATUS, 0x1, 0b0001);
  EXPECT_EQ(registers.int_status.value(), 0x6u);
  int commands = 0;
  registers.control.OnWrite([&](uint32_t) { ++commands; });
  registers.Write(regs::CONTROL, 0x100, 0b0010);
  EXPECT_EQ(commands, 0) << "no bit of the command is written";
}

TEST(RegisterFile, CallsAWriteHookAfterStoring) {
  Bar0Registers registers(true);
  uint32_t stored = 0;
  registers.sq_tail.OnWrite([&](uint32_t) { stored = registers.sq_tail.value(); });
  registers.Write(regs::SQ_TAIL, 9);
  EXPECT_EQ(stored, 9u);
}

TEST(RegisterFile, DoesNotCallAWriteHookForARefusedWrite) {
  Bar0Registers registers(true);
  bool called = false;
  registers.sq_head.OnWrite([&](uint32_t) { called = true; });
  registers.Write(regs::SQ_HEAD, 1);
  EXPECT_FALSE(called);
}

TEST(RegisterFile, TakesTheValueOfALiveRegisterFromItsHook) {
  Bar0Registers registers(true);
  uint32_t head = 3;
  registers.sq_head.OnRead([&] { return head; });
  EXPECT_EQ(registers.Read(regs::SQ_HEAD), 3u);
  head = 4;
  EXPECT_EQ(registers.Read(regs::SQ_HEAD), 4u);
  EXPECT_EQ(registers.sq_head.value(), 4u);
}

TEST(RegisterFile, LatchesTheOtherHalfOfACounterOnABusReadOnly) {
  Bar0Registers registers(true);
  const uint64_t now_ps = 0x500000007;
  registers.time_lo.OnRead([&] { return static_cast<uint32_t>(now_ps); });
  registers.time_lo.AfterRead(
      [&](uint32_t) { registers.time_hi.Set(static_cast<uint32_t>(now_ps >> 32)); });
  EXPECT_EQ(registers.time_lo.value(), 7u);
  EXPECT_EQ(registers.Read(regs::TIME_HI), 0u) << "a peek must not latch";
  EXPECT_EQ(registers.Read(regs::TIME_LO), 7u);
  EXPECT_EQ(registers.Read(regs::TIME_HI), 5u);
}

TEST(RegisterFile, ReadsZeroAndCountsWhereThereIsNoRegister) {
  Bar0Registers registers(true);
  EXPECT_EQ(registers.Read(0x0FF0), 0u);
  registers.Write(0x0FF0, 1);
  EXPECT_EQ(registers.Read(regs::SCRATCH + 1), 0u) << "not a multiple of 4";
  EXPECT_EQ(registers.Read(0xFFFFFFFC), 0u);
  EXPECT_EQ(registers.bad_accesses(), 4u);
}

TEST(RegisterFile, HidesPhysicalFunctionRegistersFromAVirtualFunction) {
  Bar0Registers registers(false);
  EXPECT_EQ(registers.Find(regs::MAP_PERMISSION), nullptr);
  registers.Write(regs::MAP_PERMISSION, 3);
  EXPECT_EQ(registers.Read(regs::MAP_PERMISSION), 0u) << "its reset value in the PF is 7";
  EXPECT_EQ(registers.bad_accesses(), 2u);
}

TEST(RegisterFile, ReturnsToResetValuesAndKeepsHooks) {
  Bar0Registers registers(true);
  registers.function.OnRead([] { return 12u; });
  registers.Write(regs::SCRATCH, 1);
  registers.Write(regs::MAP_PERMISSION, 1);
  registers.Reset();
  EXPECT_EQ(registers.Read(regs::SCRATCH), 0u);
  EXPECT_EQ(registers.Read(regs::MAP_PERMISSION), 7u);
  EXPECT_EQ(registers.Read(regs::FUNCTION), 12u);
}

TEST(RegisterFile, RefusesAnOffsetWhereThereIsNoRegister) {
  Bar0Registers registers(false);
  EXPECT_EQ(&registers.At(regs::SCRATCH), &registers.scratch);
  EXPECT_THROW(registers.At(regs::MAP_COMMAND), Error);
  EXPECT_THROW(registers.At(0x0FF0), Error);
}

TEST(RegisterFile, HasAPairAsTheTwoHalvesOfOneNumber) {
  Bar0Registers registers(true);
  std::vector<uint64_t> seen;
  registers.sq_base.OnWrite([&](uint32_t) { seen.push_back(registers.sq_base.value()); });
  registers.Write(regs::SQ_BASE_LO, 0x80);
  registers.Write(regs::SQ_BASE_HI, 5);
  EXPECT_EQ(seen, (std::vector<uint64_t>{0x80, 0x500000080}));
  registers.sensor_energy.Set(0x123456789);
  EXPECT_EQ(registers.Read(regs::SENSOR_ENERGY_LO), 0x23456789u);
  EXPECT_EQ(registers.Read(regs::SENSOR_ENERGY_HI), 1u);
  registers.region_length.OnRead([] { return uint64_t{1} << 33; });
  EXPECT_EQ(registers.Read(regs::REGION_LENGTH_LO), 0u);
  EXPECT_EQ(registers.Read(regs::REGION_LENGTH_HI), 2u);
}

TEST(ControllerRegisters, StandAtTheAddressesThatTheFirmwareKnows) {
  ControllerRegisters bus;
  bus.Write(regs::MC_CORE_MASK, 0xF0);
  EXPECT_EQ(bus.mc_core_mask.value(), 0xF0u);
  EXPECT_EQ(bus.Read(regs::MC_CORE_MASK), 0xF0u);
  EXPECT_EQ(bus.Read(regs::MC_CORE_MASK - 0x10000000), 0u) << "that address is one of BAR0";
}

}  // namespace
}  // namespace spyre::model::register_file_test
