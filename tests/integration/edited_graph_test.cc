// SPDX-License-Identifier: Apache-2.0
// A graph from between two passes, edited and run on the card: verified against its list.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::edited_graph_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class EditedGraph : public ProgramFixture {
 protected:
  // y = a + 2, a softmax of it and a product; the softmax is taken apart, and has a constant.
  Json Emitted(const std::string& pass) const {
    Write("list.json", R"({
      "dims": {"A": 64, "B": 256},
      "tensors": [{"name": "a", "dims": ["A", "B"]}],
      "ops": [{"op": "add", "inputs": ["a", 2], "output": "y"},
              {"op": "softmax", "inputs": ["y"], "dim": "B", "output": "p"},
              {"op": "mul", "inputs": ["p", "y"], "output": "z"}]})");
    const Outcome outcome = Call("compile list.json --emit " + pass + " --json");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return JsonOf(outcome.out);
  }
  Json ReportOf(const Json& graph) const {
    Write("graph.json", graph.dump());
    const Outcome outcome = Call("run graph.json --json --set trace.enabled=false");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? JsonOf(outcome.out) : Json();
  }
};

TEST_F(EditedGraph, RunsAsItWasEditedAndIsVerified) {
  Json graph = Emitted("division");
  const Json as_it_was = ReportOf(graph);
  EXPECT_EQ(as_it_was["verified"]["passed"], true) << as_it_was["verified"];
  for (Json& op : graph["graph"]["operations"]) {
    if (op["splits"][0] != 32) continue;
    op["splits"][0] = 2;
    op["cores"] = 2;
  }
  const Json edited = ReportOf(graph);
  EXPECT_EQ(edited["verified"]["passed"], true);
  EXPECT_GT(edited["launch_ns"], as_it_was["launch_ns"]) << "2 cores instead of 32";
}

TEST_F(EditedGraph, RunsFromBehindEveryPass) {
  for (const char* pass : {"decompose", "stick", "lower", "propagate", "lx", "kernel", "bundle"})
    EXPECT_EQ(ReportOf(Emitted(pass))["verified"]["passed"], true) << pass;
}

TEST_F(EditedGraph, IsRefusedByNameWhereItIsWrong) {
  Json graph = Emitted("lx");
  graph["graph"]["operations"][0]["splits"][0] = 3;
  Write("graph.json", graph.dump());
  const Outcome outcome = Call("run graph.json");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("3 slices do not divide loop 0 of 64"));
  EXPECT_THAT(outcome.err, HasSubstr("[VerifierError: split]"));
}

TEST_F(EditedGraph, TakesNoKeysOfAListOrOfABundle) {
  Write("graph.json", Emitted("lx").dump());
  Outcome outcome = Call("run graph.json --set workload.lx=none");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("workload.lx = \"none\" has no effect"));
  outcome = Call("run graph.json --shape 64x256");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("a graph says itself what its arguments are"));
  outcome = Call("compile graph.json --emit lx");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("spyre-cosim opt PASS,... graph.json"));
  Write("run.toml", "[workload]\ngraph = \"graph.json\"\n");
  outcome = Call("run run.toml");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("name it in workload.bundle"));
}

}  // namespace
}  // namespace spyre::test::edited_graph_test
