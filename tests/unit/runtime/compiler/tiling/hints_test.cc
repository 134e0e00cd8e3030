// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/tiling/hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/compiler/tiling/loop_groups.h"
#include "runtime/compiler/tiling/tiling_propagation.h"

namespace spyre::compiler::hints_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Dims = std::vector<std::vector<int>>;
using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

GraphInput Input(const std::string& name, const Sizes& size, const Names& dims) {
  return {name, DataFormat::kIeeeFp16, MakeBufferLayout(size, DataFormat::kSen169Fp16), dims};
}

GraphOp Op(const std::string& name, const Sizes& ranges, std::vector<GraphRead> reads) {
  GraphOp op;
  op.name = name;
  op.ranges = Extents(ranges);
  op.reads = std::move(reads);
  op.layout = MakeBufferLayout(ranges, DataFormat::kSen169Fp16);
  return op;
}

// y = a + b; z = y * c over [A, B].
Graph Seed() {
  Graph graph;
  for (const char* name : {"a", "b", "c"})
    graph.inputs.push_back(Input(name, {1024, 4096}, {"A", "B"}));
  graph.ops.push_back(Op("y", {1024, 4096}, {{"a", {0, 1}, {}}, {"b", {0, 1}, {}}}));
  graph.ops.push_back(Op("z", {1024, 4096}, {{"y", {0, 1}, {}}, {"c", {0, 1}, {}}}));
  graph.outputs = {"z"};
  return graph;
}

TEST(Hints, TheExampleOfTheSeedBecomesOneGroupOfTwoLevels) {
  Graph graph = Seed();
  AssignDimHints(graph, {{{"y", "z"}, {{"A", 2}}}, {{"y", "z"}, {{"B", 4}}}});
  const std::vector<TileGroup> groups = HintsToGroups(graph, nullptr);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_THAT(groups[0].ops, ElementsAre("y", "z"));
  ASSERT_EQ(groups[0].levels.size(), 2U);

  CoarseTile(graph, groups);
  Names order;
  for (const GraphOp& op : graph.ops) order.push_back(op.name);
  EXPECT_THAT(order, ElementsAre("full_z", "y", "z"));
  EXPECT_EQ(graph.Find("y")->loop->tiled_dims, (Dims{{0}, {1}}));
  EXPECT_TRUE(graph.Find("y")->layout.per_tile_fixed);
  EXPECT_EQ(graph.Find("y")->layout.device.device_size, (Sizes{16, 512, 64}));
  EXPECT_EQ(graph.LayoutOf("z").device.device_size, (Sizes{64, 1024, 64}))
      << "the whole buffer is in the layout of the whole";
  EXPECT_THAT(graph.outputs, ElementsAre("full_z"));

  const std::vector<LoopNode> tree = GroupLoops(LoopMembersOf(graph));
  ASSERT_EQ(tree.size(), 2U);
  const auto& outer = std::get<CountedLoop>(tree[1]);
  EXPECT_EQ(outer.count, Extent(2));
  const auto& inner = std::get<CountedLoop>(outer.body[0]);
  EXPECT_EQ(inner.count, Extent(4));
  EXPECT_EQ(inner.body.size(), 2U);
}

TEST(Hints, TheTiledOperationReadsItsTileAndItsWindowOfTheWholeTensors) {
  Graph graph = Seed();
  AssignDimHints(graph, {{{"y", "z"}, {{"A", 2}, {"B", 4}}}});
  CoarseTile(graph, HintsToGroups(graph, nullptr));
  const OpIr z = ToOpIr(graph, *graph.Find("z"));
  EXPECT_EQ(z.loops[0].range, 512);
  EXPECT_EQ(z.inputs[0].index.coefficient, (Sizes{1024, 1})) << "y: a tile of 1024 columns";
  EXPECT_EQ(z.inputs[1].index.coefficient, (Sizes{4096, 1})) << "c: the whole tensor";
  EXPECT_EQ(z.output.name, "full_z");
  EXPECT_EQ(z.output.index.coefficient, (Sizes{4096, 1}));
}

TEST(Hints, NamesFollowTheLoopsThatWalkTheDimensions) {
  Graph graph;
  graph.inputs = {Input("x", {32, 64}, {"M", "K"}), Input("w", {64, 128}, {"K", "N"}),
                  Input("bias", {128}, {})};
  GraphOp m = Op("m", {32, 128}, {{"x", {0, 2}, {}}, {"w", {2, 1}, {}}});
  m.kind = GraphOp::Kind::kReduction;
  m.reduction_type = "batchmatmul";
  m.reduction_ranges = {64};
  graph.ops = {m, Op("t", {128, 32}, {{"m", {1, 0}, {}}}), Op("s", {32, 128}, {{"bias", {1}, {}}})};
  const DimNames names = NameLoops(graph);
  EXPECT_THAT(names.at("m"), ElementsAre("M", "N", "K"));
  EXPECT_THAT(names.at("t"), ElementsAre("N", "M"));
  EXPECT_THAT(names.at("s"), ElementsAre("", ""));
}

TEST(Hints, ReducedDimensionsAreMarkedAndMakeNoLevel) {
  Graph graph;
  graph.inputs = {Input("x", {32, 64}, {"M", "K"})};
  GraphOp r = Op("r", {32}, {{"x", {0, 1}, {}}});
  r.kind = GraphOp::Kind::kReduction;
  r.reduction_ranges = {64};
  graph.ops = {r};
  AssignDimHints(graph, {{{"r"}, {{"K", 2}}}});
  EXPECT_TRUE(graph.ops[0].dim_hints[0].is_reduction);
  EXPECT_EQ(graph.ops[0].dim_hints[0].dim_index, 1);
  std::vector<std::string> log;
  EXPECT_TRUE(HintsToGroups(graph, &log).empty());
  EXPECT_THAT(log, ElementsAre("WARNING: hint K = 2: r reduces along K, and reductions are not "
                               "divided: the hint is dropped there",
                               "WARNING: hint K = 2: no operation divides K: no loop is made"));
}

TEST(Hints, TheLevelsOfAGroupComeFromAllItsOperations) {
  Graph graph;
  graph.inputs = {Input("x", {64, 128}, {"A", "B"}), Input("w", {128}, {"B"})};
  graph.ops = {Op("v", {128}, {{"w", {0}, {}}}),
               Op("y", {64, 128}, {{"x", {0, 1}, {}}, {"v", {1}, {}}})};
  graph.outputs = {"y"};
  AssignDimHints(graph, {{{"v", "y"}, {{"A", 4}, {"B", 2}}}});
  std::vector<std::string> log;
  const std::vector<TileGroup> groups = HintsToGroups(graph, &log);
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].levels.size(), 2U) << "v comes first and has B alone";
  EXPECT_EQ(groups[0].levels[0].count, Extent(4));
  EXPECT_EQ(groups[0].levels[1].count, Extent(2));
  EXPECT_THAT(log, ElementsAre("WARNING: hint A = 4: v has no dimension A: it does all of its work "
                               "in each of the 4 iterations"));
  CoarseTile(graph, groups);
  EXPECT_EQ(graph.Find("v")->loop->tiled_dims, (Dims{{}, {0}}));
  EXPECT_EQ(graph.Find("y")->loop->tiled_dims, (Dims{{0}, {1}}));
}

TEST(Hints, AnOperationThatLacksADimensionRunsInTheLoopButDoesNotDivide) {
  Graph graph;
  graph.inputs = {Input("x", {64, 128}, {"M", "N"}), Input("w", {128}, {"N"})};
  graph.ops = {Op("v", {128}, {{"w", {0}, {}}}),
               Op("y", {64, 128}, {{"x", {0, 1}, {}}, {"v", {1}, {}}})};
  graph.outputs = {"y"};
  AssignDimHints(graph, {{{"v", "y"}, {{"M", 4}}}});
  const std::vector<TileGroup> groups = HintsToGroups(graph, nullptr);
  CoarseTile(graph, groups);
  EXPECT_EQ(graph.Find("v")->loop->tiled_dims, (Dims{{}}));
  EXPECT_TRUE(graph.Find("v")->layout.per_tile_fixed);
  EXPECT_EQ(Numbers(graph.Find("v")->ranges), (Sizes{128}));
  EXPECT_EQ(Numbers(graph.Find("y")->ranges), (Sizes{16, 128}));
}

TEST(Hints, OtherHintsOrNoneEndAGroup) {
  Graph graph = Seed();
  graph.ops.push_back(Op("u", {1024, 4096}, {{"z", {0, 1}, {}}}));
  graph.ops.push_back(Op("v", {1024, 4096}, {{"u", {0, 1}, {}}}));
  graph.outputs = {"v"};
  AssignDimHints(graph, {{{"y", "z"}, {{"A", 2}}}, {{"z"}, {{"B", 4}}}, {{"v"}, {{"A", 2}}}});
  const std::vector<TileGroup> groups = HintsToGroups(graph, nullptr);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_THAT(groups[0].ops, ElementsAre("y"));
  EXPECT_THAT(groups[1].ops, ElementsAre("z"));
  EXPECT_THAT(groups[2].ops, ElementsAre("v"));
}

TEST(Hints, AnOperationElsewhereInAGroupMakesItNotContiguous) {
  Graph graph = Seed();
  GraphOp e;
  e.name = "e";
  e.kind = GraphOp::Kind::kExtern;
  graph.ops.insert(graph.ops.begin() + 1, e);
  AssignDimHints(graph, {{{"y", "e", "z"}, {{"A", 2}}}});
  const std::vector<TileGroup> groups = HintsToGroups(graph, nullptr);
  EXPECT_THAT(groups.at(0).ops, ElementsAre("y", "z"));
  try {
    CoarseTile(graph, groups);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.message_kind(), "not_contiguous");
  }
}

std::string ErrorOf(const std::vector<HintScope>& scopes) {
  Graph graph = Seed();
  try {
    AssignDimHints(graph, scopes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Hints, WhatTheGraphDoesNotHaveIsRefused) {
  EXPECT_THAT(ErrorOf({{{"y"}, {{"Q", 2}}}}), HasSubstr("no tensor has a dimension 'Q'"));
  EXPECT_THAT(ErrorOf({{{"x"}, {{"A", 2}}}}), HasSubstr("no operation x"));
  EXPECT_THAT(ErrorOf({{{"y"}, {{"A", 0}}}}), HasSubstr("at least 1"));
}

TEST(Hints, NewHintsReplaceOldOnes) {
  Graph graph = Seed();
  AssignDimHints(graph, {{{"y"}, {{"A", 2}}}});
  AssignDimHints(graph, {{{"z"}, {{"A", 2}}}});
  EXPECT_TRUE(graph.Find("y")->dim_hints.empty());
  EXPECT_EQ(graph.Find("z")->dim_hints.size(), 1U);
}

}  // namespace
}  // namespace spyre::compiler::hints_test
