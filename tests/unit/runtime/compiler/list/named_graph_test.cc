// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/list/named_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "runtime/compiler/ir/ir.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::named_graph_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

// The coarse-tiling RFC's example.
Json Chain() {
  return JsonOf(R"({
    "dims": {"A": 1024, "B": 4096},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]},
                {"name": "c", "dims": ["A", "B"]}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
            {"op": "mul", "inputs": ["y", "c"], "output": "z"}],
    "hints": [{"ops": ["y", "z"], "slices": {"A": 2}}, {"slices": {"B": 4}}]})");
}

std::string Refusal(const Json& value) {
  try {
    ReadNamedGraph(value);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << value.dump();
  return "";
}

const NamedTensor& Find(const NamedGraph& graph, const std::string& name) {
  for (const NamedTensor& tensor : graph.tensors)
    if (tensor.name == name) return tensor;
  throw std::out_of_range(name);
}

std::string Shape(const NamedGraph& graph, const std::string& name) {
  return graph.ShapeText(Find(graph, name));
}

// A graph of these tensors (name -> dims) and one operation.
NamedGraph OneOp(const Json& tensors, const Json& op) {
  const Json sizes = {{"H", 2}, {"S", 64}, {"T", 128}, {"D", 256}, {"E", 32}};
  Json value = {{"dims", Json::object()}, {"tensors", Json::array()}, {"ops", Json::array({op})}};
  for (const auto& [name, dims] : tensors.items()) {
    value["tensors"].push_back({{"name", name}, {"dims", dims}});
    for (const Json& dim : dims)
      if (sizes.contains(dim)) value["dims"][dim] = sizes.at(dim);
  }
  return ReadNamedGraph(value);
}

TEST(NamedGraph, ReadsTheChainWithItsNestedHints) {
  const NamedGraph graph = ReadNamedGraph(Chain());
  ASSERT_EQ(graph.ops.size(), 2u);
  EXPECT_EQ(graph.ops[0].op, "add");
  EXPECT_EQ(Shape(graph, "z"), "[A=1024, B=4096]");
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].name, "z") << "what nothing reads is the output";
  ASSERT_EQ(graph.hints.size(), 2u);
  EXPECT_EQ(graph.hints[0].slices[0].count, 2);
  EXPECT_THAT(graph.hints[1].ops, ElementsAre(0, 1)) << "a hint without ops covers all";
}

TEST(NamedGraph, SlicesOfOneHintNestInTheOrderGiven) {
  Json value = Chain();
  value["hints"] = JsonOf(R"([{"slices": {"B": 4, "A": 2}}])");
  const NamedGraph graph = ReadNamedGraph(value);
  ASSERT_EQ(graph.hints[0].slices.size(), 2u);
  EXPECT_EQ(graph.dims[graph.hints[0].slices[0].dim].name, "B");
  EXPECT_EQ(graph.dims[graph.hints[0].slices[1].dim].name, "A");
}

TEST(NamedGraph, OperandsBroadcastOverTheDimensionsTheyLack) {
  const Json tensors = {{"bias", {"D"}}, {"x", {"S", "D"}}};
  const NamedGraph graph =
      OneOp(tensors, {{"op", "add"}, {"inputs", {"bias", "x"}}, {"output", "y"}});
  EXPECT_EQ(Shape(graph, "y"), "[S=64, D=256]");
}

TEST(NamedGraph, AMatmulSumsOverTheLastDimensionOfItsFirstOperand) {
  const NamedGraph graph = OneOp({{"q", {"H", "S", "D"}}, {"k", {"H", "T", "D"}}},
                                 {{"op", "matmul"}, {"inputs", {"q", "k"}}, {"output", "s"}});
  EXPECT_EQ(Shape(graph, "s"), "[H=2, S=64, T=128]");
  EXPECT_EQ(graph.dims[graph.ops[0].reduced.at(0)].name, "D");
}

TEST(NamedGraph, AMatmulMayNameTheDimensionItSumsOver) {
  const NamedGraph graph =
      OneOp({{"a", {"D", "S"}}, {"b", {"D", "T"}}},
            {{"op", "matmul"}, {"inputs", {"a", "b"}}, {"output", "s"}, {"dim", "D"}});
  EXPECT_EQ(Shape(graph, "s"), "[S=64, T=128]");
}

TEST(NamedGraph, OfSeveralDimensionsThatAMatmulSumsOverTheInnermostWithWholeSticksIsFirst) {
  const auto first = [](const std::vector<std::string>& dims) {
    const NamedGraph graph =
        OneOp({{"a", {"S", "H", "T", "E"}}, {"b", {"D", "H", "T", "E"}}},
              {{"op", "matmul"}, {"inputs", {"a", "b"}}, {"output", "s"}, {"dim", dims}});
    return graph.dims[graph.ops[0].reduced.at(0)].name;
  };
  EXPECT_EQ(first({"H", "T", "E"}), "T") << "E has 32";
  EXPECT_EQ(first({"T", "E", "H"}), "T");
  EXPECT_EQ(first({"H", "E"}), "E") << "none has whole sticks";
}

TEST(NamedGraph, AReductionDropsTheDimensionByName) {
  const NamedGraph graph =
      OneOp({{"x", {"H", "S", "D"}}},
            {{"op", "sum"}, {"inputs", {"x"}}, {"output", "s"}, {"dim", {"H", "D"}}});
  EXPECT_EQ(Shape(graph, "s"), "[S=64]");
}

TEST(NamedGraph, AttentionHasTheDimensionsOfQueriesAndValues) {
  const NamedGraph graph =
      OneOp({{"q", {"H", "S", "D"}}, {"k", {"H", "T", "D"}}, {"v", {"H", "T", "E"}}},
            {{"op", "attention"}, {"inputs", {"q", "k", "v"}}, {"output", "o"}});
  EXPECT_EQ(Shape(graph, "o"), "[H=2, S=64, E=32]");
}

TEST(NamedGraph, AttentionMaySumOverSeveralDimensions) {
  const NamedGraph graph = OneOp(
      {{"q", {"S", "H", "D"}}, {"k", {"T", "H", "D"}}, {"v", {"T", "E"}}},
      {{"op", "attention"}, {"inputs", {"q", "k", "v"}}, {"output", "o"}, {"dim", {"H", "D"}}});
  EXPECT_EQ(Shape(graph, "o"), "[S=64, E=32]");
}

TEST(NamedGraph, TheOutputMayHaveItsDimensionsInAnotherOrder) {
  const NamedGraph graph =
      OneOp({{"q", {"S", "D"}}, {"k", {"D", "T"}}},
            {{"op", "matmul"}, {"inputs", {"q", "k"}}, {"output", "s"}, {"dims", {"T", "S"}}});
  EXPECT_EQ(Shape(graph, "s"), "[T=128, S=64]");
}

TEST(NamedGraph, NumbersAmongInputsAreConstantsAndTheSameNumberIsOneTensor) {
  Json value = Chain();
  value["ops"] = JsonOf(R"([{"op": "mul", "inputs": ["a", 0.5], "output": "y"},
    {"op": "add", "inputs": ["y", 0.5], "output": "z"}])");
  value.erase("hints");
  value["tensors"] = JsonOf(R"([{"name": "a", "dims": ["A", "B"]}])");
  const NamedGraph graph = ReadNamedGraph(value);
  EXPECT_EQ(graph.ops[0].inputs[1], graph.ops[1].inputs[1]);
  const NamedTensor& half = graph.tensors[graph.ops[0].inputs[1]];
  EXPECT_EQ(half.origin, NamedTensor::Origin::kConstant);
  EXPECT_EQ(half.value, 0.5);
  EXPECT_THAT(half.dims, IsEmpty());
}

TEST(NamedGraph, SizesMayStandForDimensions) {
  const NamedGraph graph = OneOp(
      {{"x", {64, 4096}}}, {{"op", "softmax"}, {"inputs", {"x"}}, {"output", "p"}, {"dim", 4096}});
  EXPECT_EQ(Shape(graph, "p"), "[64, 4096]");
}

// ---------------------------------------------------------------- refused

TEST(NamedGraph, SizesMayBeExpressionsOfOthers) {
  Json value = JsonOf(R"json({
    "dims": {"B": "2*s0 + s1", "A": "floor(B/2)", "s0": 96, "s1": 64},
    "tensors": [{"name": "x", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["x"], "output": "y"}]
})json");
  const NamedGraph graph = ReadNamedGraph(value);
  EXPECT_EQ(graph.ShapeText(graph.tensors[0]), "[A=128, B=256]");
  value["dims"]["s0"] = 32;
  const NamedGraph smaller = ReadNamedGraph(value);
  EXPECT_EQ(smaller.ShapeText(smaller.tensors[0]), "[A=64, B=128]");
  value["dims"].erase("s1");
  EXPECT_THAT(Refusal(value), AllOf(HasSubstr("dims.B = '2*s0 + s1'"),
                                    HasSubstr("'s1' has no size"), HasSubstr("workload.dims.s1")));
  value["dims"]["s1"] = "A";
  EXPECT_THAT(Refusal(value), HasSubstr("needs itself"));
  value["dims"]["s1"] = "64/3";
  EXPECT_THAT(Refusal(value), HasSubstr("dims.s1 = '64/3'"));
  value["dims"]["s1"] = "s0 - 200";
  EXPECT_THAT(Refusal(value), HasSubstr("dims.s1 = -168 is out of range"));
  Json chain = value;
  for (int i = 0; i < 2000; ++i)
    chain["dims"]["d" + std::to_string(i)] = "d" + std::to_string(i + 1);
  EXPECT_THAT(Refusal(chain), HasSubstr("at most 1024"));
  value["dims"]["s1"] = 64;
  value["dims"]["s2"] = 64;
  EXPECT_THAT(Refusal(value), HasSubstr("dims.s2: no tensor has this dimension"));
}

TEST(NamedGraphRefuses, UnknownNamesWithTheNearestOne) {
  Json value = Chain();
  value["ops"][0]["op"] = "ad";
  EXPECT_THAT(Refusal(value), AllOf(HasSubstr("ops[0].op = 'ad'"), HasSubstr("'add'?")));
  value = Chain();
  value["ops"][1]["inputs"][1] = "cc";
  EXPECT_THAT(Refusal(value), AllOf(HasSubstr("ops[1].inputs[1] = 'cc'"), HasSubstr("'c'?")));
  value = Chain();
  value["tensors"][0]["dims"][1] = "Bb";
  EXPECT_THAT(Refusal(value), AllOf(HasSubstr("tensors[0].dims[1] = 'Bb'"), HasSubstr("'B'?")));
  value = Chain();
  value["hints"][0]["slice"] = value["hints"][0]["slices"];
  EXPECT_THAT(Refusal(value), AllOf(HasSubstr("'hints[0].slice'"), HasSubstr("'slices'?")));
  value = Chain();
  value["hints"][0]["slices"] = {{"C", 2}};
  EXPECT_THAT(Refusal(value), HasSubstr("hints[0].slices.C = 'C' is not a dimension"));
  value = Chain();
  value["outputs"] = {"a"};
  EXPECT_THAT(Refusal(value), HasSubstr("outputs[0] = 'a' is not the output of an operation"));
}

TEST(NamedGraphRefuses, DuplicateNamesUnusedTensorsAndCycles) {
  Json value = Chain();
  value["ops"][1]["output"] = "y";
  EXPECT_THAT(Refusal(value), HasSubstr("ops[1].output = 'y' is the name of another tensor"));
  value = Chain();
  value["ops"][1]["inputs"][1] = "a";
  EXPECT_THAT(Refusal(value), HasSubstr("'c' is read by no operation"));
  value = Chain();
  value["ops"][0]["inputs"][0] = "z";
  EXPECT_THAT(Refusal(value), AllOf(HasSubstr("'z' is read before"), HasSubstr("cycle")));
}

TEST(NamedGraphRefuses, OperandsThatDoNotFit) {
  const Json q = {{"q", {"S", "D"}}, {"k", {"T", "E"}}};
  const auto message = [](const Json& tensors, const Json& op) {
    try {
      OneOp(tensors, op);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message(q, {{"op", "matmul"}, {"inputs", {"q", "k"}}, {"output", "s"}}),
              AllOf(HasSubstr("q [S=64, D=256]"), HasSubstr("k [T=128, E=32]")));
  EXPECT_THAT(message({{"q", {"S"}}, {"k", {"D"}}},
                      {{"op", "sum"}, {"inputs", {"q"}}, {"output", "s"}, {"dim", "D"}}),
              HasSubstr("dimension 'D' is not in q [S=64]"));
  EXPECT_THAT(message({{"q", {"S"}}}, {{"op", "sum"}, {"inputs", {"q"}}, {"output", "s"}}),
              HasSubstr("'sum' needs `dim`"));
  EXPECT_THAT(message({{"q", {"S", "S"}}}, {{"op", "exp"}, {"inputs", {"q"}}, {"output", "s"}}),
              HasSubstr("dimension 'S' twice"));
  EXPECT_THAT(message({{"q", {"S"}}}, {{"op", "add"}, {"inputs", {"q"}}, {"output", "s"}}),
              HasSubstr("has 1 entries; 'add' takes 2"));
}

TEST(NamedGraphRefuses, AHintOverOperationsThatDoNotFollowEachOther) {
  Json value = Chain();
  value["ops"].push_back({{"op", "exp"}, {"inputs", {"z"}}, {"output", "e"}});
  value["hints"][0]["ops"] = {"y", "e"};
  try {
    ReadNamedGraph(value);
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.type(), "RuntimeError");
    EXPECT_EQ(error.message_kind(), "not_contiguous");
    EXPECT_THAT(error.what(), HasSubstr("'z' is between them"));
  }
}

TEST(NamedGraphRefuses, SizesBeyondAnyCard) {
  Json value = Chain();
  value["dims"] = {{"A", 1ll << 31}, {"B", 1ll << 31}};
  EXPECT_THAT(Refusal(value), HasSubstr("larger than any card"));
  value["dims"] = {{"A", 0}, {"B", 64}};
  EXPECT_THAT(Refusal(value), HasSubstr("dims.A = 0 is out of range"));
  value["dims"] = {{"A", 1.5}, {"B", 64}};
  EXPECT_THAT(Refusal(value), HasSubstr("dims.A = 1.5 must be a whole number"));
}

TEST(NamedGraphRefuses, AnyDamageOfAFileIsAnErrorAndNeverACrash) {
  const Json flat = Chain().flatten();
  const Json wrong[] = {nullptr, -1, "", 1e300, Json::array(), Json::object(), true, "A"};
  for (const auto& [place, unused] : flat.items()) {
    for (const Json& damage : wrong) {
      Json value = Chain();
      value[Json::json_pointer(place)] = damage;
      try {
        ReadNamedGraph(value);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << place << " is " << damage;
      }
    }
  }
}

}  // namespace
}  // namespace spyre::compiler::named_graph_test
