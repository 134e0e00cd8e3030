// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/coarse_tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spyre::compiler::coarse_tile_test {
namespace {

using ::testing::ElementsAre;
using Dims = std::vector<std::vector<int>>;
using Sizes = std::vector<int64_t>;

GraphOp Op(const std::string& name, const Sizes& ranges, int stick_dim = -1) {
  GraphOp op;
  op.name = name;
  op.ranges = Extents(ranges);
  op.layout = MakeBufferLayout(ranges, DataFormat::kSen169Fp16, stick_dim);
  return op;
}

GraphOp Extern(const std::string& name) {
  GraphOp op;
  op.name = name;
  op.kind = GraphOp::Kind::kExtern;
  return op;
}

Graph GraphOf(std::vector<GraphOp> ops) {
  Graph graph;
  graph.ops = std::move(ops);
  return graph;
}

TileGroup Flat(std::vector<std::string> ops, Extent count, std::vector<int> dims = {0}) {
  return {std::move(ops), {{std::move(count), std::move(dims)}}};
}

std::string ErrorOf(Graph graph, const std::vector<TileGroup>& groups) {
  try {
    StampTiles(graph, groups);
  } catch (const CompileError& error) {
    return error.type() + " " + error.message_kind();
  } catch (const Error& error) {
    return "BadInput";
  }
  return "";
}

TEST(CoarseTile, TheExampleOfTheSeedIsStampedOnTwoLevels) {
  Graph graph = GraphOf({Op("y", {1024, 4096}), Op("z", {1024, 4096})});
  StampTiles(graph, {{{"y", "z"}, {{2, {0}}, {4, {1}}}}});
  for (const GraphOp& op : graph.ops) {
    EXPECT_THAT(op.loop->group_id, ElementsAre(0, 0));
    EXPECT_THAT(Numbers(op.loop->count), ElementsAre(2, 4));
    EXPECT_EQ(op.loop->tiled_dims, (Dims{{0}, {1}}));
    EXPECT_EQ(Numbers(op.ranges), (Sizes{512, 1024}));
    EXPECT_EQ(Numbers(op.layout.stride), (Sizes{1024, 1}));
    EXPECT_EQ(op.layout.device.device_size, (Sizes{16, 512, 64}));
    EXPECT_FALSE(op.layout.per_tile_fixed);
  }
}

TEST(CoarseTile, GroupsAreNumberedAsListedNotAsPlaced) {
  Graph graph = GraphOf({Op("a", {8, 64}), Op("b", {8, 64}), Op("c", {8, 64})});
  StampTiles(graph, {Flat({"c"}, 2), Flat({"a"}, 4)});
  EXPECT_THAT(graph.ops[0].loop->group_id, ElementsAre(1));
  EXPECT_FALSE(graph.ops[1].loop.has_value());
  EXPECT_THAT(graph.ops[2].loop->group_id, ElementsAre(0));
}

TEST(CoarseTile, LevelsDivideWhatOuterLevelsLeft) {
  Graph graph = GraphOf({Op("a", {24, 96})});
  StampTiles(graph, {{{"a"}, {{4, {0}}, {3, {0, 1}}}}});
  EXPECT_EQ(Numbers(graph.ops[0].ranges), (Sizes{2, 32}));
  EXPECT_EQ(ErrorOf(GraphOf({Op("a", {24, 96})}), {{{"a"}, {{4, {0}}, {4, {0}}}}}),
            "RuntimeError not_divisible")
      << "24 is a multiple of 4, but the 6 that the outer level leaves are not";
}

TEST(CoarseTile, ReductionRangesAreNeverDivided) {
  GraphOp op = Op("r", {32, 64});
  op.kind = GraphOp::Kind::kReduction;
  op.reduction_ranges = {128};
  Graph graph = GraphOf({op});
  StampTiles(graph, {Flat({"r"}, 4, {0, 2})});  // 2 would be the reduced one
  EXPECT_EQ(Numbers(graph.ops[0].ranges), (Sizes{8, 64}));
  EXPECT_EQ(Numbers(graph.ops[0].reduction_ranges), (Sizes{128}));
  EXPECT_EQ(graph.ops[0].loop->tiled_dims, (Dims{{0, 2}})) << "stamped as given";
}

TEST(CoarseTile, DimensionsThatAnOperationLacksAreIgnored) {
  Graph graph = GraphOf({Op("a", {32, 64})});
  StampTiles(graph, {Flat({"a"}, 4, {-1, 2, 99, 1})});
  EXPECT_EQ(Numbers(graph.ops[0].ranges), (Sizes{32, 16}));
  EXPECT_EQ(graph.ops[0].loop->tiled_dims, (Dims{{-1, 2, 99, 1}}));
}

TEST(CoarseTile, ADimensionNamedTwiceIsDividedTwice) {
  Graph graph = GraphOf({Op("a", {32, 64})});
  StampTiles(graph, {Flat({"a"}, 4, {0, 0})});
  EXPECT_EQ(Numbers(graph.ops[0].ranges), (Sizes{2, 64}));
}

TEST(CoarseTile, OperationsThatComputeNothingStayUnstampedInTheirGroup) {
  Graph graph = GraphOf({Op("a", {8, 64}), Extern("e"), Op("b", {8, 64})});
  StampTiles(graph, {Flat({"a", "e", "b"}, 2)});
  EXPECT_TRUE(graph.ops[0].loop.has_value());
  EXPECT_FALSE(graph.ops[1].loop.has_value());
  EXPECT_TRUE(graph.ops[2].loop.has_value());
}

TEST(CoarseTile, AnOperationBetweenBreaksAGroupEvenIfItComputesNothing) {
  const Graph graph = GraphOf({Op("a", {8, 64}), Extern("e"), Op("b", {8, 64})});
  EXPECT_EQ(ErrorOf(graph, {Flat({"a", "b"}, 2)}), "RuntimeError not_contiguous");
  EXPECT_EQ(ErrorOf(graph, {Flat({"b", "e"}, 2)}), "") << "any order, as long as they are adjacent";
  EXPECT_EQ(ErrorOf(graph, {Flat({"a", "a"}, 2)}), "RuntimeError not_contiguous");
}

TEST(CoarseTile, UnknownOperationsAreRefused) {
  EXPECT_EQ(ErrorOf(GraphOf({Op("a", {8, 64})}), {Flat({"x"}, 2)}), "RuntimeError unknown_op");
}

TEST(CoarseTile, CountsThatDoNotDivideAreRefusedAndCountsBelow1AreNoCounts) {
  const Graph graph = GraphOf({Op("a", {30, 16})});
  EXPECT_EQ(ErrorOf(graph, {Flat({"a"}, 4)}), "RuntimeError not_divisible");
  EXPECT_EQ(ErrorOf(graph, {Flat({"a"}, 60)}), "RuntimeError not_divisible");
  EXPECT_EQ(ErrorOf(graph, {Flat({"a"}, 0)}), "BadInput");
  EXPECT_EQ(ErrorOf(graph, {Flat({"a"}, -2)}), "BadInput");
  EXPECT_EQ(ErrorOf(graph, {Flat({"a"}, 4, {5})}), "") << "nothing is divided";
}

TEST(CoarseTile, CountsThatDoNotDivideAreToldTheNearestThatDo) {
  Graph graph = GraphOf({Op("a", {30, 16})});
  try {
    StampTiles(graph, {Flat({"a"}, 4)});
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("trip count 4; nearest: 3 or 5"));
  }
}

TEST(CoarseTile, WhatWasDividedBeforeTheErrorStaysDivided) {
  Graph graph = GraphOf({Op("a", {8, 64}), Op("b", {8, 64}), Op("c", {8, 64})});
  EXPECT_THROW(
      StampTiles(graph, {{{"a", "b"}, {{4, {0}}, {2, {0}}}}, {{"c"}, {{2, {0}}, {3, {0}}}}}),
      CompileError);
  EXPECT_EQ(Numbers(graph.ops[1].ranges), (Sizes{1, 64}));
  EXPECT_EQ(Numbers(graph.ops[2].ranges), (Sizes{4, 64})) << "its outer level was applied";
  EXPECT_FALSE(graph.ops[2].loop.has_value());
}

TEST(CoarseTile, SymbolicCountsAndRangesDivideSymbolically) {
  const Extent s0 = Extent::Symbol("s0");
  Graph graph = GraphOf({Op("a", {30, 16}), Op("b", {30, 16})});
  graph.ops[1].ranges[0] = s0;
  graph.ops[1].layout.size[0] = s0;
  StampTiles(graph, {Flat({"a"}, s0), Flat({"b"}, 7)});
  EXPECT_EQ(graph.ops[0].ranges[0].ToString(), "30/s0");
  EXPECT_EQ(graph.ops[0].loop->count[0], s0);
  EXPECT_EQ(graph.ops[1].ranges[0].ToString(), "s0/7") << "unchecked: s0 may be a multiple of 7";
  EXPECT_EQ(graph.ops[1].layout.size[0].ToString(), "s0/7");
  EXPECT_EQ(graph.ops[1].layout.stride[0].number(), 16);
}

TEST(CoarseTile, LayoutsOfAnotherRankOrOfMutationsStay) {
  GraphOp rank = Op("a", {8, 64});
  rank.layout = MakeBufferLayout({512}, DataFormat::kSen169Fp16);
  GraphOp mutation = Op("b", {8, 64});
  mutation.layout = {};
  mutation.layout.kind = BufferLayout::Kind::kMutation;
  mutation.layout.target = "x";
  Graph graph = GraphOf({rank, mutation});
  StampTiles(graph, {Flat({"a", "b"}, 2)});
  EXPECT_EQ(Numbers(graph.ops[0].layout.size), (Sizes{512}));
  EXPECT_EQ(graph.ops[1].layout.target, "x");
  EXPECT_EQ(Numbers(graph.ops[1].ranges), (Sizes{4, 64}));
}

TEST(CoarseTile, LayoutsWithoutAPlaceOnTheDeviceKeepSizesAndStridesOnly) {
  GraphOp op = Op("a", {8, 64});
  op.layout.kind = BufferLayout::Kind::kPlain;
  op.layout.device = {};
  Graph graph = GraphOf({op});
  StampTiles(graph, {Flat({"a"}, 2, {1})});
  EXPECT_EQ(Numbers(graph.ops[0].layout.size), (Sizes{8, 32}));
  EXPECT_EQ(Numbers(graph.ops[0].layout.stride), (Sizes{32, 1}));
  EXPECT_TRUE(graph.ops[0].layout.device.device_size.empty());
}

TEST(CoarseTile, AScalarHasNothingToDivide) {
  GraphOp op = Op("a", {});
  Graph graph = GraphOf({op});
  StampTiles(graph, {Flat({"a"}, 4)});
  EXPECT_TRUE(graph.ops[0].ranges.empty());
  EXPECT_TRUE(graph.ops[0].loop.has_value());
}

// The stick of [8, 128] is along dimension 0, whose stride is 128.
TEST(CoarseTile, AStickOnAnotherDimensionStaysWhileItsStrideDoes) {
  Graph graph = GraphOf({Op("rows", {64, 128}, 0)});
  ASSERT_EQ(graph.ops[0].layout.device.stride_map.back(), 128);
  StampTiles(graph, {Flat({"rows"}, 2, {0})});
  EXPECT_EQ(graph.ops[0].layout.device.stride_map.back(), 128);
  EXPECT_EQ(graph.ops[0].layout.device.device_size, (Sizes{1, 128, 64}));
}

TEST(CoarseTile, AStickOnAnotherDimensionMovesWhenItsStrideChanges) {
  Graph graph = GraphOf({Op("columns", {64, 128}, 0)});
  StampTiles(graph, {Flat({"columns"}, 2, {1})});
  EXPECT_EQ(graph.ops[0].layout.device.stride_map.back(), 1) << "the last dimension has it now";
  // The old stride, 128, is that of dimension 0 of the tile: the stick moves from dimension 1.
  Graph moved = GraphOf({Op("middle", {4, 128, 128}, 1)});
  ASSERT_EQ(moved.ops[0].layout.device.stride_map.back(), 128);
  StampTiles(moved, {Flat({"middle"}, 128, {1})});
  EXPECT_EQ(moved.ops[0].layout.device.host_dim.back(), 0);
}

TEST(CoarseTile, ALevelThatDividesNothingStillMakesTheLayoutTheDefault) {
  GraphOp op = Op("a", {4, 8, 64});
  op.layout.device = MakeLayout({4, 8, 64}, {512, 64, 1}, DataFormat::kSen169Fp16, {1, 0, 2});
  ASSERT_EQ(op.layout.device.device_size, (Sizes{4, 1, 8, 64}));
  Graph graph = GraphOf({op});
  StampTiles(graph, {Flat({"a"}, 3, {})});
  EXPECT_EQ(graph.ops[0].layout.device.device_size, (Sizes{8, 1, 4, 64}));
}

DimHint Hint(int id, std::optional<int> dim, bool reduction = false) {
  return {id, "A", 2, dim, reduction};
}

TEST(CoarseTile, OperationsWithHintsUseTheirOwnDimensions) {
  GraphOp own = Op("own", {8, 64});
  own.dim_hints = {Hint(5, 1), Hint(6, 0)};
  GraphOp lacks = Op("lacks", {64});
  lacks.dim_hints = {Hint(5, 0), Hint(6, std::nullopt)};
  GraphOp reduces = Op("reduces", {8});
  reduces.dim_hints = {Hint(5, 1, true), Hint(6, 0)};
  const GraphOp none = Op("none", {8, 64});
  Graph graph = GraphOf({own, lacks, reduces, none});
  StampTiles(graph, {{{"own", "lacks", "reduces", "none"}, {{2, {1}, 5}, {4, {0}, 6}}}});
  EXPECT_EQ(graph.ops[0].loop->tiled_dims, (Dims{{1}, {0}}));
  EXPECT_EQ(Numbers(graph.ops[0].ranges), (Sizes{2, 32}));
  EXPECT_EQ(graph.ops[1].loop->tiled_dims, (Dims{{0}, {}}));
  EXPECT_EQ(graph.ops[2].loop->tiled_dims, (Dims{{}, {0}})) << "reduction hints are dropped";
  EXPECT_EQ(graph.ops[3].loop->tiled_dims, (Dims{{1}, {0}})) << "those of the group";
}

// ---------------------------------------------------------------- reads of tiles

Graph Chain(std::vector<int> read_loops, const Sizes& reader_ranges, const Sizes& reduction = {}) {
  GraphOp y = Op("y", {64, 128});
  y.reads = {{"x", {0, 1}, {}}};
  GraphOp z = Op("z", reader_ranges);
  z.reads = {{"y", std::move(read_loops), {}}};
  if (!reduction.empty()) {
    z.kind = GraphOp::Kind::kReduction;
    z.reduction_ranges = Extents(reduction);
  }
  Graph graph = GraphOf({y, z});
  graph.outputs = {"z"};
  return graph;
}

TEST(CoarseTile, ReadersOfATileWalkThatTile) {
  Graph same = Chain({0, 1}, {64, 128});
  CoarseTile(same, {Flat({"y", "z"}, 4, {0})});
  EXPECT_TRUE(same.ops[1].layout.per_tile_fixed);

  Graph transposed = Chain({1, 0}, {128, 64});
  EXPECT_THROW(CoarseTile(transposed, {Flat({"y", "z"}, 4, {0})}), CompileError)
      << "z would walk rows of its own tile, which are columns of y";

  Graph rows = Chain({0, 1}, {64}, {128});
  CoarseTile(rows, {Flat({"y", "z"}, 4, {0})});
  Graph columns = Chain({1, 0}, {128}, {64});
  try {
    CoarseTile(columns, {Flat({"y", "z"}, 4, {0})});
    FAIL() << "z reduces along the rows, which the loop divides";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.message_kind(), "tiled_reduction_dim");
  }
}

}  // namespace
}  // namespace spyre::compiler::coarse_tile_test
