// SPDX-License-Identifier: Apache-2.0
// What a MATMUL costs, in cycles: block load, rows, accumulate latency, sums, fill and drain, and
// the rates of the operand formats.
#include <gtest/gtest.h>

#include "tests/unit/model/core/core_bench.h"

namespace spyre::model::pt_unit_test {
namespace {

// One corelet, and an LX port too wide to matter: 4096 bytes a cycle.
class PtUnitTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kLoad = 64;   // of a weight block
  static constexpr uint64_t kDrain = 20;  // fill and drain

  PtUnitTest() {
    bench_.config.core.corelets = 1;
    bench_.config.core.lx_port_bytes_per_cycle = 4096;
  }

  struct Shape {
    uint64_t m, n, k;
    std::string format;  // suffix of the mnemonic
    int times = 1;       // MATMULs, back to back
    bool accumulate = false;
  };
  static std::string Text(const Shape& shape) {
    std::string text = fmt::format(
        ".program matmul\n.cores 0x1\n.lx 2031616\n.section pt 0x1\n"
        "  li r1, 0\n  li r2, 1048576\n  li r3, 1507328\n  li r4, {}\n  li r5, {}\n  li r6, {}\n"
        "  li r7, {}\n  li r8, {}\n  li r9, {}\n  li r10, {}\n",
        shape.m, shape.n, shape.k, shape.m * 128, shape.k * 128, shape.m * 256,
        shape.accumulate ? 1 : 0);
    for (int i = 0; i < shape.times; ++i)
      text += "  matmul" + shape.format + " r1, r2, r3, r4, r5, r6, r7, r8, r9, r10\n";
    return text;
  }
  uint64_t Cycles(const Shape& shape) {
    EXPECT_EQ(bench_.Run(Text(shape)), Status::OK);
    return bench_.BusyCycles("pt");
  }
  CoreBench bench_;
};

TEST_F(PtUnitTest, ABlockIsLoadedThenMeetsItsRowsThenDrains) {
  // 64 rows x 64 k x 64 columns at 512 a cycle.
  EXPECT_EQ(Cycles({64, 64, 64, ""}), kLoad + 512 + kDrain);
}

TEST_F(PtUnitTest, BlockLoadsHideBehindTheRowsOfTheBlockBefore) {
  EXPECT_EQ(Cycles({64, 64, 64 * 4, ""}), kLoad + 4 * 512 + kDrain);
  EXPECT_EQ(bench_.LostCycles("pt", Loss::kWeightLoad), kLoad) << "only the first";
  EXPECT_EQ(bench_.LostCycles("pt", Loss::kFillDrain), kDrain);
}

TEST_F(PtUnitTest, RowsTooFewToHideABlockLoadWaitForIt) {
  // 4 rows take 32 cycles, a block 64: the load decides, but for the last block's rows.
  EXPECT_EQ(Cycles({4, 64, 64 * 4, ""}), 4 * kLoad + 32 + kDrain);
  EXPECT_EQ(bench_.LostCycles("pt", Loss::kWeightLoad), kLoad + 3 * (kLoad - 32));
}

TEST_F(PtUnitTest, RowsFewerThanTheAccumulateLatencyCannotHideIt) {
  bench_.config.core.pt_block_load_cycles = 0;
  // A row meets a block in 8 passes; a sum can be added to every 4 cycles.
  const uint64_t one = Cycles({1, 64, 64, ""});
  const uint64_t weights = 2;  // 8 KiB through the wide port
  EXPECT_EQ(one, weights + 8 * 4 + kDrain);
}

TEST_F(PtUnitTest, FourRowsHideTheAccumulateLatency) {
  bench_.config.core.pt_block_load_cycles = 0;
  EXPECT_EQ(Cycles({4, 64, 64, ""}), 2 + 8 * 4 + kDrain);
}

TEST_F(PtUnitTest, AFifthRowTakesItsOwnTime) {
  bench_.config.core.pt_block_load_cycles = 0;
  EXPECT_EQ(Cycles({5, 64, 64, ""}), 2 + 8 * 5 + kDrain);
}

TEST_F(PtUnitTest, IntegersHaveTheirOwnAccumulateLatency) {
  bench_.config.core.pt_block_load_cycles = 0;
  // 64 k x 128 columns at 4 x 512 a cycle: 4 passes, 2 cycles apart.
  EXPECT_EQ(Cycles({1, 128, 64, ".senint8"}), 2 + 4 * 2 + kDrain);
}

TEST_F(PtUnitTest, TheWeightsOfTheNextMatmulComeBehindTheRowsOfTheLast) {
  EXPECT_EQ(Cycles({64, 64, 64, "", 3}), kLoad + 3 * (512 + kDrain));
}

TEST_F(PtUnitTest, CoreletsTakeDifferentColumns) {
  bench_.config.core.corelets = 2;
  EXPECT_EQ(Cycles({64, 128, 64, ""}), kLoad + 512 + kDrain);
}

TEST_F(PtUnitTest, CoreletsShareTheRowsOfOneColumnOfBlocks) {
  bench_.config.core.corelets = 2;
  EXPECT_EQ(Cycles({64, 64, 64, ""}), kLoad + 256 + kDrain);
}

TEST_F(PtUnitTest, SumsPassTheLxPortWithTheRows) {
  bench_.config.core.lx_port_bytes_per_cycle = 64;
  // Weights 8 KiB, rows 8 KiB, sums 16 KiB: 128, 128 and 256 cycles of the port.
  EXPECT_EQ(Cycles({64, 64, 64, ""}), 128 + 512 + kDrain) << "384 hide behind the rows";
}

TEST_F(PtUnitTest, OldSumsPassTheLxPortToo) {
  bench_.config.core.lx_port_bytes_per_cycle = 64;
  EXPECT_EQ(Cycles({64, 64, 64, "", 1, true}), 128 + 128 + 2 * 256 + kDrain)
      << "more than the rows take: the port decides";
}

TEST_F(PtUnitTest, ANarrowLxPortHoldsRowsAndWeightsBack) {
  bench_.config.core.lx_port_bytes_per_cycle = 128;
  // Per step 4 rows of 128 bytes and a quarter of their sums, then the next block of 8 KiB: 6 + 64
  // cycles, against 32 of rows.
  EXPECT_EQ(Cycles({4, 64, 64 * 4, ""}), 64 + 3 * (6 + 64) + 32 + kDrain);
}

TEST_F(PtUnitTest, Fp8HasTwiceTheRateOfFp16) {
  // 128 columns a block: the same cycles for twice the work.
  EXPECT_EQ(Cycles({64, 128, 64, ".sen143_fp8"}), kLoad + 512 + kDrain);
}

TEST_F(PtUnitTest, TheOtherFp8IsAsFast) {
  EXPECT_EQ(Cycles({64, 128, 64, ".sen152_fp8"}), kLoad + 512 + kDrain);
}

TEST_F(PtUnitTest, Fp8OfTwoRowsInAStickIsAsFastForTwiceTheDepth) {
  EXPECT_EQ(Cycles({64, 64, 128, ".sen143_fp8wt"}), kLoad + 512 + kDrain);
}

TEST_F(PtUnitTest, Int8HasFourTimesTheRate) {
  EXPECT_EQ(Cycles({64, 128, 64, ".senint8"}), kLoad + 256 + kDrain);
}

TEST_F(PtUnitTest, Int4HasEightTimesTheRate) {
  EXPECT_EQ(Cycles({64, 256, 64, ".senint4"}), kLoad + 256 + kDrain);
}

TEST_F(PtUnitTest, RatesAreParameters) {
  bench_.config.core.pt_rate_int4 = 2;
  EXPECT_EQ(Cycles({64, 256, 64, ".senint4"}), kLoad + 1024 + kDrain);
}

TEST_F(PtUnitTest, ManyShortStepsDoNotDriftFromTheClock) {
  bench_.config.clock.core_mhz = 1100;
  // 2200 NOPs and a loop of 1100 trips of li and end: 2200 + 1 + 1 + 2200 cycles, 2 of them more
  // to make a whole number of microseconds: 4 x 1100.
  std::string text = ".program p\n.cores 0x1\n.section pt 0x1\n  li r1, 1099\n  loop r2, r1\n";
  text += "  li r3, 1\n  end\n";
  for (int i = 0; i < 2200; ++i) text += "  nop\n";
  EXPECT_EQ(bench_.Run(text), Status::OK);
  EXPECT_EQ(bench_.elapsed_ps, 4'000'000u) << "picoseconds; 910 ps a cycle would be 4,004,000";
}

// A corelet that has one bank of weights loads a block when the rows of the one before are through.
TEST_F(PtUnitTest, AFlagLoadsEachBlockWhenTheArrayIsFree) {
  uint64_t before = 0;
  for (const char* flag : {".one_corelet", ".rows", ".columns"}) {
    const uint64_t after = Cycles({64, 64, 64 * 4, std::string(".sen169_fp16") + flag});
    EXPECT_EQ(after - before, 4 * (kLoad + 512) + kDrain) << flag;
    before = after;
  }
}

TEST_F(PtUnitTest, OneCoreletDoesEverything) {
  bench_.config.core.corelets = 2;
  EXPECT_EQ(Cycles({64, 128, 64, ".sen169_fp16.one_corelet"}), 2 * (kLoad + 512) + kDrain);
}

TEST_F(PtUnitTest, CoreletsThatShareRowsMeetEveryBlockWithHalfTheRows) {
  bench_.config.core.corelets = 2;
  EXPECT_EQ(Cycles({64, 128, 64, ".sen169_fp16.rows"}), 2 * (kLoad + 256) + kDrain);
}

TEST_F(PtUnitTest, CoreletsThatShareColumnsWaitForEachOthersBlocks) {
  bench_.config.core.corelets = 2;
  bench_.config.core.pt_block_load_split_cycles = 98;
  EXPECT_EQ(Cycles({64, 256, 64, ".sen169_fp16.columns"}), 2 * (98 + 512) + kDrain);
}

TEST_F(PtUnitTest, TwoFlagsAtOnceAreAnIllegalInstruction) {
  Program program = Assemble(Text({64, 64, 64, ""}));
  program.sections[0].code.back().fn = kMatmulRows | kMatmulColumns;
  EXPECT_EQ(bench_.Run(program), Status::ILLEGAL_INSTRUCTION);
}

TEST_F(PtUnitTest, AFormatThatDoesNotExistIsAnIllegalInstruction) {
  Program program = Assemble(Text({64, 64, 64, ""}));
  program.sections[0].code.back().fn = 6;
  EXPECT_EQ(bench_.Run(program), Status::ILLEGAL_INSTRUCTION);
}

TEST_F(PtUnitTest, AProgramThatFaultsLeavesTheArrayFreeForTheNext) {
  Program faulty = Assemble(Text({4096, 64, 64, "", 2}));
  faulty.sections[0].code.back().fn = 6;
  EXPECT_EQ(bench_.Run(faulty), Status::ILLEGAL_INSTRUCTION);
  EXPECT_EQ(bench_.Run(Text({64, 64, 64, ""})), Status::OK);
  EXPECT_EQ(bench_.elapsed_ps, 1000 * (10 + kLoad + 512 + kDrain))
      << "ten scalar instructions and a MATMUL of its own";
}

TEST_F(PtUnitTest, ColumnsAreWholeSticksOfTheFormat) {
  EXPECT_EQ(bench_.Run(Text({4, 64, 64, ".senint8"})), Status::ILLEGAL_INSTRUCTION);
  EXPECT_EQ(bench_.Run(Text({4, 128, 64, ".senint4"})), Status::ILLEGAL_INSTRUCTION);
  EXPECT_EQ(bench_.Run(Text({4, 128, 64, ".sen143_fp8"})), Status::OK);
  EXPECT_EQ(bench_.Run(Text({4, 64, 64, ".sen143_fp8wt"})), Status::OK);
}

}  // namespace
}  // namespace spyre::model::pt_unit_test
