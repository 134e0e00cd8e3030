// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/tiling_propagation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/compiler/tiling/coarse_tile.h"

namespace spyre::compiler::tiling_propagation_test {
namespace {

using ::testing::ElementsAre;
using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

// An operation whose whole result is [64, 128], read with the same loops.
GraphOp Op(const std::string& name, const Names& reads, const std::optional<LoopStamp>& loop = {}) {
  GraphOp op;
  op.name = name;
  op.ranges = {64, 128};
  for (const std::string& read : reads) op.reads.push_back({read, {0, 1}, {}});
  op.loop = loop;
  if (loop) {
    for (size_t level = 0; level < loop->tiled_dims.size(); ++level) {
      for (const int dim : loop->tiled_dims[level]) {
        if (dim < 0 || dim > 1) continue;
        op.ranges[static_cast<size_t>(dim)] =
            op.ranges[static_cast<size_t>(dim)] / loop->count[level];
      }
    }
  }
  op.layout = MakeBufferLayout(Numbers(op.ranges), DataFormat::kSen169Fp16);
  return op;
}

LoopStamp Rows(int group) { return {{group}, {4}, {{0}}}; }

Graph GraphOf(std::vector<GraphOp> ops, Names outputs) {
  Graph graph;
  graph.ops = std::move(ops);
  graph.outputs = std::move(outputs);
  return graph;
}

Names Order(const Graph& graph) {
  Names names;
  for (const GraphOp& op : graph.ops) names.push_back(op.name);
  return names;
}

Names ReadsOf(const Graph& graph, const std::string& op) {
  Names names;
  for (const GraphRead& read : graph.Find(op)->reads) names.push_back(read.buffer);
  return names;
}

std::string ErrorOf(Graph graph) {
  try {
    PropagateTiles(graph, TileReaders::kOutermostLoop);
  } catch (const CompileError& error) {
    return error.type() + " " + error.message_kind();
  }
  return "";
}

TEST(TilingPropagation, AReaderInAnotherInnerLoopOfTheSameOuterNeedsTheWholeResult) {
  const LoopStamp first{{0, 0}, {2, 4}, {{0}, {1}}}, second{{0, 1}, {2, 4}, {{0}, {1}}};
  const Graph graph = GraphOf({Op("y", {"a"}, first), Op("z", {"y"}, second)}, {});
  Graph as_public = graph;
  EXPECT_EQ(PropagateTiles(as_public, TileReaders::kOutermostLoop).decisions.at("y"),
            TileDecision::kPerTileFixed);
  Graph whole = graph;
  EXPECT_EQ(PropagateTiles(whole, TileReaders::kInnermostLoop).decisions.at("y"),
            TileDecision::kMutation);
  EXPECT_EQ(ReadsOf(whole, "z"), Names{"full_y"});
  EXPECT_EQ(whole.LayoutOf("full_y").size, Extents({64, 128}));
}

TEST(TilingPropagation, WhatStaysInItsLoopIsFixed) {
  Graph graph = GraphOf({Op("y", {"a"}, Rows(0)), Op("z", {"y"}, Rows(0))}, {"z"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(result.decisions.at("y"), TileDecision::kPerTileFixed);
  EXPECT_TRUE(graph.Find("y")->layout.per_tile_fixed);
  EXPECT_EQ(result.decisions.at("z"), TileDecision::kMutation);
  EXPECT_EQ(Order(graph), (Names{"full_z", "y", "z"}));
}

TEST(TilingPropagation, AResultReadOnlyOutsideIsWrittenIntoTheWholeBuffer) {
  Graph graph = GraphOf({Op("y", {"a"}, Rows(0)), Op("out", {"y"})}, {"out"});
  PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(graph.Find("y")->layout.kind, BufferLayout::Kind::kMutation);
  EXPECT_EQ(graph.Find("y")->layout.target, "full_y");
  EXPECT_EQ(ReadsOf(graph, "out"), (Names{"full_y"}));
  EXPECT_THAT(graph.outputs, ElementsAre("out"));
  const GraphOp& whole = *graph.Find("full_y");
  EXPECT_EQ(whole.kind, GraphOp::Kind::kEmpty);
  EXPECT_FALSE(whole.loop.has_value());
  EXPECT_EQ(whole.layout.device.device_size, (Sizes{2, 64, 64})) << "of the whole, not of a tile";
  EXPECT_EQ(Numbers(graph.LayoutOf("y").size), (Sizes{64, 128}));
}

TEST(TilingPropagation, AResultReadOnBothSidesIsCopiedTileByTile) {
  Graph graph =
      GraphOf({Op("y", {"a"}, Rows(0)), Op("z", {"y"}, Rows(0)), Op("out", {"y", "z"})}, {"out"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(result.decisions.at("y"), TileDecision::kCopy);
  EXPECT_EQ(Order(graph), (Names{"full_y", "full_z", "y", "copy_y", "z", "out"}));
  const GraphOp& copy = *graph.Find("copy_y");
  EXPECT_EQ(ReadsOf(graph, "copy_y"), (Names{"y"}));
  EXPECT_EQ(copy.layout.target, "full_y");
  EXPECT_EQ(copy.loop->group_id, graph.Find("y")->loop->group_id);
  EXPECT_EQ(Numbers(copy.ranges), (Sizes{16, 128}));
  EXPECT_EQ(ReadsOf(graph, "z"), (Names{"y"})) << "readers inside keep the tile";
  EXPECT_EQ(ReadsOf(graph, "out"), (Names{"full_y", "full_z"}));
  EXPECT_FALSE(graph.Find("y")->layout.per_tile_fixed) << "not marked";
}

TEST(TilingPropagation, AResultOfTheGraphIsRedirectedEvenWithoutReaders) {
  Graph graph = GraphOf({Op("y", {"a"}, Rows(0)), Op("z", {"y"}, Rows(0))}, {"y", "z", "y"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_THAT(graph.outputs, ElementsAre("full_y", "full_z", "full_y"));
  EXPECT_EQ(result.decisions.at("y"), TileDecision::kCopy);
  EXPECT_EQ(result.actions.back().kind, TileAction::Kind::kRedirectGraphOutput);
  EXPECT_TRUE(result.actions[2].consumers.empty());
}

TEST(TilingPropagation, LoopInvariantsAreFixedEvenAsResultsOfTheGraph) {
  const LoopStamp nothing{{0, 0}, {2, 4}, {{}, {}}};
  Graph graph = GraphOf({Op("y", {"a"}, nothing), Op("out", {"y"})}, {"y", "out"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(result.decisions.at("y"), TileDecision::kPerTileFixed);
  EXPECT_THAT(graph.outputs, ElementsAre("y", "out"));
  EXPECT_TRUE(result.actions.empty());
}

TEST(TilingPropagation, OneLevelThatDividesMakesItNoInvariant) {
  const LoopStamp partly{{0, 0}, {2, 4}, {{}, {1}}};
  Graph graph = GraphOf({Op("y", {"a"}, partly)}, {"y"});
  PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(graph.Find("full_y")->layout.device.host_size, (Sizes{64, 128}));
}

TEST(TilingPropagation, GroupsAreComparedByTheirOutermostNumberAlone) {
  const LoopStamp first{{0, 0}, {2, 2}, {{0}, {0}}};
  const LoopStamp second{{0, 1}, {2, 2}, {{0}, {0}}};
  Graph inside = GraphOf({Op("y", {"a"}, first), Op("z", {"y"}, second)}, {});
  EXPECT_EQ(PropagateTiles(inside, TileReaders::kOutermostLoop).decisions.at("y"),
            TileDecision::kPerTileFixed)
      << "another inner loop of the same group is inside";
  const LoopStamp other{{1, 0}, {2, 2}, {{0}, {0}}};
  Graph outside = GraphOf({Op("y", {"a"}, first), Op("z", {"y"}, other)}, {});
  EXPECT_EQ(PropagateTiles(outside, TileReaders::kOutermostLoop).decisions.at("y"),
            TileDecision::kMutation);
}

TEST(TilingPropagation, WholeBuffersGoBeforeTheGroupInOrderOfTheirOperations) {
  Graph graph = GraphOf({Op("p", {"a"}), Op("b0", {"p"}, Rows(1)), Op("b1", {"p"}, Rows(1)),
                         Op("q", {"b0", "b1"}), Op("c", {"q"}, Rows(0))},
                        {"c"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(Order(graph), (Names{"p", "full_b0", "full_b1", "b0", "b1", "q", "full_c", "c"}));
  EXPECT_EQ(result.actions.front().op, "c") << "group 0 is looked at first, wherever it is";
}

TEST(TilingPropagation, AGroupThatBeginsWithAnotherOperationHasItsBuffersBeforeThat) {
  GraphOp e;
  e.name = "e";
  e.kind = GraphOp::Kind::kExtern;
  e.loop = Rows(0);
  Graph graph = GraphOf({e, Op("y", {"a"}, Rows(0))}, {"y"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(Order(graph), (Names{"e", "full_y", "y"})) << "only computed operations count";
  EXPECT_EQ(result.decisions.at("e"), TileDecision::kNone);
}

TEST(TilingPropagation, OnlyComputedOperationsAreReaders) {
  GraphOp e;
  e.name = "e";
  e.kind = GraphOp::Kind::kExtern;
  e.reads = {{"y", {}, {}}};
  Graph graph = GraphOf({Op("y", {"a"}, Rows(0)), e}, {});
  EXPECT_EQ(PropagateTiles(graph, TileReaders::kOutermostLoop).decisions.at("y"),
            TileDecision::kPerTileFixed);
  EXPECT_EQ(ReadsOf(graph, "e"), (Names{"y"}));
}

TEST(TilingPropagation, ASecondGroupSeesWhatTheFirstChanged) {
  Graph graph =
      GraphOf({Op("y", {"a"}, Rows(0)), Op("z", {"y"}, Rows(1)), Op("w", {"z"}, Rows(1))}, {"w"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(ReadsOf(graph, "z"), (Names{"full_y"}));
  EXPECT_EQ(result.decisions.at("z"), TileDecision::kPerTileFixed);
  EXPECT_EQ(Order(graph), (Names{"full_y", "y", "full_w", "z", "w"}));
}

TEST(TilingPropagation, AnOperationThatReadsABufferTwiceIsOneReader) {
  Graph graph = GraphOf({Op("y", {"a"}, Rows(0)), Op("out", {"y", "y"})}, {"out"});
  const TilePropagation result = PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(result.actions[1].consumers, (Names{"out"}));
  EXPECT_EQ(ReadsOf(graph, "out"), (Names{"full_y", "full_y"}));
}

TEST(TilingPropagation, TheFixedMarkIsForTiledLayoutsOnly) {
  GraphOp plain = Op("y", {"a"}, Rows(0));
  plain.layout.kind = BufferLayout::Kind::kPlain;
  Graph graph = GraphOf({plain}, {});
  EXPECT_EQ(PropagateTiles(graph, TileReaders::kOutermostLoop).decisions.at("y"),
            TileDecision::kNone);
  EXPECT_FALSE(graph.Find("y")->layout.per_tile_fixed);
}

TEST(TilingPropagation, WholeBuffersKeepTheStickDimension) {
  GraphOp op = Op("y", {"a"}, LoopStamp{{0}, {2}, {{0}}});
  op.layout = MakeBufferLayout(Numbers(op.ranges), DataFormat::kSen169Fp16, 0);
  Graph graph = GraphOf({op}, {"y"});
  PropagateTiles(graph, TileReaders::kOutermostLoop);
  EXPECT_EQ(graph.Find("full_y")->layout.device.host_dim.back(), 0);
}

TEST(TilingPropagation, ReductionsTiledAlongWhatTheyReduceAreRefused) {
  GraphOp op = Op("r", {"a"}, LoopStamp{{0, 0}, {2, 2}, {{0}, {2}}});
  op.kind = GraphOp::Kind::kReduction;
  op.reduction_ranges = {256};
  EXPECT_EQ(ErrorOf(GraphOf({op}, {"r"})), "RuntimeError tiled_reduction_dim");
  EXPECT_EQ(ErrorOf(GraphOf({op}, {})), "RuntimeError tiled_reduction_dim") << "before all else";
  op.loop->tiled_dims = {{0}, {1}};
  EXPECT_EQ(ErrorOf(GraphOf({op}, {"r"})), "");
  op.kind = GraphOp::Kind::kPointwise;
  op.loop->tiled_dims = {{0}, {2}};
  EXPECT_EQ(ErrorOf(GraphOf({op}, {"r"})), "") << "pointwise operations ignore it";
}

TEST(TilingPropagation, MatmulsInLoopsAreFine) {
  GraphOp op = Op("m", {"a", "b"}, Rows(0));
  op.kind = GraphOp::Kind::kReduction;
  op.reduction_type = "batchmatmul";
  op.reduction_ranges = {256};
  EXPECT_EQ(ErrorOf(GraphOf({op}, {"m"})), "");
}

TEST(TilingPropagation, SymbolicSizesOfWholeBuffersAreRefusedUnlessTheyCancel) {
  const Extent s0 = Extent::Symbol("s0");
  GraphOp op = Op("y", {"a"}, Rows(0));
  op.loop->count = {s0};
  op.ranges[0] = Extent(64) / s0;
  Graph graph = GraphOf({op}, {"y"});
  EXPECT_EQ(PropagateTiles(graph, TileReaders::kOutermostLoop).actions[0].size, (Sizes{64, 128}));
  op.ranges[0] = 16;
  EXPECT_EQ(ErrorOf(GraphOf({op}, {"y"})), "TypeError symbolic_size");
}

}  // namespace
}  // namespace spyre::compiler::tiling_propagation_test
