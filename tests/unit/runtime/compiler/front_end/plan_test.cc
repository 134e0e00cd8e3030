// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/front_end/plan_facts.h"

namespace spyre::compiler::plan_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// y = a + b, z = y * c, s = sum of z along B; [512, 4096].
NamedGraph Three() {
  return ReadNamedGraph(JsonOf(R"({
    "dims": {"A": 512, "B": 4096},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]},
                {"name": "c", "dims": ["A", "B"]}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
            {"op": "mul", "inputs": ["y", "c"], "output": "z"},
            {"op": "sum", "inputs": ["z"], "dim": "B", "output": "s"}]})"));
}

NamedGraph Softmax() {
  return ReadNamedGraph(JsonOf(R"({
    "dims": {"A": 512, "B": 128},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "softmax", "inputs": ["a"], "dim": "B", "output": "p"},
            {"op": "exp", "inputs": ["p"], "output": "q"}]})"));
}

FrontEndResult Compile(const NamedGraph& graph, const char* plan) {
  FrontEndOptions options;
  options.plan = ReadPlan(JsonOf(plan), "plan");
  return CompileNamedGraph(graph, options);
}

std::string LoopsOf(const char* plan) { return FactsOf(Compile(Three(), plan)).loops; }

// "kind: message" of the refusal.
std::string RefusalOf(const NamedGraph& graph, const char* plan) {
  try {
    Compile(graph, plan);
  } catch (const CompileError& error) {
    return error.type() + " " + error.message_kind() + ": " + error.what();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}
std::string RefusalOf(const char* plan) { return RefusalOf(Three(), plan); }

// ---------------------------------------------------------------- groups

TEST(PlanGroups, AreLoopsAroundTheirOperations) {
  EXPECT_EQ(LoopsOf("{}"), "y z s");
  EXPECT_EQ(LoopsOf(R"({"groups": [[["y", "z"], 4, ["A"]]]})"), "4x[y z] s");
  EXPECT_EQ(LoopsOf(R"({"groups": [[["y", "z"], 4]]})"), "4x[y z] s") << "the first dimension";
  EXPECT_EQ(LoopsOf(R"({"groups": [[["y"], 4], [["z", "s"], 2, ["A"]]]})"), "4x[y] 2x[z s]");
}

TEST(PlanGroups, LevelsNestOutermostFirst) {
  EXPECT_EQ(LoopsOf(R"({"groups": [[["y", "z"], [[2, ["A"]], [4, ["B"]]]]]})"), "2x[4x[y z]] s");
}

TEST(PlanGroups, SeveralDimensionsWithOneCountAreALoopEachSoThatEveryTileIsComputed) {
  const FrontEndResult result = Compile(Three(), R"({"groups": [[["y", "z"], 2, [0, 1]]]})");
  EXPECT_EQ(FactsOf(result).loops, "2x[2x[y z]] s");
  EXPECT_EQ(Numbers(result.graph.Find("y")->ranges), (std::vector<int64_t>{256, 2048}));
}

TEST(PlanGroups, SeveralInnerLoopsRunInsideOneOuter) {
  const FrontEndResult result =
      Compile(Three(), R"({"groups": [[[[["y"], 4, ["B"]], [["z"], 2, ["B"]], "s"], 8, ["A"]]]})");
  EXPECT_EQ(FactsOf(result).loops, "8x[4x[y] 2x[z] s]");
  EXPECT_THAT(result.graph.Find("y")->loop->group_id, ElementsAre(0, 0));
  EXPECT_THAT(result.graph.Find("z")->loop->group_id, ElementsAre(0, 1));
  EXPECT_THAT(result.graph.Find("s")->loop->group_id, ElementsAre(0));
  // What another inner loop reads is whole: the loop that wrote it has ended.
  EXPECT_EQ(result.graph.Find("y")->layout.target, "full_y");
  EXPECT_TRUE(result.graph.Find("z")->Reads("full_y"));
}

TEST(PlanGroups, ALoopOfOneTileIsNone) {
  EXPECT_EQ(LoopsOf(R"({"groups": [[[[["y"], 2], [["z"], 2, ["B"]]], 1], [["s"], 2]]})"),
            "2x[y] 2x[z] 2x[s]")
      << "each of the three is a loop of its own";
  const FrontEndResult inner = Compile(
      Three(), R"({"groups": [[[[[[["y"], 4, ["B"]]], 1], [["z"], 4, ["B"]]], 2, ["A"]]]})");
  EXPECT_EQ(FactsOf(inner).loops, "2x[4x[y] 4x[z]] s");
}

TEST(PlanGroups, ACompositeIsAllThatItBecame) {
  const FrontEndResult result = Compile(Softmax(), R"({"groups": [[["p", "q"], 2, ["A"]]]})");
  EXPECT_EQ(FactsOf(result).loops, "2x[p.max p.sub p.exp p.sum p q]");
  const FrontEndResult part = Compile(Softmax(), R"({"groups": [[["p.sub", "p.exp"], 2, ["A"]]]})");
  EXPECT_EQ(FactsOf(part).loops, "p.max 2x[p.sub p.exp] p.sum p q");
}

TEST(PlanGroups, GoBeforeHints) {
  NamedGraph graph = Three();
  graph.hints.push_back({{0, 1}, {{0, 2}}});
  const FrontEndResult result = Compile(graph, R"({"groups": [[["z"], 4, ["B"]]]})");
  EXPECT_EQ(FactsOf(result).loops, "y 4x[z] s");
  EXPECT_THAT(result.log, testing::Contains(HasSubstr("replace all hints")));
  EXPECT_EQ(FactsOf(Compile(graph, R"({"groups": []})")).loops, "y z s");
}

TEST(PlanGroups, AreRefusedWithTheReasonAndTheNearestValidChoice) {
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y", "z"], 3, ["A"]]]})"),
              HasSubstr("InvalidPlan not_divisible: plan.groups[0]: 3 tiles of A: its 512 elements "
                        "are not a multiple of 3; nearest valid count: 2 or 4"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y"], 128, ["B"]]]})"),
              HasSubstr("32 elements are not a whole number of sticks of 64 (in y); nearest valid "
                        "count: 64"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y", "s"], 2]]})"),
              HasSubstr("InvalidPlan not_contiguous: plan.groups[0]: the operations of a group "
                        "follow each other in the list, and z stands between them"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y"], 2], [["y", "z"], 2]]})"),
              HasSubstr("y is in two groups"));
  EXPECT_THAT(
      RefusalOf(R"({"groups": [[["y", "zz"], 2]]})"),
      HasSubstr("'zz' is not an operation of the list (they are y, z, s); did you mean 'z'?"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["s"], 2, ["B"]]]})"),
              HasSubstr("nothing_to_divide: plan.groups[0]: s reduces along B"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y"], 2, ["C"]]]})"),
              HasSubstr("no operation of the group has a dimension 'C' (they have A, B)"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y"], 2, [2]]]})"),
              HasSubstr("dimension 2 of y, whose result has 2 (0 .. 1); 1 is the last"));
  // s would sum what the later iterations of the outer loop compute.
  EXPECT_THAT(RefusalOf(R"({"groups": [[[[["y"], 2, ["A"]], "z", "s"], 2, ["B"]]]})"),
              HasSubstr("tiled_reduction_dim"));
}

// ---------------------------------------------------------------- splits

TEST(PlanSplits, GoBeforeEveryRule) {
  const FrontEndResult result = Compile(
      Three(),
      R"({"splits": {"y": {"A": 4, "B": 8}, "s": {"B": 16}}, "groups": [[["y", "z"], 2]]})");
  EXPECT_THAT(result.divisions.at("y").splits, ElementsAre(4, 8));
  EXPECT_EQ(result.divisions.at("y").cores_used, 32);
  EXPECT_THAT(result.divisions.at("z").splits, ElementsAre(32, 1));
  EXPECT_THAT(result.divisions.at("s").splits, ElementsAre(1, 1, 16));
}

TEST(PlanSplits, AreRefusedWithTheReasonAndTheNearestValidChoice) {
  EXPECT_THAT(RefusalOf(R"({"splits": {"y": {"A": 3}}})"),
              HasSubstr("InvalidPlan split_not_divisible: plan.splits.y: A = 3: 512 elements do "
                        "not make 3 equal parts on 32 cores; nearest valid split: 2 or 4"));
  EXPECT_THAT(RefusalOf(R"({"splits": {"y": {"B": 128}}})"),
              HasSubstr("4096 elements in 64 sticks do not make 128 equal parts on 32 cores; "
                        "nearest valid split: 32"));
  EXPECT_THAT(RefusalOf(R"({"splits": {"y": {"A": 16, "B": 4}}})"),
              HasSubstr("too_many_cores: plan.splits.y: A = 16, B = 4 are 64 parts for 32 cores; "
                        "nearest: A = 8 or B = 2"));
  EXPECT_THAT(RefusalOf(R"({"splits": {"y": {"C": 2}}})"),
              HasSubstr("it has no dimension 'C' (it has A, B)"));
  EXPECT_THAT(RefusalOf(R"({"splits": {"yy": {"A": 2}}})"),
              HasSubstr("no such operation (there are y, z, s); did you mean 'y'?"));
}

// ---------------------------------------------------------------- places

TEST(PlanPlaces, PinAndBarResults) {
  const FrontEndResult result = Compile(Three(), R"({"lx": {"y": "device", "z": 4096}})");
  EXPECT_EQ(result.lx.Find("z")->lx_address, 4096);
  EXPECT_FALSE(result.lx.Find("y")->lx_address);
  EXPECT_TRUE(result.lx.Find("y")->pool_offset);
}

TEST(PlanPlaces, APinHoldsWhereLxIsOffForAllOthers) {
  FrontEndOptions options;
  options.lx_planning = false;
  options.plan = ReadPlan(JsonOf(R"({"lx": {"z": "lx"}})"), "plan");
  const FrontEndResult result = CompileNamedGraph(Three(), options);
  EXPECT_TRUE(result.lx.Find("z")->lx_address);
  EXPECT_FALSE(result.lx.Find("y")->lx_address);
}

TEST(PlanPlaces, PinnedResultsComeBeforeOthersThatWouldFillLx) {
  FrontEndOptions options;
  options.lx.capacity = 131'072;  // room for one
  EXPECT_TRUE(CompileNamedGraph(Three(), options).lx.Find("y")->lx_address);
  options.plan = ReadPlan(JsonOf(R"({"lx": {"z": "lx"}})"), "plan");
  const FrontEndResult result = CompileNamedGraph(Three(), options);
  EXPECT_TRUE(result.lx.Find("z")->lx_address);
  EXPECT_FALSE(result.lx.Find("y")->lx_address);
}

TEST(PlanPlaces, AreRefusedWithTheReasonAndTheNearestValidChoice) {
  EXPECT_THAT(RefusalOf(R"({"lx": {"y": 100}})"),
              HasSubstr("InvalidPlan not_in_lx: plan.lx.y: address 100 is not a multiple of 128; "
                        "nearest: 0 or 128"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"y": 1600000}})"), HasSubstr("nearest address: 1546624"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"y": 0, "z": 128}})"),
              HasSubstr("do not fit beside y (131072 bytes at 0)"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"s": "lx"}})"),
              HasSubstr("it is a result that its kernel hands out"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"a": "lx"}})"), HasSubstr("it is an input"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"x": "device"}})"),
              HasSubstr("unknown_buffer: plan.lx.x: no such result (there are y, z, s)"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"z": "lx"}, "splits": {"s": {"B": 8}}})"),
              HasSubstr("z, which writes it, cuts A = 32; s cuts B = 8; give z and s the same "
                        "slices"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"y": "lx"}, "groups": [[["y"], 2]]})"),
              HasSubstr("it is read outside of its loop, so its tiles are gathered in device "
                        "memory (by z); take the readers into the same loop"));
}

TEST(PlanPlaces, WhatIsTooLargeIsToldHowManyTilesFit) {
  FrontEndOptions options;
  options.lx.capacity = 50'000;
  options.plan = ReadPlan(JsonOf(R"({"lx": {"y": "lx"}})"), "plan");
  try {
    CompileNamedGraph(Three(), options);
    FAIL() << "it does not fit";
  } catch (const CompileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("it needs 131072 bytes on each core, and LX planning has "
                                        "50000; cut it into at least 3 tiles"));
  }
}

// x, which exp could have written over it, stays in device memory too, and nothing else is wrong.
TEST(PlanPlaces, APinThatDoesNotFitIsRefusedForThatAloneWhereAnotherWouldTakeItsPlace) {
  const NamedGraph chain = ReadNamedGraph(JsonOf(R"({
    "dims": {"A": 64, "B": 256}, "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "neg", "inputs": ["a"], "output": "y"},
            {"op": "exp", "inputs": ["y"], "output": "x"},
            {"op": "neg", "inputs": ["x"], "output": "z"}]})"));
  FrontEndOptions options;
  options.lx.capacity = 512;  // y has 64 * 256 * 2 / 32 = 1024 bytes on each core
  options.plan = ReadPlan(JsonOf(R"({"lx": {"y": "lx"}})"), "plan");
  try {
    CompileNamedGraph(chain, options);
    FAIL() << "it does not fit";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.message_kind(), "not_in_lx");
    EXPECT_THAT(error.what(), HasSubstr("plan.lx.y: it needs 1024 bytes on each core"));
  }
}

// ---------------------------------------------------------------- reading

TEST(ReadPlan, NamesTheKeyThatIsWrong) {
  EXPECT_THAT(RefusalOf(R"({"split": {}})"), HasSubstr("'plan.split'; did you mean 'splits'?"));
  EXPECT_THAT(RefusalOf(R"({"splits": {"y": {"A": 0}}})"), HasSubstr("plan.splits.y.A = 0"));
  EXPECT_THAT(RefusalOf(R"({"groups": [["y", 2]]})"), HasSubstr("plan.groups[0][0]"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y"]]]})"),
              HasSubstr("plan.groups[0] = [[\"y\"]] must be a group: [operations, count]"));
  EXPECT_THAT(RefusalOf(R"({"groups": [[["y"], [[2, ["A"]]], ["A"]]]})"),
              HasSubstr("have their dims already"));
  EXPECT_THAT(RefusalOf(R"({"lx": {"y": "pool"}})"),
              HasSubstr("plan.lx.y = \"pool\" must be \"lx\", \"device\" or an address"));
}

TEST(PlanForPart, HasTheEntriesOfItsOperations) {
  const Plan plan =
      ReadPlan(JsonOf(R"({"splits": {"p.max": {"A": 2}, "q": {"A": 2}, "copy_p": {"A": 4}},
                      "groups": [[["p"], 2], [["q"], 2]], "lx": {"q": "lx"}, "cuts": ["p"]})"),
               "plan");
  const Plan part = PlanForPart(plan, {"p"});
  EXPECT_EQ(part.splits.size(), 2u);
  EXPECT_EQ(part.groups->size(), 1u);
  EXPECT_TRUE(part.places.empty());
  EXPECT_TRUE(part.cuts.empty());
}

// ---------------------------------------------------------------- facts

TEST(PlanFacts, TrafficIsWhatOperationsMoveOfDeviceMemory) {
  constexpr int64_t kMiB = 1 << 20;
  constexpr int64_t kTensor = 4 * kMiB;          // 512 x 4096 of 2 bytes
  constexpr int64_t kSums = int64_t{512} * 128;  // a stick each
  const PlanFacts all = FactsOf(Compile(Three(), "{}"));
  EXPECT_EQ(all.traffic.bytes_read, 3 * kTensor) << "a, b, c; y and z stay in LX";
  EXPECT_EQ(all.traffic.bytes_written, kSums);
  EXPECT_EQ(all.pool_bytes, 0);
  EXPECT_EQ(all.lx_bytes, 2 * kTensor / 32);
  const PlanFacts none = FactsOf(Compile(Three(), R"({"lx": {"y": "device", "z": "device"}})"));
  EXPECT_EQ(none.traffic.bytes_read, 5 * kTensor);
  EXPECT_EQ(none.traffic.bytes_written, 2 * kTensor + kSums);
  EXPECT_EQ(none.pool_bytes, 2 * kTensor);
  EXPECT_EQ(none.lx_bytes, 0);
  const PlanFacts tiled = FactsOf(Compile(Three(), R"({"groups": [[["y", "z"], 4, ["A"]]]})"));
  EXPECT_EQ(tiled.traffic.bytes_read, 4 * kTensor) << "z is gathered for s";
  EXPECT_EQ(tiled.operations[0].splits, "32 x 1");
  EXPECT_EQ(tiled.operations[0].place, "lx 0");
}

}  // namespace
}  // namespace spyre::compiler::plan_test
