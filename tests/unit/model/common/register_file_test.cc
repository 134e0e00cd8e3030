// SPDX-License-Identifier: Apache-2.0
#include "model/common/register_file.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace spyre::model::register_file_test {
namespace {

TEST(RegisterFile, KeepsWhatIsWrittenToAReadWriteRegister) {
  RegisterFile registers(true);
  registers.Write(regs::SCRATCH, 0xDEADBEEF);
  EXPECT_EQ(registers.Read(regs::SCRATCH), 0xDEADBEEFu);
  EXPECT_EQ(registers.bad_accesses(), 0u);
}

TEST(RegisterFile, DropsBitsThatDoNotExist) {
  RegisterFile registers(true);
  registers.Write(regs::QUEUE_CONTROL, 0xFFFFFFFF);
  EXPECT_EQ(registers.Read(regs::QUEUE_CONTROL), regs::QUEUE_CONTROL_ENABLE_MASK);
}

TEST(RegisterFile, HoldsAReadOnlyRegisterAndCountsTheWrite) {
  RegisterFile registers(true);
  registers.Write(regs::MAGIC, 0);
  EXPECT_EQ(registers.Read(regs::MAGIC), 0x52595053u);
  EXPECT_EQ(registers.bad_accesses(), 1u);
}

TEST(RegisterFile, ClearsExactlyTheOnesWrittenToAWriteOneToClearRegister) {
  RegisterFile registers(true);
  registers.Poke(regs::INT_STATUS, 0b111);
  registers.Write(regs::INT_STATUS, 0b010);
  EXPECT_EQ(registers.Read(regs::INT_STATUS), 0b101u);
  registers.Write(regs::INT_STATUS, 0);
  EXPECT_EQ(registers.Read(regs::INT_STATUS), 0b101u);
}

TEST(RegisterFile, ReadsAWriteOnlyRegisterAsZeroAndGivesTheCommandToItsHook) {
  RegisterFile registers(true);
  std::vector<uint32_t> commands;
  registers.OnWrite(regs::MAP_COMMAND, [&](uint32_t value) { commands.push_back(value); });
  registers.Write(regs::MAP_COMMAND, 2);
  EXPECT_EQ(registers.Read(regs::MAP_COMMAND), 0u);
  EXPECT_EQ(commands, std::vector<uint32_t>{2});
}

TEST(RegisterFile, ClearsAReadToClearRegisterOnABusReadButNotOnAPeek) {
  RegisterFile registers(true);
  registers.Poke(regs::INT_COUNT, 7);
  EXPECT_EQ(registers.Peek(regs::INT_COUNT), 7u);
  EXPECT_EQ(registers.Read(regs::INT_COUNT), 7u);
  EXPECT_EQ(registers.Read(regs::INT_COUNT), 0u);
}

TEST(RegisterFile, WritesOnlyTheBytesThatAreEnabled) {
  RegisterFile registers(true);
  uint32_t hook = 0;
  registers.OnWrite(regs::SCRATCH, [&](uint32_t value) { hook = value; });
  registers.Write(regs::SCRATCH, 0x11223344);
  registers.Write(regs::SCRATCH, 0xAABBCCDD, 0b0101);
  EXPECT_EQ(registers.Read(regs::SCRATCH), 0x11BB33DDu);
  EXPECT_EQ(hook, 0x11BB33DDu) << "the hook sees the whole value";
  registers.Poke(regs::INT_STATUS, 0x7);
  registers.Write(regs::INT_STATUS, 0x7, 0b1110);
  EXPECT_EQ(registers.Peek(regs::INT_STATUS), 0x7u) << "the byte with the causes is not enabled";
  registers.Write(regs::INT_STATUS, 0x1, 0b0001);
  EXPECT_EQ(registers.Peek(regs::INT_STATUS), 0x6u);
  int commands = 0;
  registers.OnWrite(regs::CONTROL, [&](uint32_t) { ++commands; });
  registers.Write(regs::CONTROL, 0x100, 0b0010);
  EXPECT_EQ(commands, 0) << "no bit of the command is written";
}

TEST(RegisterFile, CallsAWriteHookAfterStoring) {
  RegisterFile registers(true);
  uint32_t stored = 0;
  registers.OnWrite(regs::SQ_TAIL, [&](uint32_t) { stored = registers.Peek(regs::SQ_TAIL); });
  registers.Write(regs::SQ_TAIL, 9);
  EXPECT_EQ(stored, 9u);
}

TEST(RegisterFile, DoesNotCallAWriteHookForARefusedWrite) {
  RegisterFile registers(true);
  bool called = false;
  registers.OnWrite(regs::SQ_HEAD, [&](uint32_t) { called = true; });
  registers.Write(regs::SQ_HEAD, 1);
  EXPECT_FALSE(called);
}

TEST(RegisterFile, TakesTheValueOfALiveRegisterFromItsHook) {
  RegisterFile registers(true);
  uint32_t head = 3;
  registers.OnRead(regs::SQ_HEAD, [&] { return head; });
  EXPECT_EQ(registers.Read(regs::SQ_HEAD), 3u);
  head = 4;
  EXPECT_EQ(registers.Read(regs::SQ_HEAD), 4u);
  EXPECT_EQ(registers.Peek(regs::SQ_HEAD), 4u);
}

TEST(RegisterFile, LatchesTheOtherHalfOfACounterOnABusReadOnly) {
  RegisterFile registers(true);
  const uint64_t now_ps = 0x500000007;
  registers.OnRead(regs::TIME_LO, [&] { return static_cast<uint32_t>(now_ps); });
  registers.AfterRead(regs::TIME_LO, [&](uint32_t) {
    registers.Poke(regs::TIME_HI, static_cast<uint32_t>(now_ps >> 32));
  });
  EXPECT_EQ(registers.Peek(regs::TIME_LO), 7u);
  EXPECT_EQ(registers.Read(regs::TIME_HI), 0u) << "a peek must not latch";
  EXPECT_EQ(registers.Read(regs::TIME_LO), 7u);
  EXPECT_EQ(registers.Read(regs::TIME_HI), 5u);
}

TEST(RegisterFile, ReadsZeroAndCountsWhereThereIsNoRegister) {
  RegisterFile registers(true);
  EXPECT_EQ(registers.Read(0x0FF0), 0u);
  registers.Write(0x0FF0, 1);
  EXPECT_EQ(registers.Read(regs::SCRATCH + 1), 0u) << "not a multiple of 4";
  EXPECT_EQ(registers.Read(0xFFFFFFFC), 0u);
  EXPECT_EQ(registers.bad_accesses(), 4u);
}

TEST(RegisterFile, HidesPhysicalFunctionRegistersFromAVirtualFunction) {
  RegisterFile registers(false);
  EXPECT_FALSE(registers.Has(regs::MAP_PERMISSION));
  registers.Write(regs::MAP_PERMISSION, 3);
  EXPECT_EQ(registers.Read(regs::MAP_PERMISSION), 0u) << "its reset value in the PF is 7";
  EXPECT_EQ(registers.bad_accesses(), 2u);
}

TEST(RegisterFile, ReturnsToResetValuesAndKeepsHooks) {
  RegisterFile registers(true);
  registers.OnRead(regs::FUNCTION, [] { return 12u; });
  registers.Write(regs::SCRATCH, 1);
  registers.Write(regs::MAP_PERMISSION, 1);
  registers.Reset();
  EXPECT_EQ(registers.Read(regs::SCRATCH), 0u);
  EXPECT_EQ(registers.Read(regs::MAP_PERMISSION), 7u);
  EXPECT_EQ(registers.Read(regs::FUNCTION), 12u);
}

TEST(RegisterFile, RefusesAHookOnARegisterThatTheFunctionDoesNotHave) {
  RegisterFile registers(false);
  EXPECT_THROW(registers.OnWrite(regs::MAP_COMMAND, [](uint32_t) {}), Error);
  EXPECT_THROW(registers.Poke(0x0FF0, 1), Error);
}

}  // namespace
}  // namespace spyre::model::register_file_test
