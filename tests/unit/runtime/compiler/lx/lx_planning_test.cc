// SPDX-License-Identifier: Apache-2.0
// LX planning of small graphs: who may stay in LX, lifetimes, in-place reuse, loops, the pool.
#include "runtime/compiler/lx/lx_planning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/compiler/lx/core_view.h"

namespace spyre::compiler::lx_planning_test {
namespace {

using ::testing::HasSubstr;

TensorAccess Tensor(const std::string& name, const std::vector<int64_t>& size,
                    const std::vector<int64_t>& coefficient, bool sparse = false) {
  TensorAccess tensor;
  tensor.name = name;
  std::vector<int> order;
  for (size_t d = 0; d < size.size(); ++d) order.push_back(static_cast<int>(d));
  if (sparse) order.push_back(-1);
  tensor.layout = MakeLayout(size, ContiguousStrides(size), DataFormat::kSen169Fp16, order);
  tensor.index.coefficient = coefficient;
  return tensor;
}

// Graphs over [rows, cols]; every read and write of a whole tensor is row by row unless it is
// transposed.
class GraphBuilder {
 public:
  GraphBuilder(int64_t rows, int64_t cols) : rows_(rows), cols_(cols) { graph_.inputs = {"x"}; }

  TensorAccess Whole(const std::string& name) const {
    return Tensor(name, {rows_, cols_}, {cols_, 1});
  }
  TensorAccess RowSums(const std::string& name) const {
    return Tensor(name, {rows_, 1}, {1, 0}, true);
  }

  LxOperation& Add(const std::string& op, const std::string& output,
                   std::vector<TensorAccess> reads, std::vector<int> splits = {4, 1}) {
    LxOperation operation;
    operation.op = op;
    operation.ir.name = output;
    operation.ir.loops = {{"r", rows_}, {"c", cols_}};
    operation.ir.inputs = std::move(reads);
    operation.ir.output = Whole(output);
    operation.splits = std::move(splits);
    graph_.operations.push_back(std::move(operation));
    return graph_.operations.back();
  }
  LxOperation& AddReduction(const std::string& op, const std::string& output,
                            std::vector<TensorAccess> reads, std::vector<int> splits = {4, 1}) {
    LxOperation& operation = Add(op, output, std::move(reads), std::move(splits));
    operation.ir.kind = OpIr::Kind::kReduction;
    operation.ir.reduction_type = op;
    operation.ir.output = RowSums(output);
    return operation;
  }

  LxGraph& graph() { return graph_; }
  LxPlan Plan(const LxOptions& options = {}) const { return PlanLx(graph_, options); }

 private:
  int64_t rows_;
  int64_t cols_;
  LxGraph graph_;
};

bool InLx(const LxPlan& plan, const std::string& name) {
  return plan.Find(name)->lx_address.has_value();
}

GraphBuilder Chain(const std::vector<std::string>& ops) {
  GraphBuilder builder(64, 256);
  std::string last = "x";
  for (size_t i = 0; i < ops.size(); ++i) {
    const std::string name = "b" + std::to_string(i);
    builder.Add(ops[i], name, {builder.Whole(last)});
    last = name;
  }
  builder.graph().outputs = {last};
  return builder;
}

TEST(LxPlanning, IntermediatesStayInLxAndTensorsOfTheCallerDoNot) {
  const LxPlan plan = Chain({"neg", "neg"}).Plan();
  EXPECT_FALSE(InLx(plan, "x"));
  EXPECT_EQ(plan.Find("b0")->lx_address, 0);
  EXPECT_FALSE(InLx(plan, "b1"));
  EXPECT_FALSE(plan.Find("b1")->pool_offset.has_value());
  EXPECT_EQ(plan.pool_bytes, 0);
  EXPECT_EQ(plan.Find("x")->start, 0);
  EXPECT_EQ(plan.Find("x")->end, 1);
  EXPECT_EQ(plan.Find("b0")->end, 2);
  EXPECT_EQ(plan.Find("b0")->cores, 4);
  EXPECT_EQ(plan.Find("b0")->device_bytes, 64 * 256 * 2);
  EXPECT_EQ(plan.Find("nothing"), nullptr);
}

TEST(LxPlanning, OnlyThePublicListOfOperationsUnlessAllAreAllowed) {
  LxOptions options;
  options.all_operations = false;
  for (const char* op : {"max", "amax", "sum", "exp", "sub"}) {
    EXPECT_TRUE(InLx(Chain({op, "neg"}).Plan(options), "b0")) << op;
  }
  EXPECT_FALSE(InLx(Chain({"neg", "neg"}).Plan(options), "b0"));
  options.all_operations = true;
  EXPECT_TRUE(InLx(Chain({"neg", "neg"}).Plan(options), "b0"));
}

TEST(LxPlanning, WhatAnOperationWantsInDeviceMemoryGoesToThePool) {
  GraphBuilder builder = Chain({"neg", "neg", "neg"});
  builder.graph().operations[0].may_stay_in_lx = false;
  const LxPlan plan = builder.Plan();
  EXPECT_EQ(plan.Find("b0")->pool_offset, 0);
  EXPECT_EQ(plan.pool_bytes, 64 * 256 * 2);
  EXPECT_TRUE(InLx(plan, "b1"));
}

TEST(LxPlanning, ExpAndSubTakeThePlaceOfAnOperandThatDiesInThem) {
  EXPECT_EQ(Chain({"neg", "exp", "neg"}).Plan().Find("b1")->lx_address, 0);
  EXPECT_EQ(Chain({"neg", "sub", "neg"}).Plan().Find("b1")->lx_address, 0);
  EXPECT_EQ(Chain({"neg", "neg", "neg"}).Plan().Find("b1")->lx_address, 8192);
  GraphBuilder later = Chain({"neg", "exp", "neg"});
  later.graph().operations[2].ir.inputs.push_back(later.Whole("b0"));  // b0 outlives exp
  EXPECT_EQ(later.Plan().Find("b1")->lx_address, 8192);
}

TEST(LxPlanning, InPlaceNeedsTheSameLayout) {
  GraphBuilder builder(64, 64);
  builder.AddReduction("amax", "m", {builder.Whole("x")});
  builder.Add("sub", "s", {builder.RowSums("m")});  // 64 sparse sticks, as many bytes as s
  builder.Add("neg", "y", {builder.Whole("s")});
  builder.graph().outputs = {"y"};
  const LxPlan plan = builder.Plan();
  EXPECT_EQ(plan.Find("m")->device_bytes, plan.Find("s")->device_bytes);
  EXPECT_EQ(plan.Find("m")->lx_address, 0);
  EXPECT_EQ(plan.Find("s")->lx_address, 2048);
}

// [8, 8, 64], of which exp writes [h, a] and sub reads [a, h]: element [1, 0] of the difference
// would be written where [0, 1] still has to read.
TEST(LxPlanning, InPlaceNeedsTheSameWalk) {
  LxGraph graph;
  graph.inputs = {"x"};
  graph.outputs = {"y"};
  const auto add = [&](const char* op, const char* reads, const char* writes, bool transposed) {
    LxOperation operation;
    operation.op = op;
    operation.ir.name = writes;
    operation.ir.loops = {{"h", 8}, {"a", 8}, {"s", 64}};
    const std::vector<int64_t> straight = {512, 64, 1}, turned = {64, 512, 1};
    operation.ir.inputs = {Tensor(reads, {8, 8, 64}, transposed ? turned : straight)};
    operation.ir.output = Tensor(writes, {8, 8, 64}, straight);
    operation.splits = {1, 1, 1};
    graph.operations.push_back(std::move(operation));
  };
  add("exp", "x", "e", false);
  add("sub", "e", "d", true);
  add("neg", "d", "y", false);
  const LxPlan plan = PlanLx(graph, {});
  EXPECT_EQ(plan.Find("e")->lx_address, 0);
  EXPECT_EQ(plan.Find("d")->lx_address, 8192);
}

TEST(LxPlanning, CoresThatHoldOtherPartsMakeAMismatchUnlessThereIsOneCore) {
  GraphBuilder builder = Chain({"neg", "neg"});
  builder.graph().operations[1].splits = {2, 2};
  EXPECT_EQ(builder.Plan().Find("b0")->cores, LxBufferPlan::kCoresDiffer);
  EXPECT_TRUE(builder.Plan().Find("b0")->pool_offset.has_value());
  LxOptions one_core;
  one_core.cores = 1;
  for (LxOperation& operation : builder.graph().operations) operation.splits = {1, 1};
  EXPECT_EQ(builder.Plan(one_core).Find("b0")->cores, 1);
  EXPECT_TRUE(InLx(builder.Plan(one_core), "b0"));
}

TEST(LxPlanning, TheSameSplitInAnotherOrderOfCoresIsAMismatch) {
  GraphBuilder builder = Chain({"neg", "neg"});
  for (LxOperation& operation : builder.graph().operations) operation.splits = {2, 4};
  EXPECT_TRUE(InLx(builder.Plan(), "b0"));
  builder.graph().operations[0].k_fastest = true;
  EXPECT_FALSE(InLx(builder.Plan(), "b0"));
  builder.graph().operations[1].k_fastest = true;
  EXPECT_TRUE(InLx(builder.Plan(), "b0"));
}

TEST(LxPlanning, PartialResultsOfASplitReductionNeverStayInLx) {
  GraphBuilder builder(64, 256);
  builder.AddReduction("sum", "s", {builder.Whole("x")}, {2, 2});
  builder.Add("sub", "y", {builder.Whole("x"), builder.RowSums("s")}, {2, 2});
  builder.graph().outputs = {"y"};
  EXPECT_EQ(builder.Plan().Find("s")->cores, LxBufferPlan::kCoresDiffer);
  builder.graph().operations[0].splits = {2, 1};
  builder.graph().operations[1].splits = {2, 1};
  EXPECT_TRUE(InLx(builder.Plan(), "s"));
}

TEST(LxPlanning, ReadersOnMoreCoresThanTheWriterAreRefusedButNotToTheLetter) {
  GraphBuilder builder(64, 256);
  builder.AddReduction("sum", "s", {builder.Whole("x")}, {2, 1});
  builder.Add("sub", "y", {builder.Whole("x"), builder.RowSums("s")}, {2, 2});
  builder.graph().outputs = {"y"};
  EXPECT_FALSE(InLx(builder.Plan(), "s"));
  LxOptions letter;
  letter.to_the_letter = true;
  EXPECT_TRUE(InLx(builder.Plan(letter), "s"));
  EXPECT_EQ(builder.Plan(letter).Find("s")->cores, 4);
}

TEST(LxPlanning, ASplitThatNoDeviceDimensionCarriesIsAnAssertionToTheLetterOnly) {
  GraphBuilder builder = Chain({"neg", "neg"});
  builder.graph().operations[1].ir.inputs[0].index.coefficient = {2, 1};  // every second element
  EXPECT_FALSE(InLx(builder.Plan(), "b0"));
  LxOptions letter;
  letter.to_the_letter = true;
  try {
    builder.Plan(letter);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "AssertionError");
    EXPECT_EQ(error.message_kind(), "lx_split_placement");
  }
}

TEST(LxPlanning, BuffersAreMeasuredPerCoreAgainstTheCapacity) {
  GraphBuilder builder = Chain({"neg", "neg"});
  LxOptions options;
  options.capacity = 64 * 256 * 2 / 4;
  EXPECT_TRUE(InLx(builder.Plan(options), "b0"));
  --options.capacity;
  EXPECT_FALSE(InLx(builder.Plan(options), "b0"));
  EXPECT_EQ(builder.Plan(options).Find("b0")->pool_offset, 0);
}

TEST(LxPlanning, WhatCrossesALoopLivesAsLongAsTheLoopRuns) {
  GraphBuilder builder = Chain({"neg", "neg", "neg", "neg"});
  for (int i : {1, 2}) builder.graph().operations[static_cast<size_t>(i)].loops = {0};
  const LxPlan plan = builder.Plan();
  EXPECT_EQ(plan.Find("x")->end, 1);
  EXPECT_EQ(plan.Find("b0")->end, 3);    // read again by the next iteration
  EXPECT_EQ(plan.Find("b1")->start, 1);  // within one iteration
  EXPECT_EQ(plan.Find("b1")->end, 3);
  EXPECT_EQ(plan.Find("b2")->start, 1);  // written by every iteration, read behind the loop
  EXPECT_EQ(plan.Find("b2")->end, 4);
}

TEST(LxPlanning, RefusesOperationsThatCannotBePlanned) {
  const auto refusal = [](const std::function<void(LxGraph&)>& change) -> std::string {
    GraphBuilder builder = Chain({"neg", "neg"});
    change(builder.graph());
    try {
      builder.Plan();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal([](LxGraph& g) { std::swap(g.operations[0], g.operations[1]); }),
              HasSubstr("reads 'b0', which is neither an input nor written before"));
  EXPECT_THAT(refusal([](LxGraph& g) { g.operations[0].splits = {4}; }), HasSubstr("one split"));
  EXPECT_THAT(refusal([](LxGraph& g) { g.operations[0].splits = {32, 2}; }), HasSubstr("32 cores"));
  EXPECT_THAT(refusal([](LxGraph& g) { g.operations[0].splits = {0, 1}; }), HasSubstr("'b0'"));
  EXPECT_THAT(refusal([](LxGraph& g) { g.operations[0].ir.loops[0].range = 0; }),
              HasSubstr("range 0"));
}

// ---------------------------------------------------------------- views

TEST(CoreView, CutsOfTheStickDimensionAreCutsOfItsStickCount) {
  const GraphBuilder builder(64, 256);  // device [4, 64, 64]
  GraphBuilder chain = Chain({"neg"});
  const OpIr& op = chain.graph().operations[0].ir;
  const auto view = ViewOfAccess(op, op.output, {2, 4}, false);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(*view, (CoreView{{0, 4, 2}, {1, 2, 1}}));
  EXPECT_EQ(*ViewOfAccess(op, op.output, {2, 4}, true), (CoreView{{0, 4, 1}, {1, 2, 4}}));
  EXPECT_EQ(*ViewOfAccess(op, op.output, {1, 1}, false), CoreView{});
  EXPECT_FALSE(ViewOfAccess(op, op.output, {1, 3}, false).has_value());  // 4 sticks
}

TEST(CoreView, LoopsThatDoNotMoveInTheTensorDoNotCutIt) {
  const GraphBuilder builder(64, 256);
  GraphBuilder chain = Chain({"neg"});
  const OpIr& op = chain.graph().operations[0].ir;
  EXPECT_EQ(*ViewOfAccess(op, builder.RowSums("s"), {2, 4}, false), (CoreView{{2, 2, 1}}));
}

}  // namespace
}  // namespace spyre::compiler::lx_planning_test
