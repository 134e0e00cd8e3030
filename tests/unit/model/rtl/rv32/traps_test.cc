// SPDX-License-Identifier: Apache-2.0
// Traps are precise: cause, mepc and mtval are right, and nothing that the instruction would have
// done is done.
#include "tests/unit/model/rtl/rv32/controller_fixture.h"

namespace spyre::model::rv32::traps_test {
namespace {

class TrapTest : public ControllerTest {
 protected:
  void RunOne(uint32_t word, uint32_t base_register = 0) {
    Load({word});
    rtl.SetRegister(11, base_register);
    rtl.SetRegister(10, 0x5A5A);
    const uint64_t retired = rtl.retired();
    Steps(1);
    EXPECT_EQ(rtl.retired(), retired) << "what trapped is not counted";
    EXPECT_EQ(rtl.Register(10), 0x5A5Au);
  }
  void ExpectIllegal(uint32_t word) {
    RunOne(word);
    ExpectTrap(2, kBase, word);
  }
  // Enables an interrupt in mie and, if asked, in mstatus.
  void Enable(uint32_t mie, bool mstatus_mie) {
    rtl.SetRegister(5, mie);
    rtl.SetRegister(6, mstatus_mie ? 8 : 0);
    rtl.SetPc(kScratch + 0x10);
    const uint32_t words[] = {Csrw(kMie, 5), Csrw(kMstatus, 6)};
    ASSERT_TRUE(rtl.WriteMemory(kScratch + 0x10, words, sizeof words));
    Steps(2);
    rtl.SetPc(kBase);
  }
};

TEST_F(TrapTest, IllegalInstructions) {
  ExpectIllegal(0);
  ExpectIllegal(0xFFFFFFFF);
  ExpectIllegal(0x02051513);               // slli by 32
  ExpectIllegal(Op(0x20, 1, 10, 11, 12));  // no such operation
  ExpectIllegal(Op(0x02, 0, 10, 11, 12));
  ExpectIllegal(LoadOp(3, 10, 0, 11));
  ExpectIllegal(LoadOp(7, 10, 0, 11));
  ExpectIllegal(StoreOp(3, 10, 0, 11));
  ExpectIllegal(Branch(2, 0, 0, 8));
  ExpectIllegal(IType(0, 11, 1, 10, 0x67));  // jalr with funct3 1
  ExpectIllegal(0x0000200F);                 // fence of a kind that is not there
  ExpectIllegal(0x10200073);                 // sret
  ExpectIllegal(0x12000073);                 // sfence.vma
  ExpectIllegal(0x00200073);                 // uret
  ExpectIllegal(IType(0x300, 11, 4, 10, 0x73));
  ExpectIllegal(0x00000001);  // compressed
}

TEST_F(TrapTest, CsrsThatAreNotThereOrReadOnly) {
  for (const uint32_t csr :
       {0x180u, 0x302u, 0x303u, 0x306u, 0x321u, 0x3A0u, 0x3B0u, 0x105u, 0x744u, 0x000u, 0xFFFu})
    ExpectIllegal(Csrr(10, csr));
  ExpectIllegal(CsrOp(1, 10, 0xF14, 11));
  ExpectIllegal(CsrOp(6, 10, kCycle, 1));
}

TEST_F(TrapTest, MisalignedAccesses) {
  RunOne(LoadOp(1, 10, 1, 11), kBase);
  ExpectTrap(4, kBase, kBase + 1);
  RunOne(Lw(10, 2, 11), kBase);
  ExpectTrap(4, kBase, kBase + 2);
  RunOne(Sw(11, 3, 11), kBase);
  ExpectTrap(6, kBase, kBase + 3);
  EXPECT_EQ(Memory(kBase), Sw(11, 3, 11)) << "nothing was written";
}

TEST_F(TrapTest, AccessesToNothing) {
  RunOne(Lw(10, 0, 11), 0);
  ExpectTrap(5, kBase, 0);
  RunOne(Sw(11, 0, 11), kBase + kControllerSramBytes);
  ExpectTrap(7, kBase, kBase + kControllerSramBytes);
  RunOne(Lw(10, -4, 11), kBase);
  ExpectTrap(5, kBase, kBase - 4);
}

TEST_F(TrapTest, NarrowAndUnmappedAccessesToTheBus) {
  RunOne(LoadOp(4, 10, 0, 11), kBus);
  ExpectTrap(5, kBase, kBus);
  RunOne(StoreOp(1, 11, 4, 11), kBus);
  ExpectTrap(7, kBase, kBus + 4);
  RunOne(Lw(10, 0x100, 11), kBus);
  ExpectTrap(5, kBase, kBus + 0x100);
  RunOne(Sw(11, 0x100, 11), kBus);
  ExpectTrap(7, kBase, kBus + 0x100);
  EXPECT_TRUE(bus.reads.empty() && bus.writes.empty());
}

TEST_F(TrapTest, TheTimerHasItsRegistersOnly) {
  RunOne(Lw(10, 0, 11), kControllerClintBase);
  ExpectTrap(5, kBase, kControllerClintBase);
  RunOne(Sw(10, 0, 11), kControllerClintBase + 0xBFF8);
  ExpectTrap(7, kBase, kControllerClintBase + 0xBFF8);
}

TEST_F(TrapTest, MisalignedTargetsTrapAtTheJump) {
  RunOne(Jalr(10, 11, 2), kBase);
  ExpectTrap(0, kBase, kBase + 2);
  RunOne(Jal(10, 6));
  ExpectTrap(0, kBase, kBase + 6);
  RunOne(Branch(0, 0, 0, 10));
  ExpectTrap(0, kBase, kBase + 10);
}

TEST_F(TrapTest, ABranchNotTakenMayPointAnywhere) {
  Load({Branch(1, 0, 0, 10)});
  Steps(1);
  EXPECT_EQ(rtl.pc(), kBase + 4);
}

TEST_F(TrapTest, FetchesOutsideTheSram) {
  Load({Jalr(0, 11, 0)});
  rtl.SetRegister(11, 0x1000);
  Steps(2);
  ExpectTrap(1, 0x1000, 0x1000);
}

TEST_F(TrapTest, EnvironmentCallAndBreakpoint) {
  RunOne(kEcall);
  ExpectTrap(11, kBase, 0);
  RunOne(kEbreak);
  ExpectTrap(3, kBase, kBase);
}

TEST_F(TrapTest, ATrapMasksInterruptsAndMretRestoresThem) {
  Load({kEcall});
  Enable(0, true);
  Steps(1);
  EXPECT_EQ(Csr(kMstatus), 0x1880u) << "MPIE holds MIE";
  const uint32_t mret = kMret;
  ASSERT_TRUE(rtl.WriteMemory(kHandler, &mret, 4));
  Steps(1);
  EXPECT_EQ(Csr(kMstatus), 0x1888u);
  EXPECT_EQ(rtl.pc(), kBase);
}

TEST_F(TrapTest, AnExternalInterruptComesBetweenInstructions) {
  Load({kNop, kNop, kNop});
  Enable(0x800, true);
  rtl.SetExternalInterrupt(true);
  Steps(2);
  ExpectTrap(0x8000000B, kBase + 4, 0);
  EXPECT_EQ(Csr(kMip), 0x800u);
}

TEST_F(TrapTest, AMaskedInterruptWaits) {
  Load({kNop, kNop, kNop});
  Enable(0, true);
  rtl.SetExternalInterrupt(true);
  Steps(3);
  EXPECT_EQ(rtl.pc(), kBase + 12);
}

TEST_F(TrapTest, VectoredInterruptsGoToTheirOwnEntryAndExceptionsToTheBase) {
  Load({Csrw(kMtvec, 7), kNop, kEcall});
  Enable(0x800, true);
  rtl.SetRegister(7, kHandler | 1);
  rtl.SetExternalInterrupt(true);
  Steps(2);
  EXPECT_EQ(rtl.pc(), kHandler + 4 * 11);
  rtl.SetPc(kBase + 8);  // MIE is off now
  Steps(1);
  EXPECT_EQ(rtl.pc(), kHandler);
}

TEST_F(TrapTest, TheExternalInterruptComesBeforeTheTimer) {
  Load({Sw(0, 0, 11), Sw(0, 4, 11), Csrw(kMie, 12), Csrw(kMstatus, 13), kNop, kNop});
  rtl.SetRegister(11, kControllerClintBase + 0x4000);
  rtl.SetRegister(12, 0x880);
  rtl.SetRegister(13, 8);
  rtl.SetExternalInterrupt(true);
  Steps(5);
  EXPECT_EQ(Csr(kMcause), 0x8000000B);
}

TEST_F(TrapTest, TheTimerInterruptsWhenItsTimeHasCome) {
  Load({Sw(12, 4, 11), Sw(13, 0, 11), Csrw(kMie, 14), Csrw(kMstatus, 15), Jal(0, 0)});
  rtl.SetRegister(11, kControllerClintBase + 0x4000);
  rtl.SetRegister(13, 500);
  rtl.SetRegister(14, 0x80);
  rtl.SetRegister(15, 8);
  Steps(4);
  EXPECT_EQ(rtl.timer_due(), 500u);
  while (rtl.pc() != kHandler && rtl.cycles() < 600) Steps(1);
  ExpectTrap(0x80000007, kBase + 16, 0);
  EXPECT_GE(rtl.cycles(), 500u);
  EXPECT_LE(rtl.cycles(), 504u) << "one instruction and the trap entry later";
}

}  // namespace
}  // namespace spyre::model::rv32::traps_test
