// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/tiled_reductions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/front_end/plan_facts.h"
#include "runtime/compiler/graph_form/graph_form.h"

namespace spyre::compiler::tiled_reductions_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// s reduces x[64, 256] along K.
Json Reduction(const std::string& op, const Json& slices) {
  return {{"dims", {{"A", 64}, {"K", 256}}},
          {"tensors", {{{"name", "x"}, {"dims", {"A", "K"}}}}},
          {"ops", {{{"op", op}, {"inputs", {"x"}}, {"dim", "K"}, {"output", "s"}}}},
          {"hints", {{{"slices", slices}}}}};
}

FrontEndResult Compile(const Json& list, bool tiled = true) {
  FrontEndOptions options;
  options.tiled_reductions = tiled;
  return CompileNamedGraph(ReadNamedGraph(list), options);
}

std::string LoopsOf(const Json& list) { return FactsOf(Compile(list)).loops; }

std::string RefusalOf(const Json& list) {
  try {
    Compile(list);
  } catch (const CompileError& error) {
    return error.type() + " " + error.message_kind() + ": " + error.what();
  }
  return "not refused";
}

TEST(TiledReductions, MakeAResultOfTilesThatARePutTogether) {
  for (const char* op : {"sum", "mean", "amax", "amin"})
    EXPECT_EQ(LoopsOf(Reduction(op, {{"K", 4}})), "s.start 4x[s.tile s.combine]") << op;
  EXPECT_EQ(LoopsOf(Reduction("sum", {{"A", 2}, {"K", 4}})), "s.start 2x[4x[s.tile s.combine]]");
  EXPECT_EQ(LoopsOf(Reduction("sum", {{"A", 2}})), "2x[s]") << "no tiles of what it sums";
  EXPECT_EQ(LoopsOf(Reduction("sum", {{"K", 1}})), "s");
}

TEST(TiledReductions, EachTileWalksItsPartAndAMeanDividesByTheWhole) {
  const FrontEndResult result = Compile(Reduction("mean", {{"K", 4}}));
  const GraphOp& tile = *result.graph.Find("s.tile");
  EXPECT_TRUE(tile.partial);
  EXPECT_THAT(tile.reduction_ranges, ElementsAre(Extent(64)));
  EXPECT_EQ(tile.loop->tiled_dims, (std::vector<std::vector<int>>{{2}}))
      << "behind A and the one element of a sparse stick";
  ASSERT_EQ(tile.constants.size(), 1u);
  EXPECT_EQ(tile.constants[0].value, 1.0 / 256);
  const GraphOp& combine = *result.graph.Find("s.combine");
  EXPECT_EQ(combine.op, "add");
  EXPECT_EQ(combine.layout.target, "s");
}

TEST(TiledReductions, AreToldAsWhatTheHintBecame) {
  const FrontEndResult result = Compile(Reduction("sum", {{"K", 4}}));
  ASSERT_GE(result.decisions.size(), 2u);
  EXPECT_EQ(result.decisions[0].subject, "s");
  EXPECT_EQ(result.decisions[0].chosen, "4 tiles, whose results are put together by 'add'");
  EXPECT_EQ(result.decisions[1].chosen, "loop of 4 at level 0 of group 0");
  EXPECT_TRUE(result.decisions[1].refused.empty());
}

TEST(TiledReductions, OfALargestBeginWithThatOfTheFirstTile) {
  const FrontEndResult result = Compile(Reduction("amax", {{"K", 2}}));
  const GraphOp& start = *result.graph.Find("s.start");
  EXPECT_EQ(start.op, "max");
  EXPECT_THAT(start.reduction_ranges, ElementsAre(Extent(128)));
  EXPECT_EQ(result.graph.Find("s.combine")->op, "maximum");
}

TEST(TiledReductions, DivideWhatAMatmulSumsOver) {
  const Json list = JsonOf(R"({
    "dims": {"A": 64, "K": 256, "N": 128},
    "tensors": [{"name": "x", "dims": ["A", "K"]}, {"name": "w", "dims": ["K", "N"]}],
    "ops": [{"op": "matmul", "inputs": ["x", "w"], "output": "z"},
            {"op": "relu", "inputs": ["z"], "output": "r"}],
    "hints": [{"ops": ["z"], "slices": {"K": 4}}]})");
  EXPECT_EQ(LoopsOf(list), "z.start 4x[z.tile z.combine] r");
}

TEST(TiledReductions, AreOffUnlessAskedForAndTheHintIsThenDroppedWithAWarning) {
  for (const std::string& preset : CompilerPresetNames())
    EXPECT_FALSE(OptionsOf(CompilerPresetFromName(preset)).tiled_reductions) << preset;
  const FrontEndResult result = Compile(Reduction("sum", {{"K", 4}}), false);
  EXPECT_EQ(FactsOf(result).loops, "s");
  ASSERT_FALSE(result.log.empty());
  EXPECT_THAT(result.log[0], HasSubstr("reduces along K"));
  EXPECT_TRUE(Compile(Reduction("sum", {{"K", 4}})).log.empty());
}

TEST(TiledReductions, AreRefusedWhereTheLoopWouldUseWhatIsNotWholeYet) {
  Json list = Reduction("sum", {{"K", 4}});
  list["ops"].push_back({{"op", "exp"}, {"inputs", {"s"}}, {"output", "e"}});
  EXPECT_THAT(RefusalOf(list),
              AllOf(HasSubstr("RuntimeError tiled_reduction_dim"),
                    HasSubstr("e reads s in the loop"), HasSubstr("end the hint")));
  list["hints"][0]["ops"] = {"s"};
  EXPECT_EQ(LoopsOf(list), "s.start 4x[s.tile s.combine] e");
}

TEST(TiledReductions, AreRefusedWhereALoopWouldTakeATileTwice) {
  Json list = Reduction("sum", {{"K", 4}});
  list["dims"]["B"] = 8;
  list["tensors"].push_back({{"name", "b"}, {"dims", {"B"}}});
  list["ops"].push_back({{"op", "exp"}, {"inputs", {"b"}}, {"output", "e"}});
  list["hints"][0]["slices"]["B"] = 2;
  EXPECT_THAT(RefusalOf(list), AllOf(HasSubstr("RuntimeError tiled_reduction_dim"),
                                     HasSubstr("s has no dimension B")));
}

TEST(TiledReductions, OfALargestNeedTheirOperandBeforeTheLoop) {
  Json list = Reduction("amax", {{"K", 4}});
  list["ops"].insert(list["ops"].begin(), Json{{"op", "exp"}, {"inputs", {"x"}}, {"output", "y"}});
  list["ops"][1]["inputs"] = {"y"};
  EXPECT_THAT(RefusalOf(list),
              AllOf(HasSubstr("RuntimeError tiled_reduction_dim"), HasSubstr("begin the hint")));
  list["hints"][0]["ops"] = {"s"};
  EXPECT_EQ(LoopsOf(list), "y s.start 4x[s.tile s.combine]");
  list["hints"][0].erase("ops");
  list["ops"][1]["op"] = "sum";
  EXPECT_EQ(LoopsOf(list), "s.start 4x[y s.tile s.combine]") << "a sum begins with 0";
}

TEST(TiledReductions, TilesAreEqualAndWholeSticks) {
  EXPECT_THAT(RefusalOf(Reduction("sum", {{"K", 3}})), HasSubstr("RuntimeError not_divisible"));
  EXPECT_THAT(RefusalOf(Reduction("sum", {{"K", 8}})), HasSubstr("Unsupported partial_stick_tile"));
}

TEST(TiledReductions, TheGraphFormKeepsThem) {
  FrontEndOptions options;
  options.tiled_reductions = true;
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(Reduction("sum", {{"K", 4}}));
  RunPasses({"propagate"}, options, graph);
  const OrderedJson written = ToJson(options, graph);
  const GraphForm read = GraphFormFromJson(written);
  EXPECT_TRUE(read.options.tiled_reductions);
  EXPECT_TRUE(read.graph.graph.Find("s.tile")->partial);
  EXPECT_EQ(ToJson(read.options, read.graph), written);
}

TEST(TiledReductions, EditsThatChangeTheResultAreRefused) {
  FrontEndOptions options;
  options.tiled_reductions = true;
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(Reduction("sum", {{"A", 2}, {"K", 4}}));
  RunPasses({"propagate"}, options, graph);
  const auto refused = [&](const auto& edit) {
    FrontEndResult edited = graph;
    edit(edited.graph);
    try {
      RunPasses({"division"}, options, edited);
    } catch (const CompileError& error) {
      return error.type() == "VerifierError";
    }
    return false;
  };
  EXPECT_FALSE(refused([](Graph&) {}));
  EXPECT_TRUE(refused([](Graph& g) { g.Find("s.combine")->op = "sub"; }));
  EXPECT_TRUE(refused([](Graph& g) { g.Find("s.combine")->reads[0].buffer = "s.tile"; }));
  EXPECT_TRUE(refused([](Graph& g) { g.Find("s.tile")->loop->tiled_dims[1].clear(); }));
  EXPECT_TRUE(refused([](Graph& g) { g.Find("s.start")->op = "exp"; }));
  EXPECT_TRUE(refused([](Graph& g) { g.Find("s.tile")->op = "max"; }));
}

}  // namespace
}  // namespace spyre::compiler::tiled_reductions_test
