// SPDX-License-Identifier: Apache-2.0
// Operations that are computed elsewhere: passes leave them as they are, and a kernel of one is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "runtime/compiler/passes/graph_passes.h"

namespace spyre::compiler::extern_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json List(const std::string& hints) {
  return JsonOf(R"({
    "dims": {"A": 512, "B": 512},
    "tensors": [{"name": "a", "dims": ["A", "B"]}],
    "ops": [{"op": "exp", "inputs": ["a"], "output": "y"},
            {"op": "extern", "function": "aten.cumsum", "inputs": ["y"], "output": "c",
             "dims": ["A", "B"]},
            {"op": "mul", "inputs": ["y", "c"], "output": "z"}],
    "hints": )" +
                hints + "}");
}

Json Answer(const std::string& passes, const Json& graph) {
  return JsonOf(RunGraphPasses(passes, graph.dump(), "graph", true).text);
}

TEST(ExternKernel, PassesLeaveItAsItIs) {
  const Json graph = Answer("lx", List("[]"));
  ASSERT_FALSE(graph.contains("error")) << graph["error"];
  const Json& op = graph["graph"]["operations"][1];
  EXPECT_EQ(op["kind"], "extern");
  EXPECT_EQ(op["op"], "aten.cumsum");
  EXPECT_FALSE(op.contains("splits")) << "no cores";
  EXPECT_EQ(graph["graph"]["operations"][0]["cores"], 32);
  EXPECT_EQ(graph["graph"]["operations"][2]["cores"], 32);
  for (const Json& buffer : graph["graph"]["buffers"])
    EXPECT_FALSE(buffer.contains("lx")) << buffer << ": who computes elsewhere sees no LX";
  EXPECT_EQ(Answer("lx", graph)["graph"], graph["graph"]) << "it reads back";
}

TEST(ExternKernel, InBetweenItBreaksAGroup) {
  const Json graph = Answer("tile", List(R"([{"slices": {"A": 2}}])"));
  EXPECT_EQ(graph["error"]["type"], "RuntimeError");
  EXPECT_EQ(graph["error"]["kind"], "not_contiguous");
}

TEST(ExternKernel, AloneInAHintItIsNotStamped) {
  const Json graph = Answer("tile", List(R"([{"ops": ["c"], "slices": {"A": 2}}])"));
  ASSERT_FALSE(graph.contains("error")) << graph["error"];
  for (const Json& op : graph["graph"]["operations"]) EXPECT_FALSE(op.contains("loop")) << op;
}

TEST(ExternKernel, IsNoPartOfAKernel) {
  const Json graph = Answer("kernel", List("[]"));
  EXPECT_EQ(graph["error"]["type"], "Unsupported");
  EXPECT_EQ(graph["error"]["kind"], "extern_kernel");
  EXPECT_THAT(graph["error"]["message"], HasSubstr("'c' is computed by aten.cumsum"));
  EXPECT_EQ(graph["error"]["pass"], "kernel");
}

TEST(ExternKernel, HasToSayWhatItIsAndGives) {
  for (const char* key : {"function", "dims"}) {
    Json list = List("[]");
    list["ops"][1].erase(key);
    EXPECT_THAT(RunGraphPasses("lower", list.dump(), "graph", true).error, HasSubstr(key));
  }
  Json empty = List("[]");
  empty["ops"][1]["dims"] = Json::array();
  EXPECT_THAT(RunGraphPasses("lower", empty.dump(), "graph", true).error,
              HasSubstr("ops[1].dims is empty"));
  Json numbers = List("[]");
  numbers["ops"][1]["inputs"] = {"y", 3};
  EXPECT_EQ(RunGraphPasses("lx", numbers.dump(), "graph", true).error, "");
  Json other = Answer("lower", List("[]"));
  other["graph"]["operations"][1]["op"] = "aten.cumprod";
  EXPECT_THAT(RunGraphPasses("division", other.dump(), "graph", true).error,
              HasSubstr("operation 'c' is aten.cumprod"));
}

}  // namespace
}  // namespace spyre::compiler::extern_test
