// SPDX-License-Identifier: Apache-2.0
#include "cosim/estimate/stream_tiles.h"

#include <gtest/gtest.h>

namespace spyre::cosim::stream_tiles_test {
namespace {

constexpr int64_t kStick = 128;

// A core's part of a tensor of 2048 rows: 64 of them, and 16 sticks of columns.
std::vector<StreamAxis> Rows(int64_t rows = 64) {
  return {{static_cast<uint64_t>(rows), {kStick, kStick}, false},
          {16, {2048 * kStick, 2048 * kStick}, false}};
}

TEST(StreamTiles, TheRowsOfATileFollowEachOtherInMemory) {
  const auto axes = Rows();
  const StreamTile tile = ChooseStreamTile(axes, 1, false, compiler::kPublicThroughTile);
  EXPECT_EQ(tile.sticks(), 32u) << "a 32nd of a core's part";
  EXPECT_EQ(tile.row_tile, 32u);
  EXPECT_EQ(LoadRuns(axes, tile, 0).bytes, 32u * kStick);
}

TEST(StreamTiles, FewRowsAreAPieceForEachColumnOfSticks) {
  const auto axes = Rows(4);
  const StreamTile tile = ChooseStreamTile(axes, 1, false, compiler::kPublicThroughTile);
  EXPECT_EQ(tile.row_tile, 4u);
  EXPECT_EQ(tile.plane_tile, 2u);
  EXPECT_EQ(LoadRuns(axes, tile, 0).bytes, 4u * kStick);
  EXPECT_EQ(StoreRuns(axes, tile, 1).bytes, 4u * kStick);
}

// [heads, rows, columns] as PyTorch's default lays it out: rows, sticks of columns, heads. A tile
// has two of the three, so that loops are as short as these are.
TEST(StreamTiles, ATileHasTheTwoAxesThatAreNearest) {
  const std::vector<StreamAxis> axes = {{8, {kStick, kStick}, false},
                                        {448, {16 * kStick, 16 * kStick}, false},
                                        {2, {8 * kStick, 8 * kStick}, false}};
  EXPECT_EQ(ChooseStreamTile(axes, 1, false, compiler::kPublicThroughTile).sticks(), 16u);
  EXPECT_EQ(ChooseStreamTile(axes, 1, true, compiler::kPublicThroughTile).sticks(), 16u)
      << "of what is in LX already too";
}

// Of a file: the product of the two is 2^80.
TEST(StreamTiles, AxesThatNoTensorHasTogetherHaveTheTileOfLongOnes) {
  const auto tile = [](uint64_t slice) {
    const std::vector<StreamAxis> axes = {{slice, {kStick, 0}, false}, {slice, {0, kStick}, false}};
    return ChooseStreamTile(axes, 1, false, compiler::kPublicThroughTile).sticks();
  };
  EXPECT_EQ(tile(uint64_t{1} << 40), tile(uint64_t{1} << 20));
  EXPECT_GT(tile(uint64_t{1} << 40), 1u);
}

TEST(StreamTiles, AReductionAlongSticksKeepsAsManyRowsAsItCan) {
  const std::vector<StreamAxis> axes = {{256, {kStick, kStick}, false},
                                        {16, {2048 * kStick, 0}, true}};
  const StreamTile tile = ChooseReductionTile(axes, 0, false, /*along_sticks=*/true);
  EXPECT_EQ(tile.row_tile, 128u);
  EXPECT_EQ(tile.plane_tile, 1u);
  const StreamTile whole = ChooseReductionTile(axes, 0, true, true);
  EXPECT_EQ(whole.sticks(), 256u * 16) << "of what is in LX already";
}

TEST(StreamTiles, AReductionOfRowsTakesWholeChunksOfThem) {
  const std::vector<StreamAxis> axes = {{16, {2048 * kStick, kStick}, false},
                                        {256, {kStick, 0}, true}};
  const StreamTile tile = ChooseReductionTile(axes, 0, false, /*along_sticks=*/false);
  EXPECT_EQ(tile.row_tile, 128u);
  EXPECT_EQ(tile.plane_tile, 1u);
}

}  // namespace
}  // namespace spyre::cosim::stream_tiles_test
