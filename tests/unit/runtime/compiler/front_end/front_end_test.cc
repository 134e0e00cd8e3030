// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/front_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/op_spec/unroll.h"
#include "tests/paths.h"

namespace spyre::compiler::front_end_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// The coarse-tiling RFC's example.
Json Chain() {
  return JsonOf(R"({
    "dims": {"A": 1024, "B": 4096},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]},
                {"name": "c", "dims": ["A", "B"]}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
            {"op": "mul", "inputs": ["y", "c"], "output": "z"}],
    "hints": [{"slices": {"A": 2}}, {"slices": {"B": 4}}]})");
}

Json Attention() {
  return JsonOf(R"({
    "dims": {"H": 4, "S": 256, "T": 256, "D": 64},
    "tensors": [{"name": "q", "dims": ["H", "S", "D"]}, {"name": "k", "dims": ["H", "T", "D"]},
                {"name": "v", "dims": ["H", "T", "D"]}],
    "ops": [{"op": "attention", "inputs": ["q", "k", "v"], "output": "o"}],
    "hints": [{"slices": {"H": 4}}]})");
}

FrontEndResult Compile(const Json& value, const FrontEndOptions& options = {}) {
  return CompileNamedGraph(ReadNamedGraph(value), options);
}

std::vector<const OpSpec*> Ops(const std::vector<SpecNode>& nodes) {
  std::vector<const OpSpec*> ops;
  for (const SpecNode& node : nodes) {
    if (const auto* op = std::get_if<OpSpec>(&node)) ops.push_back(op);
    if (const auto* loop = std::get_if<LoopSpec>(&node)) {
      for (const OpSpec* op : Ops(loop->body)) ops.push_back(op);
    }
  }
  return ops;
}

// Memory of every tensor that is not an argument of the kernel.
std::vector<Memory> Intermediates(const FrontEndResult& result) {
  std::vector<Memory> memories;
  for (const OpSpec* op : Ops(result.source.body)) {
    for (const TensorArg& arg : op->args)
      if (arg.arg_index < 0) memories.push_back(arg.memory);
  }
  return memories;
}

TEST(FrontEnd, TheChainOfTheSeedIsTheSourceThatThePublicFrontEndGives) {
  FrontEndResult result = Compile(Chain());
  const std::string path = std::string(SPYRE_SOURCE_DIR) +
                           "/tests/data/bundles/symbolic_constants/"
                           "loop_chain_seed_1024x4096_k2_m4/loops/op_spec.py.txt";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  ASSERT_TRUE(file) << path;
  EXPECT_EQ(result.source.name, "sdsc_fused_add_mul_0");
  KernelSource expected = ParseOpSpecSource(text.str(), path);
  expected.name = result.source.name;
  EXPECT_EQ(ToSource(result.source), ToSource(expected));
}

TEST(FrontEnd, EveryPassOfTheChainCanBeLookedAt) {
  const FrontEndResult result = Compile(Chain());
  EXPECT_EQ(DumpStage(result, "loops"),
            "loop 2\n"
            "  loop 4\n"
            "    add [512/32, 1024]\n"
            "    mul [512/32, 1024]\n");
  EXPECT_EQ(DumpStage(result, "groups"),
            "group 0: y, z\n"
            "  loop of 2 over dims [0]\n"
            "  loop of 4 over dims [1]\n");
  EXPECT_THAT(DumpStage(result, "graph"),
              AllOf(HasSubstr("y: add(a, b)\n  ranges=[512, 1024]\n"
                              "  layout size=[512, 1024] device_size=[16, 512, 64] per_tile_fixed\n"
                              "  loop_group_id=(0, 0) loop_count=[2, 4] "
                              "loop_tiled_dims=[[0], [1]]\n"),
                    HasSubstr("layout writes full_z")));
  EXPECT_THAT(DumpStage(result, "lx"), HasSubstr("y: 1048576 bytes, operations 0 .. 2, lx 0\n"));
  EXPECT_EQ(DumpStage(result, "division"),
            "y: splits=[32, 1] cores=32\nz: splits=[32, 1] cores=32\n");
  for (const std::string& stage : DumpStages()) EXPECT_NE(DumpStage(result, stage), "") << stage;
  EXPECT_THROW(DumpStage(result, "loop"), Error);
}

// {1024: 32}: the rows of a tile of 1024 columns, on 32 cores.
TEST(FrontEnd, TheSplitsOfTheExampleAreStoredAsTheDocumentHasThem) {
  const FrontEndResult result = Compile(Chain());
  const OpIr y = ToOpIr(result.graph, *result.graph.Find("y"));
  const EncodedSplits stored =
      EncodeSplits(result.divisions.at("y").splits, y.output.index, y.inputs[0].index);
  EXPECT_THAT(stored.output, ElementsAre(::testing::Pair(1024, 32)));
  EXPECT_TRUE(stored.reduction.empty());
}

TEST(FrontEnd, TiledSymbolsAreThereExactlyInsideLoops) {
  Json value = Chain();
  value["ops"].push_back({{"op", "exp"}, {"inputs", {"z"}}, {"output", "e"}});
  value["hints"][0]["ops"] = {"y", "z"};
  value["hints"][1]["ops"] = {"y", "z"};
  const FrontEndResult tiled = Compile(value);
  const std::vector<const OpSpec*> ops = Ops(tiled.source.body);
  EXPECT_THAT(ops[0]->tiled_symbols, ElementsAre(ElementsAre("c0"), ElementsAre("c1")));
  EXPECT_TRUE(ops[2]->tiled_symbols.empty()) << "exp is outside";
  value.erase("hints");
  EXPECT_THAT(ToSource(Compile(value).source), ::testing::Not(HasSubstr("tiled_symbols")))
      << "a kernel without loops is written as before there were any";
}

TEST(FrontEnd, WithoutTilingThereAreNoLoopsAndTilesAreWholeTensors) {
  FrontEndOptions options;
  options.tiling = false;
  const FrontEndResult result = Compile(Chain(), options);
  EXPECT_EQ(DumpStage(result, "loops"), "add [1024/32, 4096]\nmul [1024/32, 4096]\n");
}

TEST(FrontEnd, WithoutLxPlanningIntermediatesAreInThePoolAndArgumentsMoveUpOneSegment) {
  FrontEndOptions options;
  options.lx_planning = false;
  const FrontEndResult result = Compile(Chain(), options);
  EXPECT_THAT(Intermediates(result), ElementsAre(Memory::kPool, Memory::kPool));
  EXPECT_EQ(Ops(result.source.body)[0]->args[0].address, 0x400000000);
}

// t is the same in every iteration of its loop, and a loop of its own walks it in two tiles.
TEST(FrontEnd, WhatALoopDoesNotDivideIsWalkedTileByTileInAnother) {
  const FrontEndResult result = Compile(JsonOf(R"({
    "dims": {"A": 64, "B": 128, "C": 256},
    "tensors": [{"name": "x", "dims": ["A", "B"]}, {"name": "y", "dims": ["C"]}],
    "ops": [{"op": "exp", "inputs": ["x"], "output": "e"},
            {"op": "neg", "inputs": ["y"], "output": "t"},
            {"op": "relu", "inputs": ["t"], "output": "z"}],
    "hints": [{"slices": {"A": 4}, "ops": ["e", "t"]}, {"slices": {"C": 2}, "ops": ["z"]}]})"));
  const OpSpec& relu = *Ops(result.source.body).back();
  ASSERT_EQ(relu.op, "relufwd");
  EXPECT_THAT(LoopStrideBytes(relu, relu.args[0], 1), ElementsAre(128 / 64 * 128));
  EXPECT_THAT(LoopStrideBytes(relu, relu.args[1], 1), ElementsAre(128 / 64 * 128));
}

TEST(FrontEnd, AWholeTensorIsReadBackWhereALaterOperationIsOutsideTheLoop) {
  Json value = Chain();
  value["ops"].push_back({{"op", "exp"}, {"inputs", {"z"}}, {"output", "e"}});
  value["hints"][0]["ops"] = {"y", "z"};
  value["hints"][1]["ops"] = {"y", "z"};
  const FrontEndResult result = Compile(value);
  EXPECT_EQ(DumpStage(result, "loops"),
            "loop 2\n"
            "  loop 4\n"
            "    add [512/32, 1024]\n"
            "    mul [512/32, 1024]\n"
            "exp [1024/32, 4096]\n");
  const OpSpec& exp = *Ops(result.source.body).back();
  EXPECT_EQ(exp.args[0].memory, Memory::kPool) << "loops walk through it: it cannot be in LX";
  EXPECT_THAT(exp.args[0].device_size, ElementsAre(64, 1024, 64));
}

TEST(FrontEnd, ATensorThatIsReadInsideAndOutsideOfItsLoopIsCopied) {
  Json value = Chain();
  value["outputs"] = {"y", "z"};
  const FrontEndResult result = Compile(value);
  EXPECT_EQ(DumpStage(result, "loops"),
            "loop 2\n"
            "  loop 4\n"
            "    add [512/32, 1024]\n"
            "    identity [512/32, 1024]\n"
            "    mul [512/32, 1024]\n");
  ASSERT_EQ(result.arguments.size(), 5u);
  EXPECT_EQ(result.arguments[3].name, "y");
  EXPECT_TRUE(result.arguments[3].is_output);
}

TEST(FrontEnd, SoftmaxStaysInLxBetweenItsInputAndItsOutput) {
  const FrontEndResult result = Compile(JsonOf(R"({
    "tensors": [{"name": "x", "dims": [2048, 1024]}],
    "ops": [{"op": "softmax", "inputs": ["x"], "output": "p", "dim": 1024}],
    "hints": [{"slices": {"2048": 4}}]})"));
  EXPECT_EQ(DumpStage(result, "loops"),
            "loop 4\n"
            "  max [512/32, 1024]\n"
            "  sub [512/32, 1024]\n"
            "  exp [512/32, 1024]\n"
            "  sum [512/32, 1024]\n"
            "  realdiv [512/32, 1024]\n");
  EXPECT_THAT(Intermediates(result), Each(Memory::kLx));
}

TEST(FrontEnd, AttentionStaysInLxBetweenQueriesAndValues) {
  const FrontEndResult result = Compile(Attention());
  EXPECT_THAT(Intermediates(result), Each(Memory::kLx));
  // One head at a time: a tile of one element, which the iteration symbols cannot say.
  const OpSpec& scores = *Ops(result.source.body)[0];
  ASSERT_TRUE(scores.args[0].tile_advance);
  EXPECT_EQ(ToString(*scores.args[0].tile_advance), "64*t0");
  ASSERT_EQ(scores.tiled_symbols.size(), 1u);
  EXPECT_THAT(scores.tiled_symbols[0], ElementsAre("t0"));
}

TEST(FrontEnd, ATensorWithoutTheTiledDimensionStandsStill) {
  Json value = Attention();
  value["tensors"].push_back({{"name", "m"}, {"dims", {"S", "T"}}});
  value["ops"][0]["inputs"].push_back("m");
  const FrontEndResult result = Compile(value);
  const std::vector<const OpSpec*> ops = Ops(result.source.body);
  ASSERT_EQ(ops[2]->op, "add");
  EXPECT_FALSE(ops[2]->args[1].tile_advance);
  ASSERT_EQ(ops[2]->tiled_symbols.size(), 1u);
  EXPECT_TRUE(ops[2]->tiled_symbols[0].empty())
      << "the loop over heads of one is not a symbol of the mask's rows";
}

TEST(FrontEnd, ADimensionThatTwoLoopsCutAdvancesByTheOuterTileInTheOuterLoop) {
  Json value = Chain();
  value["hints"] = JsonOf(R"([{"slices": {"A": 2}}, {"slices": {"A": 4}}])");
  const FrontEndResult result = Compile(value);
  const TensorArg& a = Ops(result.source.body)[0]->args[0];
  ASSERT_TRUE(a.tile_advance);
  EXPECT_EQ(ToString(*a.tile_advance), "32768*t0 + 8192*t1") << "512 rows, 128 rows";
}

TEST(FrontEnd, ConstantsAreArgumentsOfOneElementBehindTheInputs) {
  const FrontEndResult result = Compile(JsonOf(R"({
    "tensors": [{"name": "x", "dims": [64, 128]}],
    "ops": [{"op": "silu", "inputs": ["x"], "output": "y"}]})"));
  ASSERT_EQ(result.arguments.size(), 3u);
  EXPECT_TRUE(result.arguments[1].is_constant);
  EXPECT_EQ(result.arguments[1].value, 1);
  EXPECT_THAT(result.arguments[1].layout.device_size, ElementsAre(1, 64));
  EXPECT_EQ(result.arguments[2].name, "y");
}

TEST(FrontEnd, AReducedOutputHasTheShapeOfItsNamesAndOneElementInEachStick) {
  const FrontEndResult result = Compile(JsonOf(R"({
    "tensors": [{"name": "x", "dims": [64, 128]}],
    "ops": [{"op": "sum", "inputs": ["x"], "output": "y", "dim": 128}]})"));
  EXPECT_THAT(result.arguments[1].layout.host_size, ElementsAre(64));
  EXPECT_THAT(result.arguments[1].layout.device_size, ElementsAre(1, 64, 64));
}

TEST(FrontEnd, MoreArgumentsThanSegmentsNeedTheNewestDialect) {
  Json value = JsonOf(R"({"tensors": [], "ops": []})");
  for (int i = 0; i < 8; ++i)
    value["tensors"].push_back({{"name", "x" + std::to_string(i)}, {"dims", {64, 128}}});
  for (int i = 1; i < 8; ++i) {
    const std::string before = i == 1 ? "x0" : "y" + std::to_string(i - 1);
    value["ops"].push_back({{"op", "add"},
                            {"inputs", {before, "x" + std::to_string(i)}},
                            {"output", "y" + std::to_string(i)}});
  }
  EXPECT_EQ(DialectFor(Compile(value), {}), BundleDialect::kSymbolicArguments);
  EXPECT_EQ(DialectFor(Compile(Chain()), {}), BundleDialect::kSymbolicConstants);
}

// ---------------------------------------------------------------- division

// Columns have more sticks than there are rows, so by itself each operation would cut columns, and
// the reduction its rows.
Json Wide() {
  return JsonOf(R"({
    "dims": {"R": 32, "C": 16384}, "tensors": [{"name": "x", "dims": ["R", "C"]}],
    "ops": [{"op": "softmax", "inputs": ["x"], "output": "p", "dim": "C"}],
    "hints": [{"slices": {"R": 2}}]})");
}

TEST(GraphDivision, OperationsOfOneGroupAreCutAlongWhatAllOfThemWalk) {
  const FrontEndResult result = Compile(Wide());
  for (const auto& [op, division] : result.divisions) {
    EXPECT_EQ(division.splits[0], 16) << op << ": rows of the tile";
    EXPECT_EQ(division.cores_used, 16) << op;
  }
  EXPECT_THAT(Intermediates(result), Each(Memory::kLx));
}

TEST(GraphDivision, ThePublicRuleLooksAtEachOperationAlone) {
  FrontEndOptions options;
  options.division.agree = false;
  const FrontEndResult result = Compile(Wide(), options);
  EXPECT_THAT(result.divisions.at("p.sub").splits, ElementsAre(1, 32));
  EXPECT_THAT(Intermediates(result), ::testing::Contains(Memory::kPool));
}

// ---------------------------------------------------------------- refused

void ExpectRefusal(const Json& value, const std::string& type, const std::string& kind) {
  try {
    Compile(value);
    FAIL() << "accepted";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), type) << error.what();
    EXPECT_EQ(error.message_kind(), kind) << error.what();
  }
}

TEST(FrontEndRefuses, SlicesThatDoNotDivide) {
  Json value = Chain();
  value["hints"][0]["slices"]["A"] = 3;
  ExpectRefusal(value, "RuntimeError", "not_divisible");
}

TEST(FrontEndRefuses, SlicesThatCutSticks) {
  Json value = Chain();
  value["hints"][1]["slices"]["B"] = 128;
  ExpectRefusal(value, "Unsupported", "partial_stick_tile");
}

}  // namespace
}  // namespace spyre::compiler::front_end_test
