// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/public_tiling.h"

#include <gtest/gtest.h>

#include "model/contract/memory_map.h"

namespace spyre::compiler::public_tiling_test {
namespace {

PublicTile TileOf(const PublicDivision& division) {
  return ChoosePublicTile(division, static_cast<int64_t>(kLxUsableBytes));
}

void ExpectTile(const PublicDivision& division, CoreletSplit corelets, int64_t m, int64_t n) {
  const PublicTile tile = TileOf(division);
  EXPECT_EQ(tile.m, m) << "rows";
  EXPECT_EQ(tile.n, n) << "columns";
  EXPECT_EQ(tile.corelets, corelets);
}

TEST(PublicTiling, WideDivisionsGiveACore128Rows) {
  ExpectTile({2048, 2048, 4, 8, 1}, CoreletSplit::kColumns, 128, 256);
  ExpectTile({256, 8192, 2, 4, 1}, CoreletSplit::kColumns, 128, 256);
}

TEST(PublicTiling, TallDivisionsGiveACore128ColumnsAndAsManyRowsAsFit) {
  ExpectTile({2048, 2048, 8, 4, 1}, CoreletSplit::kRows, 256, 128);
  ExpectTile({2048, 2048, 2, 16, 1}, CoreletSplit::kRows, 256, 128);  // 128 columns are not divided
  ExpectTile({1024, 512, 2, 2, 1}, CoreletSplit::kRows, 256, 128);
}

TEST(PublicTiling, OneCoreSplitsColumnsUnlessItHasMoreRows) {
  EXPECT_EQ(TileOf({1024, 1024, 1, 1, 1}).corelets, CoreletSplit::kColumns);
  EXPECT_EQ(TileOf({4096, 1024, 1, 1, 1}).corelets, CoreletSplit::kRows);
}

TEST(PublicTiling, PartialSumsAreComputedByOneCorelet) {
  EXPECT_EQ(TileOf({2048, 2048, 2, 2, 2}).corelets, CoreletSplit::kOne);
}

TEST(PublicTiling, OddSharesAreComputedByOneCorelet) {
  ExpectTile({768, 768, 4, 4, 1}, CoreletSplit::kOne, 192, 192);
}

TEST(PublicTiling, EveryTileIsInsideItsShareAndInTheBudget) {
  const auto budget = static_cast<int64_t>(kLxUsableBytes) * kPublicLxPercent / 100;
  for (const int64_t m : {1, 7, 64, 127, 500, 509, 1009, 4096, 65536}) {
    for (const int64_t n : {1, 64, 100, 320, 640, 4096, 12800, 49155}) {
      for (const int m_parts : {1, 2, 8, 32}) {
        for (const int n_parts : {1, 4, 32}) {
          for (const int k_parts : {1, 2}) {
            const PublicTile tile = TileOf({m, n, m_parts, n_parts, k_parts});
            const int64_t sticks = ((n + 63) / 64 + n_parts - 1) / n_parts;
            SCOPED_TRACE(testing::Message()
                         << m << "x" << n << " in " << m_parts << "x" << n_parts << "x" << k_parts);
            EXPECT_GE(tile.m, 1);
            EXPECT_LE(tile.m, (m + m_parts - 1) / m_parts);
            EXPECT_GE(tile.n, 64);
            EXPECT_LE(tile.n, sticks * 64);
            EXPECT_EQ(tile.n % 64, 0);
            EXPECT_LE(512 * (tile.m + tile.n) + 4 * tile.m * tile.n, budget);
          }
        }
      }
    }
  }
}

TEST(PublicTiling, APrimeNumberOfRowsIsNotDoneRowByRow) {
  EXPECT_GE(TileOf({1009, 4096, 1, 32, 1}).m, 128);
}

}  // namespace
}  // namespace spyre::compiler::public_tiling_test
