// SPDX-License-Identifier: Apache-2.0
// Conversions by hand-made lists: where they are inserted, what orders of elements they leave, and
// what is refused. tests/fuzz/op_lists runs random lists of both types.
#include "runtime/compiler/list/promote_types.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/graph_form/graph_form.h"

namespace spyre::compiler::promote_types_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// h is float16, f float32, r a float32 row without the dimension inside the sticks.
NamedGraph List(const std::string& ops, int64_t columns = 128) {
  Json value = JsonOf(R"({"tensors": [{"name": "h", "dims": ["R", "C"]},
      {"name": "f", "dims": ["R", "C"], "dtype": "float32"},
      {"name": "r", "dims": ["R"], "dtype": "float32"}]})");
  value["dims"] = {{"R", 64}, {"C", columns}};
  value["ops"] = JsonOf(ops);
  Json used = Json::array();
  for (const Json& tensor : value["tensors"])
    if (ops.find(tensor["name"].dump()) != std::string::npos) used.push_back(tensor);
  value["tensors"] = used;
  return ReadNamedGraph(value);
}

std::vector<std::string> Steps(const NamedGraph& graph) {
  std::vector<std::string> steps;
  for (const NamedOp& op : graph.ops) {
    const NamedTensor& output = graph.tensors[static_cast<size_t>(op.output)];
    std::string text = output.name + ":" + std::string(HostTypeName(output.format)) + " = " + op.op;
    for (const int input : op.inputs) text += " " + graph.tensors[static_cast<size_t>(input)].name;
    steps.push_back(text);
  }
  return steps;
}

std::string RefusalOf(const std::string& ops, int64_t columns = 128) {
  try {
    CompileNamedGraph(List(ops, columns), {});
  } catch (const CompileError& error) {
    return error.type() + " " + error.message_kind();
  }
  return "accepted";
}

TEST(PromoteTypes, ConvertsTheNarrowerOperandRightBeforeTheOperation) {
  EXPECT_THAT(Steps(PromoteTypes(List(R"([
                {"op": "exp", "inputs": ["h"], "output": "e"},
                {"op": "mul", "inputs": ["e", "r"], "output": "y"}])"))),
              ElementsAre("e:float16 = exp h", "y.operand0:float32 = convert e",
                          "y:float32 = mul y.operand0 r"));
}

TEST(PromoteTypes, ConvertsAnOperandThatIsReadTwiceOnce) {
  EXPECT_THAT(
      Steps(PromoteTypes(List(R"([
                {"op": "where", "inputs": ["h", "h", "r"], "output": "y"}])"))),
      ElementsAre("y.operand0:float32 = convert h", "y:float32 = where y.operand0 y.operand0 r"));
}

TEST(PromoteTypes, ANumberTakesTheTypeOfTheOperation) {
  EXPECT_THAT(Steps(PromoteTypes(List(R"([
                {"op": "add", "inputs": ["f", 0.5], "output": "a"},
                {"op": "add", "inputs": ["h", 0.5], "output": "b"}])"))),
              ElementsAre("a:float32 = add f 0.5:float32", "b:float16 = add h 0.5"));
}

TEST(PromoteTypes, AConversionToTheOwnTypeIsACopy) {
  EXPECT_THAT(Steps(PromoteTypes(List(R"([
                {"op": "convert", "inputs": ["h"], "output": "a", "dtype": "float16"},
                {"op": "convert", "inputs": ["f"], "output": "b", "dtype": "float16"}])"))),
              ElementsAre("a:float16 = copy h", "b:float16 = convert f"));
}

TEST(PromoteTypes, AFloat8IsWorkedOnInFloat16) {
  EXPECT_THAT(Steps(PromoteTypes(List(R"([
                {"op": "convert", "inputs": ["h"], "output": "q", "dtype": "float8_e4m3fn"},
                {"op": "neg", "inputs": ["q"], "output": "y"}])"))),
              ElementsAre("q:float8_e4m3fn = convert h", "y.operand0:float16 = convert q",
                          "y:float16 = neg y.operand0"));
}

TEST(PromoteTypes, TheWayBetweenFloat8AndFloat32IsByFloat16) {
  EXPECT_THAT(Steps(PromoteTypes(List(R"([
                {"op": "convert", "inputs": ["f"], "output": "q", "dtype": "float8_e4m3fn"},
                {"op": "add", "inputs": ["q", "f"], "output": "y"},
                {"op": "convert", "inputs": ["f"], "output": "z", "dtype": "float32"}])"))),
              ElementsAre("q.half:float16 = convert f", "q:float8_e4m3fn = convert q.half",
                          "y.operand0.half:float16 = convert q",
                          "y.operand0:float32 = convert y.operand0.half",
                          "y:float32 = add y.operand0 f", "z:float32 = copy f"));
}

TEST(PromoteTypes, LeavesAListOfOneTypeAsItIs) {
  const NamedGraph list = List(R"([{"op": "add", "inputs": ["h", 2], "output": "y"}])");
  EXPECT_EQ(Steps(PromoteTypes(list)), Steps(list));
}

TEST(PromoteTypes, LoweringTakes32ElementsToAStickAndThePublicNames) {
  const FrontEndResult result = CompileNamedGraph(List(R"([
      {"op": "convert", "inputs": ["h"], "output": "w", "dtype": "float32"},
      {"op": "neg", "inputs": ["w"], "output": "n"},
      {"op": "convert", "inputs": ["n"], "output": "y", "dtype": "float16"}])"),
                                                  {});
  EXPECT_EQ(result.graph.ops[0].op, "dl16tofp32");
  EXPECT_EQ(result.graph.ops[2].op, "fp32todl16");
  EXPECT_THAT(result.graph.ops[1].layout.device.device_size, ElementsAre(4, 64, 32));
  EXPECT_EQ(result.graph.ops[1].layout.device.format, DataFormat::kIeeeFp32);
  EXPECT_THAT(result.graph.ops[2].layout.device.device_size, ElementsAre(2, 64, 64));
}

TEST(PromoteTypes, AreInTheFormOfTheGraphWhichReadsBack) {
  FrontEndResult graph;
  graph.primitives = List(R"([{"op": "mul", "inputs": ["h", "r"], "output": "y"},
      {"op": "convert", "inputs": ["y"], "output": "z", "dtype": "float16"}])");
  graph.primitives.outputs = {graph.primitives.ops.back().output};
  RunPasses({"division"}, {}, graph);
  const Json form = ToJson({}, graph);
  EXPECT_THAT(form.dump(), HasSubstr(R"("dtype":"float32")"));
  EXPECT_EQ(ToJson({}, GraphFormFromJson(form).graph), form);
}

TEST(PromoteTypes, TheVerifierRefusesOperandsOfDifferentTypes) {
  FrontEndResult graph;
  graph.primitives = List(R"([{"op": "mul", "inputs": ["h", "r"], "output": "y"}])");
  RunPasses({"promote_types"}, {}, graph);
  graph.primitives.ops.back().inputs[0] = 0;  // h itself
  EXPECT_THROW(RunPasses({"stick"}, {}, graph), CompileError);
}

TEST(PromoteTypesRefuses, WhatTheCardComputesInFloat16Only) {
  for (const char* op : {"gelu", "log", "tanh"})
    EXPECT_EQ(
        RefusalOf(R"([{"op": ")" + std::string(op) + R"(", "inputs": ["f"], "output": "y"}])"),
        "Unsupported dtype")
        << op;
  EXPECT_EQ(RefusalOf(R"([{"op": "restickify", "inputs": ["f"], "output": "y", "dim": "R"}])"),
            "Unsupported dtype");
}

TEST(PromoteTypesRefuses, TypesThatTheListCannotHave) {
  for (const char* type : {"int8", "float8_e5m2", "int64"}) {
    try {
      List(R"([{"op": "convert", "inputs": ["h"], "output": "y", "dtype": ")" + std::string(type) +
           R"("}])");
      FAIL() << type;
    } catch (const CompileError& error) {
      EXPECT_EQ(error.message_kind(), "dtype");
      EXPECT_THAT(error.what(), HasSubstr("ops[0].dtype = '" + std::string(type) + "'"));
    }
  }
}

TEST(PromoteTypesRefuses, InputsOfATypeThatTheHostDoesNotHave) {
  try {
    ReadNamedGraph(JsonOf(R"({"dims": {"C": 128},
        "tensors": [{"name": "x", "dims": ["C"], "dtype": "float8_e4m3fn"}],
        "ops": [{"op": "convert", "inputs": ["x"], "output": "y", "dtype": "float16"}]})"));
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_EQ(error.message_kind(), "dtype");
    EXPECT_THAT(error.what(), HasSubstr("tensors[0].dtype = 'float8_e4m3fn'"));
  }
}

constexpr const char* kWiden = R"({"op": "convert", "inputs": ["h"], "output": "w",
                                   "dtype": "float32"})";

TEST(Arrangements, OfBothOperandsMustBeTheSame) {
  EXPECT_EQ(RefusalOf("[" + std::string(kWiden) + R"(,
      {"op": "add", "inputs": ["w", "f"], "output": "s"},
      {"op": "convert", "inputs": ["s"], "output": "y", "dtype": "float16"}])"),
            "Unsupported element_arrangement");
  EXPECT_EQ(RefusalOf("[" + std::string(kWiden) + R"(,
      {"op": "add", "inputs": ["w", "r"], "output": "s"},
      {"op": "convert", "inputs": ["s"], "output": "y", "dtype": "float16"}])"),
            "accepted")
      << "what lies one to a stick has no order";
}

TEST(Arrangements, MustBeTheHostsInAnOutput) {
  EXPECT_EQ(RefusalOf("[" + std::string(kWiden) + "]"), "Unsupported element_arrangement");
  EXPECT_EQ(RefusalOf(R"([{"op": "convert", "inputs": ["f"], "output": "y", "dtype": "float16"}])"),
            "Unsupported element_arrangement");
  EXPECT_EQ(RefusalOf(R"([{"op": "convert", "inputs": ["f"], "output": "n", "dtype": "float16"},
      {"op": "convert", "inputs": ["n"], "output": "y", "dtype": "float32"}])"),
            "accepted");
  EXPECT_EQ(RefusalOf("[" + std::string(kWiden) +
                      R"(, {"op": "sum", "inputs": ["w"], "output": "y", "dim": "C"}])"),
            "accepted")
      << "a sum is the same in any order";
}

TEST(Arrangements, AreRestoredByTheOppositeConversionsInTheOppositeOrder) {
  EXPECT_EQ(RefusalOf(R"([
      {"op": "convert", "inputs": ["f"], "output": "q", "dtype": "float8_e4m3fn"},
      {"op": "convert", "inputs": ["q"], "output": "y", "dtype": "float32"}])"),
            "accepted");
  EXPECT_EQ(RefusalOf(R"([
      {"op": "convert", "inputs": ["h"], "output": "q", "dtype": "float8_e4m3fn"},
      {"op": "convert", "inputs": ["q"], "output": "y", "dtype": "float32"}])"),
            "Unsupported element_arrangement");
  EXPECT_EQ(RefusalOf(R"([
      {"op": "convert", "inputs": ["h"], "output": "q", "dtype": "float8_e4m3fn"},
      {"op": "add", "inputs": ["q", "h"], "output": "y"}])"),
            "accepted")
      << "back in float16, the elements are in order";
  EXPECT_EQ(RefusalOf(R"([
      {"op": "convert", "inputs": ["h"], "output": "q", "dtype": "float8_e4m3fn"},
      {"op": "neg", "inputs": ["q"], "output": "y"}])",
                      192),
            "Unsupported partial_stick_conversion")
      << "sticks of float8 have 128 elements";
}

TEST(Arrangements, ConversionsWorkOnWholeSticks) {
  const std::string there_and_back = "[" + std::string(kWiden) + R"(,
      {"op": "convert", "inputs": ["w"], "output": "y", "dtype": "float16"}])";
  EXPECT_EQ(RefusalOf(there_and_back, 96), "Unsupported partial_stick_conversion");
  EXPECT_EQ(RefusalOf(there_and_back, 192), "accepted");
  EXPECT_EQ(RefusalOf(R"([{"op": "sum", "inputs": ["h"], "output": "s", "dim": "C"},
      {"op": "convert", "inputs": ["s"], "output": "y", "dtype": "float32"}])"),
            "Unsupported sparse_stick");
}

}  // namespace
}  // namespace spyre::compiler::promote_types_test
