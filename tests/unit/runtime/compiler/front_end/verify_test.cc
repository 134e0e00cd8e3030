// SPDX-License-Identifier: Apache-2.0
// The verifier: each thing that a graph must not be, put into a graph that is right.
#include "runtime/compiler/front_end/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "runtime/compiler/front_end/pipeline.h"

namespace spyre::compiler::verify_test {
namespace {

using Json = nlohmann::ordered_json;

// Chain of three: y and w live at the same time as what follows, in LX.
FrontEndResult Graph3(const std::string& last) {
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(JsonOf(R"({
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

TEST(Verifier, TilesStayInTheirLoop) {
  const FrontEndResult graph = Graph3("propagate");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("y")->loop->group_id.clear(); }),
            "loop_group");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.graph.Find("y")->loop->group_id = {7}; }), "loop_group")
      << "w would read the last tile of y in each of its iterations";
  EXPECT_EQ(KindOf(graph,
                   [](auto& g) {
                     for (const char* name : {"y", "w", "copy_y"})
                       if (GraphOp* const op = g.graph.Find(name)) {
                         op->loop->group_id.push_back(0);
                         op->loop->count.push_back(0);
                         op->loop->tiled_dims.emplace_back();
                       }
                   }),
            "loop_group")
      << "a loop that never runs";
}

TEST(Verifier, GroupsThatWereMadeIntoLoopsAreThoseLoops) {
  const FrontEndResult graph = Graph3("propagate");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.groups[0].levels[0].count = 4; }), "loop_group");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.groups[0].ops.push_back("z"); }), "loop_group");
}

TEST(Verifier, TheGraphIsThatOfItsList) {
  const FrontEndResult graph = Graph3("propagate");
  const auto change = [&](const Change& how) { return KindOf(graph, how); };
  EXPECT_EQ(change([](auto& g) { g.graph.Find("w")->op = "add"; }), "list");
  EXPECT_EQ(change([](auto& g) { g.graph.Find("w")->constants = {{"clipMin", 1.0}}; }), "list");
  EXPECT_EQ(
      change([](auto& g) { std::swap(g.graph.Find("w")->reads[0], g.graph.Find("w")->reads[1]); }),
      "list");
  EXPECT_EQ(change([](auto& g) {
              g.graph.Find("w")->reads[1].loop = {1, 0};  // A and B are 512 both
            }),
            "list");
  EXPECT_EQ(change([](auto& g) { g.graph.Find("z")->reads[0].loop = {1, 0}; }), "list");
  EXPECT_EQ(change([](auto& g) { g.graph.Find("z")->reads[1].loop[0] = -1; }), "list");
  EXPECT_EQ(change([](auto& g) { g.graph.Find("w")->reads.pop_back(); }), "list");
  EXPECT_EQ(change([](auto& g) { g.graph.outputs = {"a"}; }), "list");
  EXPECT_EQ(change([](auto& g) { g.loop_names["w"] = {"B", "A"}; }), "list");
  EXPECT_EQ(change([](auto& g) { g.primitives.dims[0].size = 1024; }), "list");
  EXPECT_EQ(change([](auto& g) { g.graph.Find("full_y")->name = "other"; }), "undefined_buffer");
}

TEST(Verifier, ViewsStayInTheirBuffer) {
  FrontEndResult graph = Flat("lower");
  GraphRead& read = graph.graph.Find("w")->reads[1];
  read.offset = {0, 0};
  EXPECT_THAT(FindingsOf(graph, {}), testing::IsEmpty());
  read.offset = {1, 0};
  EXPECT_EQ(FindingsOf(graph, {}).front().kind, "shape_mismatch") << "row 512 of 512";
}

TEST(Verifier, LayoutsGiveEveryElementAPlaceOfItsOwn) {
  const FrontEndResult graph = Flat("lower");
  const auto layout = [](FrontEndResult& g, const char* name) -> StickLayout& {
    return g.graph.Find(name)->layout.device;
  };
  const auto change = [&](const Change& how) { return KindOf(graph, how); };
  EXPECT_EQ(change([&](auto& g) { layout(g, "y").device_size[1] = 256; }), "layout") << "512 rows";
  EXPECT_EQ(change([&](auto& g) { layout(g, "y").device_size[2] = 32; }), "layout") << "a stick";
  EXPECT_EQ(change([&](auto& g) { layout(g, "y").stride_map[0] = 32; }), "layout");
  EXPECT_EQ(change([&](auto& g) { layout(g, "y").format = DataFormat::kIeeeFp32; }), "layout");
  EXPECT_EQ(change([&](auto& g) { layout(g, "y").host_stride[0] = 256; }), "layout");
  EXPECT_EQ(change([&](auto& g) {
              layout(g, "z") = MakeLayout({512, 512}, {512, 1}, DataFormat::kSen169Fp16, {1, 0});
            }),
            "layout")
      << "the caller has sticks along the other dimension";
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
  // w is written while y, which it reads, is there; in the pool no result takes another's place.
  EXPECT_EQ(change([](auto& g) { Place(g, "w").pool_offset = *Place(g, "y").pool_offset + 128; }),
            "pool");
}

TEST(Verifier, EveryCoreReadsWhatItHasWritten) {
  const FrontEndResult graph = Flat("lx");
  EXPECT_EQ(KindOf(graph,
                   [](auto& g) {
                     g.divisions["w"].splits = {4, 8};  // rows on 4 cores, not on 32
                   }),
            "lx_cores");
  EXPECT_EQ(KindOf(graph,
                   [](auto& g) {
                     g.divisions["y"].splits = {16, 1};
                     g.divisions["y"].cores_used = 16;
                   }),
            "lx_cores");
}

TEST(Verifier, PlacesHaveTheBytesOfTheirLayout) {
  const FrontEndResult graph = Flat("lx");
  EXPECT_EQ(KindOf(graph, [](auto& g) { Place(g, "y").device_bytes = 128; }), "no_place");
  EXPECT_EQ(KindOf(graph, [](auto& g) { g.lx.buffers.push_back(g.lx.buffers.front()); }),
            "no_place");
}

// In every iteration: y is there before the loop and read at its beginning, w comes behind it.
TEST(Verifier, WhatALoopReadsLivesAsLongAsTheLoop) {
  FrontEndOptions options;
  options.lx_planning = false;
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(JsonOf(R"({
    "dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "neg", "inputs": ["a"], "output": "y"}, {"op": "abs", "inputs": ["y"], "output": "v"},
            {"op": "tanh", "inputs": ["v"], "output": "w"}, {"op": "neg", "inputs": ["w"], "output": "z"}],
    "hints": [{"ops": ["v", "w", "z"], "slices": {"A": 2}}]})"));
  RunPasses({"hints"}, options, graph);
  RunPasses({"lx"}, options, graph);
  EXPECT_THAT(FindingsOf(graph, options), testing::IsEmpty());
  EXPECT_GE(Place(graph, "y").end, 4);
  Place(graph, "y").end = 2;
  EXPECT_EQ(FindingsOf(graph, options).front().kind, "lifetime");
}

// exp may write where its operand dies.
TEST(Verifier, ABufferMayTakeThePlaceOfOneThatDiesThere) {
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(JsonOf(R"({
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
}  // namespace spyre::compiler::verify_test
