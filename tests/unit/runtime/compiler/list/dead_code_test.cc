// SPDX-License-Identifier: Apache-2.0
// Dead code by hand-made lists, and random lists against the definition: an operation stays if and
// only if some output is reached from it.
#include "runtime/compiler/list/dead_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/ranges.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "tests/unit/random_cases.h"

namespace spyre::compiler::dead_code_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

NamedGraph List(const Json& ops, const Json& outputs) {
  return ReadNamedGraph({{"dims", {{"A", 64}, {"B", 128}}},
                         {"tensors", {{{"name", "x"}, {"dims", {"A", "B"}}}}},
                         {"ops", ops},
                         {"outputs", outputs}});
}

Json Op(const char* op, const std::vector<std::string>& inputs, const char* output) {
  return {{"op", op}, {"inputs", inputs}, {"output", output}};
}

std::vector<std::string> Results(const NamedGraph& graph) {
  std::vector<std::string> names;
  for (const NamedOp& op : graph.ops)
    names.push_back(graph.tensors[static_cast<size_t>(op.output)].name);
  return names;
}

// x -> y -> out, and x -> dead -> deader, which nobody asks for.
Json WithDeadBranch() {
  return {Op("exp", {"x"}, "y"), Op("neg", {"x"}, "dead"), Op("abs", {"dead"}, "deader"),
          Op("relu", {"y"}, "out")};
}

TEST(DeadCode, RemovesWhatNoOutputNeedsAndNothingElse) {
  const NamedGraph list = List(WithDeadBranch(), {"out"});
  EXPECT_THAT(Results(EliminateDeadCode(list)), ElementsAre("y", "out"));
  EXPECT_THAT(LiveOperations(list), ElementsAre(true, false, false, true));
  EXPECT_THAT(Results(EliminateDeadCode(List(WithDeadBranch(), {"out", "deader"}))),
              ElementsAre("y", "dead", "deader", "out"));
}

TEST(DeadCode, KeepsThePositionsOfTensorsAndTheHintsOfWhatIsLeft) {
  NamedGraph list = List(WithDeadBranch(), {"out"});
  list.hints = {{{1, 2}, {{0, 2}}}, {{0, 1, 2, 3}, {{0, 4}}}};
  const NamedGraph live = EliminateDeadCode(list);
  ASSERT_EQ(live.tensors.size(), list.tensors.size());
  for (size_t i = 0; i < list.tensors.size(); ++i)
    EXPECT_EQ(live.tensors[i].name, list.tensors[i].name);
  ASSERT_EQ(live.hints.size(), 1u) << "a hint around dead operations only is dead too";
  EXPECT_THAT(live.hints[0].ops, ElementsAre(0, 1));
}

TEST(DeadCode, SaysOfEachOperationWhyItIsGone) {
  const std::vector<Decision> decisions = ExplainDeadCode(List(WithDeadBranch(), {"out"}));
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].subject, "dead");
  EXPECT_EQ(decisions[0].because,
            "it is not an output, and only deader reads it, which is removed too");
  EXPECT_EQ(decisions[1].subject, "deader");
  EXPECT_EQ(decisions[1].because, "no operation reads it, and it is not an output");
  EXPECT_THAT(ExplainDeadCode(List(WithDeadBranch(), {"out", "deader"})), IsEmpty());
}

TEST(DeadCode, IsTheFirstPassAndTellsInTheLog) {
  FrontEndResult graph;
  graph.primitives = List(WithDeadBranch(), {"out"});
  RunPasses({"deadcode_elimination", "decompose"}, {}, graph);
  EXPECT_THAT(Results(graph.primitives), ElementsAre("y", "out"));
  EXPECT_EQ(graph.decisions.size(), 2u);
  EXPECT_THAT(graph.log, ElementsAre(testing::HasSubstr("WARNING: 'dead' is not computed"),
                                     testing::HasSubstr("WARNING: 'deader' is not computed")));
}

TEST(DeadCode, AnInputThatOnlyDeadOperationsReadIsNoArgumentOfTheKernel) {
  Json value = {
      {"dims", {{"A", 64}, {"B", 128}}},
      {"tensors", {{{"name", "x"}, {"dims", {"A", "B"}}}, {{"name", "u"}, {"dims", {"A", "B"}}}}},
      {"ops", {Op("exp", {"x"}, "y"), Op("neg", {"u"}, "dead")}},
      {"outputs", {"y"}}};
  const FrontEndResult result = CompileNamedGraph(ReadNamedGraph(value), {});
  std::vector<std::string> names;
  for (const FrontEndArgument& argument : result.arguments) names.push_back(argument.name);
  EXPECT_THAT(names, ElementsAre("x", "y"));
}

TEST(DeadCodeOfRandomLists, IsWhatNoOutputIsReachedFrom) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const int count = test::Draw(random, 1, 11);
    Json ops = Json::array();
    std::vector<std::string> names = {"x"};
    std::vector<std::set<std::string>> reads;
    for (int i = 0; i < count; ++i) {
      const std::string a = names[random() % names.size()];
      const std::string b = names[random() % names.size()];
      const std::string output = "t" + std::to_string(i);
      ops.push_back(Op("add", {a, b}, output.c_str()));
      reads.push_back({a, b});
      names.push_back(output);
    }
    std::vector<std::string> outputs(names.begin() + 1, names.end());
    for (size_t i = outputs.size(); i > 1; --i) std::swap(outputs[i - 1], outputs[random() % i]);
    outputs.resize(test::Draw<size_t>(random, 1, outputs.size()));
    // Forward from each operation, which shares nothing with the walk back from the outputs.
    const std::function<bool(int)> reaches = [&](int op) {
      const std::string name = "t" + std::to_string(op);
      for (const std::string& output : outputs)
        if (output == name) return true;
      for (int reader = op + 1; reader < count; ++reader)
        if (reads[static_cast<size_t>(reader)].count(name) != 0 && reaches(reader)) return true;
      return false;
    };
    const Json value = {{"dims", {{"A", 64}}},
                        {"tensors", {{{"name", "x"}, {"dims", {"A"}}}}},
                        {"ops", ops},
                        {"outputs", outputs}};
    const std::vector<bool> live = LiveOperations(ReadNamedGraph(value));
    for (int op = 0; op < count; ++op) EXPECT_EQ(live[static_cast<size_t>(op)], reaches(op)) << op;
  });
}

}  // namespace
}  // namespace spyre::compiler::dead_code_test
