// SPDX-License-Identifier: Apache-2.0
// Each group of RV32IM instructions at its edges; values are worked out by hand from the manual.
#include "tests/unit/model/rtl/rv32/controller_fixture.h"

namespace spyre::model::rv32::instructions_test {
namespace {

class InstructionTest : public ControllerTest {
 protected:
  uint32_t Of(uint32_t funct7, uint32_t funct3, uint32_t a, uint32_t b) {
    return Result({Op(funct7, funct3, 10, 11, 12)}, {{11, a}, {12, b}});
  }
  uint32_t Immediate(uint32_t funct3, uint32_t a, int32_t b) {
    return Result({OpImmediate(funct3, 10, 11, b)}, {{11, a}});
  }
  // 1 if the branch is taken.
  uint32_t Taken(uint32_t funct3, uint32_t a, uint32_t b) {
    return Result({Addi(10, 0, 1), Branch(funct3, 11, 12, 8), Addi(10, 0, 0)}, {{11, a}, {12, b}});
  }
};

TEST_F(InstructionTest, AdditionAndSubtractionWrap) {
  EXPECT_EQ(Of(0, 0, 0x7FFFFFFF, 1), 0x80000000);
  EXPECT_EQ(Of(0x20, 0, 0, 1), 0xFFFFFFFF);
  EXPECT_EQ(Immediate(0, 5, -2048), 5u - 2048u);
}

TEST_F(InstructionTest, ComparisonsKnowSigns) {
  EXPECT_EQ(Of(0, 2, 0x80000000, 0), 1u);
  EXPECT_EQ(Of(0, 3, 0x80000000, 0), 0u);
  EXPECT_EQ(Immediate(2, 0, -1), 0u);
  EXPECT_EQ(Immediate(3, 0, -1), 1u)
      << "the immediate is sign-extended, then compared without a sign";
}

TEST_F(InstructionTest, LogicWorksBitByBit) {
  EXPECT_EQ(Of(0, 4, 0xFF00FF00, 0x0FF00FF0), 0xF0F0F0F0);
  EXPECT_EQ(Of(0, 6, 0xFF00FF00, 0x0FF00FF0), 0xFFF0FFF0);
  EXPECT_EQ(Of(0, 7, 0xFF00FF00, 0x0FF00FF0), 0x0F000F00u);
  EXPECT_EQ(Immediate(7, 0x12345678, -16), 0x12345670u);
}

TEST_F(InstructionTest, ShiftsTakeFiveBits) {
  EXPECT_EQ(Of(0, 1, 1, 33), 2u);
  EXPECT_EQ(Of(0, 5, 0x80000000, 31), 1u);
  EXPECT_EQ(Of(0x20, 5, 0x80000000, 31), 0xFFFFFFFF);
  EXPECT_EQ(Immediate(5, 0x80000000, 0x400 | 4), 0xF8000000);
}

TEST_F(InstructionTest, UpperImmediates) {
  EXPECT_EQ(Result({Lui(10, 0xABCDE000)}), 0xABCDE000);
  EXPECT_EQ(Result({kNop, Auipc(10, 0xFFFFF000)}), kBase + 4 - 0x1000);
}

TEST_F(InstructionTest, RegisterZeroStaysZero) {
  EXPECT_EQ(Result({Addi(0, 0, 7), Addi(10, 0, 0)}), 0u);
}

TEST_F(InstructionTest, ProductsHaveBothHalves) {
  EXPECT_EQ(Of(1, 0, 0x12345678, 0x9ABCDEF0), 0x242D2080u);
  EXPECT_EQ(Of(1, 1, 0x80000000, 0x80000000), 0x40000000u);
  EXPECT_EQ(Of(1, 2, 0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF) << "-1 times 2^32-1";
  EXPECT_EQ(Of(1, 3, 0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFE);
}

TEST_F(InstructionTest, DivisionRoundsTowardsZero) {
  EXPECT_EQ(Of(1, 4, -7u, 2), -3u);
  EXPECT_EQ(Of(1, 6, -7u, 2), -1u);
  EXPECT_EQ(Of(1, 4, 7, -2u), -3u);
  EXPECT_EQ(Of(1, 6, 7, -2u), 1u);
  EXPECT_EQ(Of(1, 5, 0xFFFFFFFF, 16), 0x0FFFFFFFu);
  EXPECT_EQ(Of(1, 7, 0xFFFFFFFF, 16), 15u);
}

TEST_F(InstructionTest, DivisionByZeroGivesAllOnesAndTheDividend) {
  for (const uint32_t dividend : {0u, 5u, 0x80000000u}) {
    EXPECT_EQ(Of(1, 4, dividend, 0), 0xFFFFFFFF);
    EXPECT_EQ(Of(1, 5, dividend, 0), 0xFFFFFFFF);
    EXPECT_EQ(Of(1, 6, dividend, 0), dividend);
    EXPECT_EQ(Of(1, 7, dividend, 0), dividend);
  }
}

TEST_F(InstructionTest, SignedDivisionOverflowGivesTheDividend) {
  EXPECT_EQ(Of(1, 4, 0x80000000, 0xFFFFFFFF), 0x80000000);
  EXPECT_EQ(Of(1, 6, 0x80000000, 0xFFFFFFFF), 0u);
}

TEST_F(InstructionTest, BranchesCompareWithAndWithoutSigns) {
  EXPECT_EQ(Taken(0, 5, 5), 1u);
  EXPECT_EQ(Taken(1, 5, 5), 0u);
  EXPECT_EQ(Taken(4, -1u, 1), 1u);
  EXPECT_EQ(Taken(5, -1u, 1), 0u);
  EXPECT_EQ(Taken(6, -1u, 1), 0u);
  EXPECT_EQ(Taken(7, -1u, 1), 1u);
  EXPECT_EQ(Taken(5, 3, 3), 1u);
}

TEST_F(InstructionTest, JumpsLinkAndJalrDropsTheLowestBit) {
  EXPECT_EQ(Result({Jal(10, 8), Addi(10, 0, 0)}), kBase + 4);
  EXPECT_EQ(Result({Jalr(10, 11, 5), Addi(10, 0, 0)}, {{11, kBase + 4}}), kBase + 4);
  EXPECT_EQ(Result({Jalr(10, 10, 0), Addi(10, 0, 0)}, {{10, kBase + 8}}), kBase + 4)
      << "link over its own base";
}

TEST_F(InstructionTest, LoadsExtendBytesAndHalves) {
  const std::pair<unsigned, uint32_t> at{11, kBase + 0x1000};
  const std::pair<unsigned, uint32_t> value{12, 0x8180F2F1};
  const auto loaded = [&](uint32_t funct3, int32_t offset) {
    return Result({Sw(12, 0, 11), LoadOp(funct3, 10, offset, 11)}, {at, value});
  };
  EXPECT_EQ(loaded(0, 0), 0xFFFFFFF1);
  EXPECT_EQ(loaded(4, 3), 0x81u);
  EXPECT_EQ(loaded(1, 2), 0xFFFF8180);
  EXPECT_EQ(loaded(5, 0), 0xF2F1u);
  EXPECT_EQ(loaded(2, 0), 0x8180F2F1);
}

TEST_F(InstructionTest, StoresChangeTheirBytesOnly) {
  const std::pair<unsigned, uint32_t> at{11, kBase + 0x1004}, value{12, 0xAABBCCDD};
  EXPECT_EQ(Result({StoreOp(0, 12, -3, 11), Lw(10, -4, 11)}, {at, value}), 0x0000DD00u);
  EXPECT_EQ(Result({StoreOp(1, 12, -2, 11), Lw(10, -4, 11)}, {at, value}), 0xCCDD0000);
}

TEST_F(InstructionTest, FencesDoNothingAndStoredInstructionsRun) {
  EXPECT_EQ(Result({Sw(12, 0, 11), kFence, kFenceI, kNop, Addi(10, 0, 1)},
                   {{11, kBase + 12}, {12, Addi(13, 0, 9)}}),
            1u);
  EXPECT_EQ(rtl.Register(13), 9u);
}

TEST_F(InstructionTest, CsrInstructionsReadWriteSetAndClear) {
  EXPECT_EQ(Result({Csrw(kMscratch, 11), CsrOp(1, 10, kMscratch, 12)}, {{11, 5}, {12, 6}}), 5u);
  EXPECT_EQ(
      Result({CsrOp(5, 0, kMscratch, 0x1F), CsrOp(2, 0, kMscratch, 11), CsrOp(3, 0, kMscratch, 12),
              CsrOp(6, 0, kMscratch, 8), CsrOp(7, 0, kMscratch, 1), Csrr(10, kMscratch)},
             {{11, 0x100}, {12, 0x1E}}),
      0x108u);
}

TEST_F(InstructionTest, ReadsOfReadOnlyCsrsDoNotTrap) {
  EXPECT_EQ(Result({Csrr(10, 0xF14)}), 0u);
  EXPECT_EQ(Result({CsrOp(7, 10, kInstret, 0)}), Csr(kMinstret) - 1);
}

TEST_F(InstructionTest, MachineModeIsTheOnlyOne) {
  EXPECT_EQ(Result({Csrw(kMstatus, 0), Csrr(10, kMstatus)}), 0x1800u);
  EXPECT_EQ(Result({Csrw(kMisa, 0), Csrr(10, kMisa)}), 0x40001100u) << "RV32IM";
}

TEST_F(InstructionTest, AWrittenInstructionCounterReadsBackInTheNextInstruction) {
  EXPECT_EQ(Result({Csrw(kMinstret, 11), Csrr(10, kMinstret)}, {{11, 77}}), 77u);
  EXPECT_EQ(Result({Csrw(kMinstret, 11), Csrw(kMinstreth, 11), kNop, Csrr(10, kMinstret),
                    Csrr(12, kMinstreth)},
                   {{11, -1u}}),
            0u)
      << "the carry goes into the high half";
  EXPECT_EQ(rtl.Register(12), 0u);
}

// Software may clear mcountinhibit without asking whether it is there.
TEST_F(InstructionTest, CountersCannotBeStopped) {
  EXPECT_EQ(Result({Csrw(kMcountinhibit, 11), CsrOp(7, 0, kMcountinhibit, 4),
                    CsrOp(2, 10, kMcountinhibit, 0)},
                   {{11, -1u}}),
            0u);
  EXPECT_EQ(Result({Csrw(kMcountinhibit, 11), Csrw(kMinstret, 0), kNop, Csrr(10, kMinstret)},
                   {{11, -1u}}),
            1u);
}

}  // namespace
}  // namespace spyre::model::rv32::instructions_test
