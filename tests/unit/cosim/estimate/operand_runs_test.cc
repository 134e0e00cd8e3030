// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/operand_runs.h"

#include <gtest/gtest.h>

namespace spyre::cosim::operand_runs_test {
namespace {

using model::MatmulWork;
using model::MemoryRuns;

constexpr int64_t kStick = 128;

void Expect(const MemoryRuns& runs, uint64_t bytes, uint64_t spacing) {
  EXPECT_EQ(runs.bytes, bytes);
  EXPECT_EQ(runs.spacing, spacing) << "bytes from run to run";
}

TEST(OperandRuns, RowsThatFollowEachOtherAreOneRun) {
  Expect(LoadRuns({128, kStick}, {8, 1024 * kStick}), 128 * kStick, 0);
}

TEST(OperandRuns, PlanesThatFollowEachOtherBelongToTheSameRun) {
  Expect(LoadRuns({128, kStick}, {8, 128 * kStick}), 8 * 128 * kStick, 0);
}

TEST(OperandRuns, RowsThatAreApartAreARunEach) {
  Expect(LoadRuns({128, 4 * kStick}, {8, 4096 * kStick}), kStick, 4 * kStick);
  Expect(StoreRuns({128, 4 * kStick}, {8, 4096 * kStick}), kStick, 4 * kStick);
}

// Planes are nearer than rows: the instruction walks them first. Loads put what follows each other
// there in its places; stores are a stick each, because it does not follow each other in LX.
TEST(OperandRuns, PlanesThatAreNearerThanRowsAreWalkedFirst) {
  Expect(LoadRuns({128, 64 * kStick}, {8, 4 * kStick}), kStick, 4 * kStick);
  Expect(LoadRuns({128, 64 * kStick}, {8, kStick}), 8 * kStick, 0);
  Expect(StoreRuns({128, 64 * kStick}, {8, kStick}), kStick, kStick);
}

// [batch, m, k] as PyTorch's default lays it out: m, sticks of k, batch.
TEST(OperandRuns, AnInnermostBatchCutsEveryOperandIntoSticks) {
  MatmulWork work;
  work.batch = 8;
  work.m = work.k = work.n = 512;
  work.tile_m = work.tile_n = 128;
  MatmulStrides strides;
  strides.a_m = strides.b_k = strides.out_m = 8 * 8 * kStick;
  strides.a_k = strides.b_n = strides.out_n = 8 * kStick;
  SetRuns(work, strides);
  for (const MemoryRuns& runs : {work.a_runs, work.b_runs, work.out_runs})
    Expect(runs, kStick, 8 * kStick);
}

TEST(OperandRuns, OfATransposedOperandTheSticksHoldTheOtherDimension) {
  MatmulWork work;
  work.m = work.k = work.n = 512;
  work.tile_m = work.tile_n = 128;
  MatmulStrides strides;
  strides.a_m = kStick;
  strides.a_k = 512 * kStick;
  strides.b_transposed = true;  // [n, k]: rows are elements of n
  strides.b_n = kStick;
  strides.b_k = 512 * kStick;
  SetRuns(work, strides);
  Expect(work.a_runs, 128 * kStick, 0);
  Expect(work.b_runs, 128 * kStick, 0);
}

// Memory lies between cores 31 and 0.
TEST(OperandRuns, AGroupEndsWhereItsLastCoreIsTheNearerWayRound) {
  EXPECT_EQ(FarthestHops({0x0000000F}), 4u);
  EXPECT_EQ(FarthestHops({0xF0000000}), 4u);
  EXPECT_EQ(FarthestHops({0x0003C000}), 18u) << "cores 14 to 17";
  EXPECT_EQ(FarthestHops({0xFFFFFFFF}), 32u);
  EXPECT_EQ(FarthestHops({0x11111111, 0x22222222}), 30u) << "each fourth core";
}

}  // namespace
}  // namespace spyre::cosim::operand_runs_test
