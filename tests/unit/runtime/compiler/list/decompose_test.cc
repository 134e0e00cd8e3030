// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/decompose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler::decompose_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::vector<std::string> OpNames(const NamedGraph& graph) {
  std::vector<std::string> names;
  for (const NamedOp& op : graph.ops)
    names.push_back(op.op + " " + graph.tensors[static_cast<size_t>(op.output)].name);
  return names;
}

// "T", "sparse": what is inside the tensor's sticks.
std::string StickOf(const NamedGraph& graph, const std::string& name) {
  for (const NamedTensor& tensor : graph.tensors) {
    if (tensor.name != name) continue;
    if (tensor.stick == NamedTensor::kSparse) return "sparse";
    return tensor.stick < 0 ? "none" : graph.dims[static_cast<size_t>(tensor.stick)].name;
  }
  return "no tensor " + name;
}

NamedGraph Softmax() {
  return ReadNamedGraph(JsonOf(R"({
    "dims": {"R": 32, "C": 256}, "tensors": [{"name": "x", "dims": ["R", "C"]}],
    "ops": [{"op": "softmax", "inputs": ["x"], "output": "p", "dim": "C"}],
    "hints": [{"ops": ["p"], "slices": {"R": 2}}]})"));
}

NamedGraph Attention(const std::string& key_stick) {
  Json value = JsonOf(R"({
    "dims": {"H": 2, "S": 64, "T": 128, "D": 64},
    "tensors": [{"name": "q", "dims": ["H", "S", "D"]}, {"name": "k", "dims": ["H", "T", "D"]},
                {"name": "v", "dims": ["H", "T", "D"]}],
    "ops": [{"op": "attention", "inputs": ["q", "k", "v"], "output": "o"}]})");
  if (!key_stick.empty()) value["tensors"][1]["stick"] = key_stick;
  return ReadNamedGraph(value);
}

TEST(Decompose, SoftmaxIsTheFiveOperationsOfThePublicFrontEnd) {
  const NamedGraph graph = Decompose(Softmax());
  EXPECT_THAT(OpNames(graph),
              ElementsAre("amax p.max", "sub p.sub", "exp p.exp", "sum p.sum", "div p"));
  EXPECT_THAT(graph.hints[0].ops, ElementsAre(0, 1, 2, 3, 4)) << "the hint covers the whole chain";
}

TEST(Decompose, SiluIsTheChainOfTheCapturedSwiGlu) {
  const NamedGraph graph = Decompose(ReadNamedGraph(JsonOf(R"({
    "tensors": [{"name": "g", "dims": [64, 128]}, {"name": "u", "dims": [64, 128]}],
    "ops": [{"op": "swiglu", "inputs": ["g", "u"], "output": "h"}]})")));
  EXPECT_THAT(OpNames(graph),
              ElementsAre("neg h.neg", "exp h.exp", "add h.add", "div h.silu", "mul h"));
}

TEST(Decompose, LayernormEndsWithTheWeightAndTheBiasThatAreGiven) {
  const NamedGraph graph = Decompose(ReadNamedGraph(JsonOf(R"({
    "tensors": [{"name": "x", "dims": [64, 128]}, {"name": "w", "dims": [128]},
                {"name": "b", "dims": [128]}],
    "ops": [{"op": "layernorm", "inputs": ["x", "w", "b"], "output": "y", "dim": 128,
             "eps": 0.001}]})")));
  EXPECT_THAT(OpNames(graph),
              ElementsAre("mean y.mean", "sub y.centred", "mul y.square", "mean y.variance",
                          "add y.eps", "rsqrt y.rsqrt", "mul y.normed", "mul y.weighted", "add y"));
}

TEST(Decompose, AttentionScalesByTheRootOfTheDepth) {
  const NamedGraph graph = Decompose(Attention(""));
  EXPECT_THAT(OpNames(graph),
              ElementsAre("matmul o.scores", "mul o.scaled", "amax o.probabilities.max",
                          "sub o.probabilities.sub", "exp o.probabilities.exp",
                          "sum o.probabilities.sum", "div o.probabilities", "matmul o"));
  EXPECT_EQ(graph.tensors[static_cast<size_t>(graph.ops[1].inputs[1])].value, 0.125);
}

TEST(PlanSticks, AReductionAlongTheStickLeavesSparseSticksThatBroadcast) {
  const NamedGraph graph = PlanSticks(Decompose(Softmax()));
  EXPECT_EQ(StickOf(graph, "x"), "C");
  EXPECT_EQ(StickOf(graph, "p.max"), "sparse");
  EXPECT_EQ(StickOf(graph, "p"), "C");
  EXPECT_EQ(graph.ops.size(), 5u) << "no restickify";
}

TEST(PlanSticks, AnInputIsLaidOutAsItsReaderWants) {
  const NamedGraph graph = PlanSticks(Decompose(Attention("")));
  EXPECT_EQ(StickOf(graph, "k"), "T") << "the scores' columns are inside the key's sticks";
  EXPECT_EQ(StickOf(graph, "v"), "D");
  EXPECT_EQ(graph.ops.front().op, "matmul");
}

TEST(PlanSticks, ALayoutOfTheUsersChoiceIsKeptAndRestickifiedBeforeEverythingElse) {
  const NamedGraph graph = PlanSticks(Decompose(Attention("D")));
  EXPECT_EQ(StickOf(graph, "k"), "D");
  EXPECT_EQ(StickOf(graph, "k.by_T"), "T");
  EXPECT_THAT(OpNames(graph)[0], "restickify k.by_T");
  EXPECT_THAT(OpNames(graph)[1], "matmul o.scores");
}

TEST(PlanSticks, AComputedTensorIsRestickifiedBehindItsOperationInsideTheSameHint) {
  const NamedGraph graph = PlanSticks(ReadNamedGraph(JsonOf(R"({
    "dims": {"S": 64, "T": 64, "D": 64},
    "tensors": [{"name": "q", "dims": ["S", "D"]}, {"name": "k", "dims": ["T", "D"]}],
    "ops": [{"op": "exp", "inputs": ["k"], "output": "e"},
            {"op": "matmul", "inputs": ["q", "e"], "output": "s"}],
    "hints": [{"ops": ["e"], "slices": {"D": 1}}]})")));
  EXPECT_THAT(OpNames(graph), ElementsAre("exp e", "restickify e.by_T", "matmul s"));
  EXPECT_THAT(graph.hints[0].ops, ElementsAre(0, 1));
}

TEST(Decompose, AReductionOfOneElementIsACopy) {
  const NamedGraph graph = PlanSticks(Decompose(ReadNamedGraph(JsonOf(R"({
    "dims": {"H": 1, "R": 64, "C": 64}, "tensors": [{"name": "x", "dims": ["H", "R", "C"]}],
    "ops": [{"op": "mean", "inputs": ["x"], "output": "y", "dim": "H"}]})"))));
  EXPECT_THAT(OpNames(graph), ElementsAre("copy y"));
  EXPECT_EQ(StickOf(graph, "y"), "C");
}

TEST(Decompose, AReductionAlongSeveralDimensionsTakesThemOneByOne) {
  const NamedGraph graph = Decompose(ReadNamedGraph(JsonOf(R"({
    "dims": {"R": 64, "C": 128}, "tensors": [{"name": "x", "dims": ["R", "C"]}],
    "ops": [{"op": "sum", "inputs": ["x"], "output": "y", "dim": ["C", "R"]}]})")));
  EXPECT_THAT(OpNames(graph), ElementsAre("sum y.part0", "sum y"));
  EXPECT_EQ(graph.dims[static_cast<size_t>(graph.ops[1].reduced[0])].name, "C");
}

TEST(Decompose, AMatmulOverADimensionOfSize1IsAMul) {
  const NamedGraph graph = Decompose(ReadNamedGraph(JsonOf(R"({
    "dims": {"M": 64, "K": 1, "N": 64},
    "tensors": [{"name": "a", "dims": ["M", "K"]}, {"name": "b", "dims": ["K", "N"]}],
    "ops": [{"op": "matmul", "inputs": ["a", "b"], "output": "c"}]})")));
  EXPECT_THAT(OpNames(graph), ElementsAre("mul c"));
}

TEST(PlanSticks, ARestickifyPutsElementsSideBySideOrOneToAStick) {
  const NamedGraph graph = PlanSticks(ReadNamedGraph(JsonOf(R"({
    "dims": {"R": 64, "C": 64},
    "tensors": [{"name": "x", "dims": ["R", "C"]}, {"name": "y", "dims": ["C", "R"]},
                {"name": "w", "dims": ["C"]}],
    "ops": [{"op": "sum", "inputs": ["x"], "output": "s", "dim": "C"},
            {"op": "sum", "inputs": ["y"], "output": "t", "dim": "C"},
            {"op": "add", "inputs": ["t", "s"], "output": "u"},
            {"op": "mul", "inputs": ["y", "w"], "output": "v"},
            {"op": "amax", "inputs": ["w"], "output": "m", "dim": "C"}]})")));
  EXPECT_THAT(OpNames(graph), ElementsAre("restickify w.sparse", "sum s", "restickify s.by_R",
                                          "sum t", "add u", "mul v", "amax m"));
  EXPECT_EQ(StickOf(graph, "s.by_R"), "R");
}

}  // namespace
}  // namespace spyre::compiler::decompose_test
