// SPDX-License-Identifier: Apache-2.0
// The verifier: each thing that a graph must not be, put into a graph that is right.
#include "runtime/compiler/front_end/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "runtime/compiler/front_end/pipeline.h"

namespace spyre::compiler {
namespace {

using Json = nlohmann::ordered_json;

// Chain of three: y and w live at the same time as what follows, in LX.
FrontEndResult Graph3(const std::string& last) {
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(Json::parse(R"({
    "dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
            {"op": "mul", "inputs": ["y", "b"], "output": "w"},
            {"op": "sub", "inputs": ["y", "w"], "output": "z"}],
    "hints": [{"ops": ["y", "w"], "slices": {"A": 2}}]})"));
  RunPasses({"hints"}, {}, graph);
  RunPasses({last}, {}, graph);
  return graph;
}

// The same without loops, so that y and w stay in LX.
FrontEndResult Flat(const std::string& last) {
  FrontEndOptions options;
  FrontEndResult graph;
  graph.primitives = Graph3("tile").primitives;
  graph.primitives.hints.clear();
  RunPasses({"decompose"}, options, graph);
  RunPasses({last}, options, graph);
  return graph;
}

using Change = std::function<void(FrontEndResult&)>;

std::string KindOf(FrontEndResult graph, const Change& change) {
  EXPECT_THAT(FindingsOf(graph, {}), testing::IsEmpty());
  change(graph);
  const std::vector<Finding> findings = FindingsOf(graph, {});
  if (findings.empty()) return "none";
  EXPECT_NE(findings.front().message, "");
  EXPECT_THROW(Verify(graph, {}), CompileError);
  return findings.front().kind;
}

TEST(Verifier, TheListDefinesWhatItReadsOnceAndInShape) {
  const FrontEndResult list = Graph3("tile");
  FrontEndResult plain;
  plain.primitives = list.primitives;
  EXPECT_EQ(KindOf(plain, [](auto& g) { std::swap(g.primitives.ops[0], g.primitives.ops[1]); }),
            "undefined_buffer");
  EXPECT_EQ(KindOf(plain, [](auto& g) { g.primitives.ops.pop_back(); }), "undefined_buffer")
      << "output z";
  EXPECT_EQ(KindOf(plain, [](auto& g) { g.primitives.tensors[1].name = "a"; }), "duplicate_buffer");
  EXPECT_EQ(KindOf(plain, [](auto& g) { g.primitives.tensors[2].dims.pop_back(); }),
            "shape_mismatch");
  EXPECT_EQ(KindOf(list, [](auto& g) { g.primitives.tensors[2].stick = 7; }), "shape_mismatch");
}

TEST(Verifier, BuffersAreDefinedAndAccessesFitThem) {
  const FrontEndResult graph = Graph3("propagate");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("w")->reads[0].buffer = "x"; }),
            "undefined_buffer");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.outputs = {"x"}; }), "undefined_buffer");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("w")->name = "a"; }), "duplicate_buffer");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("w")->reads[1].loop = {0}; }),
            "shape_mismatch");
  EXPECT_EQ(KindOf(graph,
                   [](auto& g) {
                     g.graph.Find("w")->reads[1].loop = {0, 2};
                   }),
            "shape_mismatch");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("z")->ranges[0] = 256; }), "shape_mismatch");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("w")->ranges[0] = 128; }), "shape_mismatch");
}

TEST(Verifier, OperationsOfALoopFollowEachOtherAndAgree) {
  const FrontEndResult graph = Graph3("propagate");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("w")->loop->count[0] = 4; }), "loop_group");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("w")->loop->tiled_dims.clear(); }),
            "loop_group");
  EXPECT_EQ(KindOf(graph,
                   [](auto& g) {
                     auto copy = *g.graph.Find("y");
                     copy.name = "again";
                     g.graph.ops.push_back(copy);
                   }),
            "loop_group")
      << "group 0, operations outside it, group 0 again";
}

TEST(Verifier, SplitsDivideTheirLoopsAndFitTheCores) {
  const FrontEndResult graph = Graph3("division");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.divisions.erase("w"); }), "split");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.divisions["w"].splits.push_back(1); }), "split");
  EXPECT_EQ(KindOf(graph,
                   [](auto& g) {
                     g.divisions["w"].splits = {3, 1};
                     g.divisions["w"].cores_used = 3;
                   }),
            "split");
  EXPECT_EQ(KindOf(graph,
                   [](auto& g) {
                     g.divisions["w"].splits = {64, 1};
                     g.divisions["w"].cores_used = 64;
                   }),
            "split");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.divisions["w"].cores_used = 16; }), "split");
}

LxBufferPlan& Place(FrontEndResult& graph, const std::string& name) {
  for (LxBufferPlan& buffer : graph.lx.buffers)
    if (buffer.name == name) return buffer;
  throw InternalError("no buffer {}", name);
}

TEST(Verifier, PlacesInLxDoNotOverlapAndFit) {
  FrontEndResult graph = Flat("lx");
  ASSERT_TRUE(Place(graph, "y").lx_address);
  ASSERT_TRUE(Place(graph, "w").lx_address);
  const auto change = [&](const Change& how) { return KindOf(graph, how); };
  EXPECT_EQ(change([](auto& g) { Place(g, "w").lx_address = Place(g, "y").lx_address; }),
            "lx_overlap");
  // 512 x 512 float16 in 32 parts: 16 KiB of each core.
  EXPECT_EQ(change([](auto& g) { Place(g, "w").lx_address = *Place(g, "y").lx_address + 16256; }),
            "lx_overlap");
  EXPECT_EQ(change([](auto& g) { Place(g, "w").lx_address = *Place(g, "y").lx_address + 16384; }),
            "none");
  EXPECT_EQ(change([](auto& g) { Place(g, "w").lx_address = 1'677'721 - 16'000; }), "lx_capacity");
  EXPECT_EQ(change([](auto& g) { Place(g, "w").lx_address = 20'000; }), "lx_capacity")
      << "no multiple of 128";
  EXPECT_EQ(change([](auto& g) { Place(g, "y").end = 2; }), "lifetime") << "z reads it";
  EXPECT_EQ(change([](auto& g) { Place(g, "w").lx_address.reset(); }), "no_place");
  EXPECT_EQ(change([](auto& g) { Place(g, "a").lx_address = 0; }), "no_place");
  EXPECT_EQ(change([](auto& g) { g.lx.buffers.pop_back(); }), "no_place");
}

TEST(Verifier, PlacesInThePoolDoNotOverlap) {
  FrontEndOptions options;
  options.lx_planning = false;
  FrontEndResult graph = Flat("division");
  RunPasses({"lx"}, options, graph);
  const auto change = [&](const Change& how) { return KindOf(graph, how); };
  EXPECT_EQ(change([](auto& g) { Place(g, "w").pool_offset = Place(g, "y").pool_offset; }), "pool");
  EXPECT_EQ(change([](auto& g) { g.lx.pool_bytes -= 128; }), "pool");
}

// exp may write where its operand dies.
TEST(Verifier, ABufferMayTakeThePlaceOfOneThatDiesThere) {
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(Json::parse(R"({
    "dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "neg", "inputs": ["a"], "output": "y"}, {"op": "exp", "inputs": ["y"], "output": "w"},
            {"op": "neg", "inputs": ["w"], "output": "z"}]})"));
  RunPasses({"lx"}, {}, graph);
  EXPECT_EQ(Place(graph, "y").lx_address, Place(graph, "w").lx_address);
  EXPECT_THAT(FindingsOf(graph, {}), testing::IsEmpty());
  Place(graph, "w").lx_address = *Place(graph, "y").lx_address + 128;
  EXPECT_EQ(FindingsOf(graph, {}).front().kind, "lx_overlap");
}

}  // namespace
}  // namespace spyre::compiler
