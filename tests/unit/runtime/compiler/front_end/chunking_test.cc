// SPDX-License-Identifier: Apache-2.0
// Chunks of large tensors by hand-computed cases. tests/fuzz/op_lists runs lists with small limits.
#include "runtime/compiler/front_end/chunking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/front_end/verify.h"
#include "runtime/compiler/graph_form/graph_form.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::chunking_test {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::ordered_json;

NamedGraph List(const Json& dims, const std::string& ops, const Json& more = Json::object()) {
  Json names = Json::array();
  for (const auto& [name, unused] : dims.items()) names.push_back(name);
  Json value = {
      {"dims", dims}, {"tensors", {{{"name", "a"}, {"dims", names}}}}, {"ops", JsonOf(ops)}};
  value.update(more);
  return ReadNamedGraph(value);
}

FrontEndResult Chunked(const NamedGraph& list, const FrontEndOptions& options = {}) {
  FrontEndResult graph;
  graph.primitives = list;
  RunPasses({"chunk_large_tensors"}, options, graph);
  return graph;
}

FrontEndOptions Limit(int64_t bytes) {
  FrontEndOptions options;
  options.chunk_bytes = bytes;
  return options;
}

// Name, first and count along `dim` of every operation that is computed.
std::vector<std::string> Chunks(const FrontEndResult& graph, size_t dim) {
  std::vector<std::string> texts;
  for (const GraphOp& op : graph.graph.ops) {
    if (!op.IsComputed()) continue;
    const std::vector<int64_t>& offset = op.layout.offset;
    texts.push_back(op.name + " " + std::to_string(offset.empty() ? 0 : offset[dim]) + " " +
                    op.ranges[dim].ToString());
  }
  return texts;
}

constexpr const char* kExp = R"([{"op": "exp", "inputs": ["a"], "output": "y"}])";

// The case of the public pass: [32, 8192, 17408] is [8192, 272, 32, 64] on the device. 32 cores
// share 8,192 rows; 256 rows of 272 x 32 sticks of 128 bytes are 285,212,672 bytes, 128 are half.
TEST(Chunking, CutsThePublicExampleIntoTwo) {
  const FrontEndResult graph = Chunked(List({{"B", 32}, {"M", 8192}, {"N", 17408}}, kExp));
  EXPECT_THAT(Chunks(graph, 1), ElementsAre("y.chunk0 0 4096", "y.chunk1 4096 4096"));
  EXPECT_EQ(graph.graph.ops[0].name, "y");
  EXPECT_EQ(graph.graph.ops[0].kind, GraphOp::Kind::kEmpty);
  EXPECT_THAT(graph.graph.ops[2].reads[0].offset, ElementsAre(0, 4096, 0));
  ASSERT_EQ(graph.decisions.size(), 1U);
  EXPECT_EQ(graph.decisions[0].chosen, "2 chunks of 4096 elements of M");
  EXPECT_EQ(graph.decisions[0].because, "a core would reach more than 268435456 bytes of 'a'");
}

TEST(Chunking, ExactlyTheLimitIsWithinIt) {
  // 256 rows of 256 x 32 sticks for each core.
  EXPECT_THAT(Chunks(Chunked(List({{"B", 32}, {"M", 8192}, {"N", 16384}}, kExp)), 1),
              ElementsAre("y 0 8192"));
}

// [10, 96, 64] on the device: 32 cores share the rows, so that each reaches over all 10 columns of
// sticks, of 96 x 128 bytes. 5 columns are 61,440 bytes.
TEST(Chunking, ChunksOfADimensionInsideSticksAreWholeSticks) {
  const NamedGraph list = List({{"R", 96}, {"C", 640}}, kExp);
  EXPECT_THAT(Chunks(Chunked(list, Limit(61'440)), 1),
              ElementsAre("y.chunk0 0 320", "y.chunk1 320 320"));
  EXPECT_THAT(Chunks(Chunked(list, Limit(61'439)), 1),
              ElementsAre("y.chunk0 0 256", "y.chunk1 256 256", "y.chunk2 512 128"));
}

TEST(Chunking, ReductionsAreCutAlongTheirResult) {
  const FrontEndResult graph =
      Chunked(List({{"R", 96}, {"C", 640}},
                   R"([{"op": "sum", "inputs": ["a"], "output": "y", "dim": "R"}])"),
              Limit(61'440));
  for (const GraphOp& op : graph.graph.ops) {
    if (!op.IsComputed()) continue;
    EXPECT_THAT(Numbers(op.reduction_ranges), ElementsAre(96)) << op.name;
  }
}

TEST(Chunking, LeavesMatmulsAndWhatHintsOrPlansCut) {
  const Json dims = {{"R", 96}, {"C", 640}};
  const Json hints = {{"hints", {{{"slices", {{"C", 2}}}}}}};
  EXPECT_THAT(Chunks(Chunked(List(dims, kExp, hints), Limit(61'440)), 1), ElementsAre("y 0 640"));
  FrontEndOptions planned = Limit(61'440);
  planned.plan = ReadPlan({{"splits", {{"y", {{"R", 2}}}}}}, "plan");
  EXPECT_THAT(Chunks(Chunked(List(dims, kExp), planned), 1), ElementsAre("y 0 640"));
  EXPECT_THAT(
      Chunks(Chunked(List({{"R", 96}, {"C", 64}},
                          R"([{"op": "restickify", "inputs": ["a"], "output": "y", "dim": "R"}])"),
                     Limit(128)),
             1),
      ElementsAre("y 0 64"));
}

// Chunks are one operation of the list only if they are all there, in order, and before their
// readers.
TEST(Chunking, TheVerifierRefusesChunksThatDoNotMakeTheWhole) {
  const FrontEndOptions options = Limit(61'440);
  const FrontEndResult right =
      Chunked(List({{"R", 96}, {"C", 640}}, R"([{"op": "exp", "inputs": ["a"], "output": "y"},
                                        {"op": "relu", "inputs": ["y"], "output": "z"}])"),
              options);
  EXPECT_NO_THROW(Verify(right, options));
  const auto position = [&](const FrontEndResult& graph, const std::string& name) {
    const std::vector<GraphOp>& ops = graph.graph.ops;
    return FindIf(ops, [&](const GraphOp& op) { return op.name == name; }) - ops.begin();
  };
  FrontEndResult wrong = right;
  std::vector<GraphOp>& ops = wrong.graph.ops;
  const auto last = position(wrong, "y.chunk1");
  std::rotate(ops.begin() + last, ops.begin() + last + 1, ops.end());
  EXPECT_THROW(Verify(wrong, options), CompileError) << "a chunk behind its readers";
  wrong = right;
  ops.erase(ops.begin() + last);
  EXPECT_THROW(Verify(wrong, options), CompileError) << "a chunk is missing";
  wrong = right;
  ops[static_cast<size_t>(last)].layout.offset[0] -= 1;
  EXPECT_THROW(Verify(wrong, options), CompileError) << "two chunks overlap";
  wrong = right;
  ops[static_cast<size_t>(last)].reads[0].offset[0] -= 1;
  EXPECT_THROW(Verify(wrong, options), CompileError) << "a chunk of other elements";
  wrong = right;
  ops[static_cast<size_t>(last)].op = "neg";
  EXPECT_THROW(Verify(wrong, options), CompileError) << "a chunk of another operation";
}

TEST(Chunking, IsInTheFormOfTheGraphWhichReadsBack) {
  const FrontEndOptions options = Limit(61'440);
  const Json form = ToJson(options, Chunked(List({{"R", 96}, {"C", 640}}, kExp), options));
  EXPECT_EQ(form["options"]["chunk_bytes"], 61'440);
  const GraphForm read = GraphFormFromJson(form);
  EXPECT_EQ(ToJson(read.options, read.graph), form);
}

// Whatever the sizes: the chunks follow each other and cover the result once.
TEST(ChunkingOfRandomSizes, CoversTheResultOnce) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto rows = test::Draw<int64_t>(random, 1, 299);
    const auto columns = test::Draw<int64_t>(random, 1, 999);
    const FrontEndResult graph = Chunked(List({{"R", rows}, {"C", columns}}, kExp),
                                         Limit(test::Draw<int64_t>(random, 128, 199'999)));
    std::vector<int> writes(static_cast<size_t>(rows * columns), 0);
    for (const GraphOp& op : graph.graph.ops) {
      if (!op.IsComputed()) continue;
      const bool whole = op.layout.offset.empty();
      for (int64_t r = 0; r < op.ranges[0].number(); ++r)
        for (int64_t c = 0; c < op.ranges[1].number(); ++c)
          ++writes.at(static_cast<size_t>((r + (whole ? 0 : op.layout.offset[0])) * columns + c +
                                          (whole ? 0 : op.layout.offset[1])));
    }
    EXPECT_TRUE(AllFit(writes, [](int times) { return times == 1; }));
  });
}

}  // namespace
}  // namespace spyre::compiler::chunking_test
