// SPDX-License-Identifier: Apache-2.0
// The padding of contractions by hand-computed cases: what is inserted, where, and with what in it.
// That programs with it are right is the business of tests/fuzz/op_lists and the integration tests.
#include "runtime/compiler/front_end/bmm_padding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/graph_form/graph_form.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::bmm_padding_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

// y = exp(a), z = y b with K elements summed over; `more` is appended to the list.
NamedGraph List(int64_t k, const Json& more = Json::object()) {
  Json value = {
      {"dims", {{"M", 64}, {"K", k}, {"N", 200}}},
      {"tensors", {{{"name", "a"}, {"dims", {"M", "K"}}}, {{"name", "b"}, {"dims", {"K", "N"}}}}},
      {"ops",
       {{{"op", "exp"}, {"inputs", {"a"}}, {"output", "y"}},
        {{"op", "matmul"}, {"inputs", {"y", "b"}}, {"output", "z"}}}}};
  value.update(more);
  return ReadNamedGraph(value);
}

FrontEndResult Padded(const NamedGraph& list, const FrontEndOptions& options = {}) {
  FrontEndResult graph;
  graph.primitives = list;
  RunPasses({"insert_bmm_padding"}, options, graph);
  return graph;
}

std::vector<std::string> Operations(const FrontEndResult& graph) {
  std::vector<std::string> names;
  for (const GraphOp& op : graph.graph.ops) names.push_back(op.name);
  return names;
}

TEST(BmmPadding, PutsZerosBehindTheRowsOfTheSecondOperandRightBeforeTheMatmul) {
  const FrontEndResult graph = Padded(List(100));
  ASSERT_THAT(Operations(graph),
              ElementsAre("y", "padded_z", "padded_z.zeros", "padded_z.rows", "z"));
  const GraphOp& whole = graph.graph.ops[1];
  EXPECT_EQ(whole.kind, GraphOp::Kind::kEmpty);
  EXPECT_THAT(Numbers(whole.layout.size), ElementsAre(128, 200));
  EXPECT_THAT(whole.layout.device.device_size, ElementsAre(4, 128, 64)) << "by sticks of N";
  const GraphOp& zeros = graph.graph.ops[2];
  EXPECT_EQ(zeros.op, "identity");
  EXPECT_THAT(Numbers(zeros.ranges), ElementsAre(28, 200));
  EXPECT_EQ(zeros.layout.target, "padded_z");
  EXPECT_THAT(zeros.layout.offset, ElementsAre(100, 0));
  EXPECT_EQ(zeros.reads[0].buffer, "0");
  const GraphOp& rows = graph.graph.ops[3];
  EXPECT_THAT(Numbers(rows.ranges), ElementsAre(100, 200));
  EXPECT_THAT(rows.layout.offset, ElementsAre(0, 0));
  EXPECT_EQ(rows.reads[0].buffer, "b");
}

TEST(BmmPadding, LeavesTheFirstOperandAndTheLoopAndMasksTheEnd) {
  const FrontEndResult graph = Padded(List(100));
  const GraphOp& matmul = graph.graph.ops.back();
  EXPECT_EQ(matmul.reads[0].buffer, "y");
  EXPECT_EQ(matmul.reads[1].buffer, "padded_z");
  EXPECT_THAT(Numbers(matmul.reduction_ranges), ElementsAre(100));
  ASSERT_EQ(matmul.constants.size(), 1U);
  EXPECT_EQ(matmul.constants[0].name, kMaskContraction);
  EXPECT_THAT(graph.graph.FindInput("0")->layout.device.device_size, ElementsAre(1, 64));
  ASSERT_EQ(graph.decisions.size(), 1U);
  EXPECT_EQ(graph.decisions[0].chosen, "28 rows of zeros behind the 100 of 'b'");
}

TEST(BmmPadding, DoesNothingForWholeSticks) {
  const FrontEndResult graph = Padded(List(128));
  EXPECT_THAT(Operations(graph), ElementsAre("y", "z"));
  EXPECT_THAT(graph.decisions, IsEmpty());
  EXPECT_EQ(graph.graph.inputs.size(), 2U);
}

TEST(BmmPadding, StandsBeforeTheLoopOfHintsAndOfPlansThatIsAroundTheMatmul) {
  const Json hints = {{"hints", {{{"slices", {{"M", 2}}}}}}};
  EXPECT_THAT(Operations(Padded(List(100, hints))),
              ElementsAre("padded_z", "padded_z.zeros", "padded_z.rows", "y", "z"));
  FrontEndOptions options;
  options.plan = ReadPlan({{"groups", JsonOf(R"([[["y", "z"], 2, ["M"]]])")}}, "plan");
  EXPECT_THAT(Operations(Padded(List(100), options)),
              ElementsAre("padded_z", "padded_z.zeros", "padded_z.rows", "y", "z"));
}

TEST(BmmPadding, StaysBehindTheOperationThatComputesTheOperand) {
  const Json ops = {{"ops",
                     {{{"op", "exp"}, {"inputs", {"b"}}, {"output", "w"}},
                      {{"op", "matmul"}, {"inputs", {"a", "w"}}, {"output", "z"}}}},
                    {"hints", {{{"slices", {{"N", 2}}}}}}};
  EXPECT_THAT(Operations(Padded(List(100, ops))),
              ElementsAre("w", "padded_z", "padded_z.zeros", "padded_z.rows", "z"));
}

TEST(BmmPadding, TakesNoNameThatTheListHas) {
  const Json ops = {{"ops",
                     {{{"op", "exp"}, {"inputs", {"a"}}, {"output", "padded_z"}},
                      {{"op", "matmul"}, {"inputs", {"padded_z", "b"}}, {"output", "z"}}}}};
  EXPECT_THAT(Operations(Padded(List(100, ops))),
              ElementsAre("padded_z", "padded_z_", "padded_z_.zeros", "padded_z_.rows", "z"));
}

TEST(BmmPadding, IsInTheFormOfTheGraphWhichReadsBack) {
  const FrontEndResult graph = Padded(List(100));
  const Json form = ToJson({}, graph);
  EXPECT_THAT(form.dump(), HasSubstr(R"({"writes":"padded_z","offset":[100,0]})"));
  EXPECT_EQ(ToJson({}, GraphFormFromJson(form).graph), form);
}

TEST(BmmPadding, TheVerifierRefusesAnOperationThatWritesBehindItsBuffer) {
  FrontEndResult graph = Padded(List(100));
  graph.graph.ops[2].layout.offset = {101, 0};
  try {
    RunPasses({"division"}, {}, graph);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.message_kind(), "shape_mismatch");
    EXPECT_THAT(error.what(),
                HasSubstr("writes 28 of dimension 0 of 'padded_z' from 101 on, which has 128"));
  }
}

// Whatever the sizes: every row of the buffer is written once, and its rows are whole sticks.
TEST(BmmPaddingOfRandomSizes, WritesEveryRowOnce) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto k = test::Draw<int64_t>(random, 2, 399);
    const FrontEndResult graph = Padded(List(k));
    std::vector<int> writes(static_cast<size_t>((k + 63) / 64 * 64), 0);
    for (const GraphOp& op : graph.graph.ops) {
      if (op.layout.target != "padded_z") continue;
      for (int64_t row = 0; row < op.ranges[0].number(); ++row)
        ++writes.at(static_cast<size_t>(op.layout.offset[0] + row));
      EXPECT_EQ(op.reads[0].buffer == "0", op.layout.offset[0] == k);
    }
    EXPECT_TRUE(AllFit(writes, [&](int times) { return times == (k % 64 == 0 ? 0 : 1); })) << k;
  });
}

}  // namespace
}  // namespace spyre::compiler::bmm_padding_test
