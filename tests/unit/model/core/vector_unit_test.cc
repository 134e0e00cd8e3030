// SPDX-License-Identifier: Apache-2.0
// What a vector instruction costs, in cycles, by class of function.
#include <gtest/gtest.h>

#include "tests/unit/model/core/core_bench.h"

namespace spyre::model::vector_unit_test {
namespace {

// 8 planes x 8 rows of sticks are 4096 elements: 32 passes of 2 x 64 lanes. The LX port is too wide
// to matter: 4096 bytes a cycle.
class VectorUnitTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kStartup = 12;
  static constexpr uint64_t kPass = 32;

  VectorUnitTest() { bench_.config.core.lx_port_bytes_per_cycle = 4096; }

  uint64_t Cycles(const std::string& instruction) {
    EXPECT_EQ(bench_.Run(".program v\n.cores 0x1\n.lx 131072\n" +
                         std::string(generated_loops_ ? ".flags generated_loops\n" : "") +
                         ".section vector 0x1\n"
                         "  li r1, 65536\n  li r2, 1\n  li r3, 8\n  li r4, 1024\n  li r5, 128\n"
                         "  li r6, 512\n" +
                         instruction),
              Status::OK);
    return bench_.BusyCycles("vector");
  }

  CoreBench bench_;
  bool generated_loops_ = false;
};

// A unit is ahead of the kernel when its program ends with a fault; the next one starts at once.
TEST_F(VectorUnitTest, WhatAnEndedProgramWasAheadDoesNotReachTheNextOne) {
  EXPECT_EQ(bench_.Run(".program f\n.cores 0x1\n.section vector 0x1\n"
                       "  nop signal=t1\n  li r1, 400\n  loop r2, r1\n    nop\n  end\n"
                       "  li r3, 1\n  nop wait=t1\n  ldx r2, r3, r0, 4\n"),
            Status::ILLEGAL_INSTRUCTION);
  EXPECT_LT(bench_.elapsed_ps, 400'000U) << "the kernel has not caught up";
  Cycles("vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5");
  const uint64_t behind_the_fault = bench_.elapsed_ps;
  Cycles("vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5");
  EXPECT_EQ(behind_the_fault, bench_.elapsed_ps);
}

TEST_F(VectorUnitTest, ASimpleFunctionTakesOnePass) {
  EXPECT_EQ(Cycles("vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5"), kStartup + kPass);
}

TEST_F(VectorUnitTest, AVectorFunctionTakesFourPasses) {
  EXPECT_EQ(Cycles("vunary.exp r1, r0, -, r3, r3, r4, r4, -, r5, r5"), kStartup + 4 * kPass);
}

TEST_F(VectorUnitTest, DivisionIsAVectorFunction) {
  EXPECT_EQ(Cycles("vbinary.div r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5"), kStartup + 4 * kPass);
}

TEST_F(VectorUnitTest, ReverseDivisionAndNormScaleAreVectorFunctionsToo) {
  EXPECT_EQ(Cycles("vbinary.revdiv r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5"),
            kStartup + 4 * kPass);
  const uint64_t before = bench_.BusyCycles("vector");
  EXPECT_EQ(Cycles("vbinary.normscale r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5") - before,
            kStartup + 4 * kPass);
}

TEST_F(VectorUnitTest, ComparisonsSelectionFloorAndRelu6TakeOnePass) {
  uint64_t before = 0;
  for (const char* instruction : {"vbinary.lessequal r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5",
                                  "vbinary.select.lane0 r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5",
                                  "vunary.floor r1, r0, -, r3, r3, r4, r4, -, r5, r5",
                                  "vunary.relu6 r1, r0, -, r3, r3, r4, r4, -, r5, r5"}) {
    const uint64_t after = Cycles(instruction);
    EXPECT_EQ(after - before, kStartup + kPass) << instruction;
    before = after;
  }
}

// 32 fp32 fill the lanes that 64 SEN169 fill.
TEST_F(VectorUnitTest, AnFp32StickTakesAsLongAsAnyStick) {
  EXPECT_EQ(Cycles("vbinary.add.fp32 r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5"),
            kStartup + kPass);
  const uint64_t before = bench_.BusyCycles("vector");
  EXPECT_EQ(Cycles("vunary.exp.fp32 r1, r0, -, r3, r3, r4, r4, -, r5, r5") - before,
            kStartup + 4 * kPass);
}

TEST_F(VectorUnitTest, AReductionAcrossTheLanesOfAStickHasItsOwnCost) {
  EXPECT_EQ(Cycles("vreduce.sum r1, r0, r0, r3, r3, -, r4, -, r5, r5, -, r6"),
            kStartup + 16 * kPass);
}

// A block is 4096 elements, as 8 x 8 sticks are.
TEST_F(VectorUnitTest, ATransposeTakesItsOwnPassesForEveryBlock) {
  EXPECT_EQ(Cycles("vtranspose r1, r0, r5, r5, r2, r0, r0, r2, r0, r0"), kStartup + 2 * kPass);
  bench_.config.core.vector_transpose_cost = 5;
  const uint64_t before = bench_.BusyCycles("vector");
  EXPECT_EQ(Cycles("vtranspose r1, r0, r5, r5, r3, r0, r0, r2, r0, r0") - before,
            kStartup + 8 * 5 * kPass);
}

TEST_F(VectorUnitTest, AConversionCountsTheElementsOfTheWideSticks) {
  EXPECT_EQ(Cycles("vconvert.dl16tofp32 r1, r0, r5, r3, r3, r4, r4, r0, r5, r5, r0"),
            kStartup + 2 * kPass);
}

TEST_F(VectorUnitTest, AReductionAlongRowsIsSimple) {
  EXPECT_EQ(Cycles("vreducerows.max r1, r0, r0, r3, r3, r4, r4, -, -, r5"), kStartup + kPass);
}

TEST_F(VectorUnitTest, ClassesAreParameters) {
  bench_.config.core.vector_simple_cost = 2;
  bench_.config.core.vector_startup_cycles = 5;
  EXPECT_EQ(Cycles("vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5"), 5 + 2 * kPass);
}

TEST_F(VectorUnitTest, TheReductionClassIsAParameterOfItsOwn) {
  bench_.config.core.vector_reduce_cost = 3;
  EXPECT_EQ(Cycles("vreduce.max r1, r0, r0, r3, r3, -, r4, -, r5, r5, -, r6"),
            kStartup + 3 * kPass);
}

// 64 results, each rounded into a lane of a stick of its own.
TEST_F(VectorUnitTest, RoundingIntoOneLaneCostsForEveryRow) {
  bench_.config.core.vector_reduce_row_cycles = 7;
  EXPECT_EQ(Cycles("vround.lane0 r1, r0, r0, r3, r3, r4, r4, -, r5, r5"),
            kStartup + kPass + 64 * 7);
}

TEST_F(VectorUnitTest, TheLxPortDecidesWhereItIsSlower) {
  bench_.config.core.lx_port_bytes_per_cycle = 128;
  // Two operands and a result of 64 sticks each.
  EXPECT_EQ(Cycles("vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5"), kStartup + 3 * 64);
}

// 64 sticks, in programs whose loops are generated: each kind of loop has a key that moves only it.
TEST_F(VectorUnitTest, GeneratedLoopsHaveCyclesForAStickByKind) {
  CoreConfig& core = bench_.config.core;
  core.vector_loop_unary_centicycles = 400;
  core.vector_loop_function_centicycles = 500;
  core.vector_loop_binary_centicycles = 600;
  core.vector_loop_constant_centicycles = 700;
  core.vector_loop_broadcast_centicycles = 300;
  core.vector_loop_reduce_centicycles = 900;
  core.vector_loop_start_percent = 0;
  generated_loops_ = true;
  uint64_t before = 0;
  const std::vector<std::pair<const char*, uint64_t>> loops = {
      {"vunary.neg r1, r0, -, r3, r3, r4, r4, -, r5, r5", 4},
      {"vunary.gelu r1, r0, -, r3, r3, r4, r4, -, r5, r5", 5},
      {"vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5", 6},
      {"vbinary.add r1, r0, r0, r3, r3, r4, r4, r0, r5, r5, r0", 7},
      {"vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r0", 3},
      {"vbinary.mul.lane0 r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5", 3},
      {"vreduce.max r1, r0, r0, r3, r3, -, r4, -, r5, r5, -, r6", 9},
  };
  for (const auto& [instruction, cycles] : loops) {
    const uint64_t after = Cycles(instruction);
    EXPECT_EQ(after - before, kStartup + 64 * cycles) << instruction;
    before = after;
  }
}

// A quarter of what a loop over a tile of its streams takes, which is 64 sticks here, is its start;
// a loop with a broadcast operand has tiles of 128, so that this one of 64 has more than half.
TEST_F(VectorUnitTest, GeneratedLoopsStartAgainForEveryInstruction) {
  CoreConfig& core = bench_.config.core;
  core.vector_loop_unary_centicycles = 400;
  core.vector_loop_broadcast_centicycles = 300;
  core.vector_loop_start_percent = 25;
  generated_loops_ = true;
  const uint64_t unary = Cycles("vunary.neg r1, r0, -, r3, r3, r4, r4, -, r5, r5");
  EXPECT_EQ(unary, kStartup + 64 * 4);
  EXPECT_EQ(Cycles("vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r0") - unary,
            kStartup + 128 * 3 / 4 + 64 * 3 * 3 / 4);
}

TEST_F(VectorUnitTest, WithoutGeneratedLoopsTheirKeysMoveNothing) {
  bench_.config.core.vector_loop_binary_centicycles = 100'000;
  EXPECT_EQ(Cycles("vbinary.add r1, r0, r0, r3, r3, r4, r4, r4, r5, r5, r5"), kStartup + kPass);
}

}  // namespace
}  // namespace spyre::model::vector_unit_test
