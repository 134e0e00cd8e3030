// SPDX-License-Identifier: Apache-2.0
// card.fidelity = "fast" for lists of which the card's kernels are a part only: with operations of
// the host between them, and with what several cards do together. The timed model is the measure.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::test::fast_lists_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class FastListsTest : public ProgramFixture {
 protected:
  json Run(const json& list, const std::string& fidelity, const std::string& options = "") {
    Write("list.json", list.dump());
    const Outcome outcome = Call(
        "run list.json --json --set workload.functional=false --set trace.enabled=false "
        "--set card.fidelity=" +
        fidelity + " " + options);
    EXPECT_EQ(outcome.status, 0) << list << options << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : json();
  }
  // What is in the list: a relu, and what the cards do with its result.
  static json Together(int rows, json collective) {
    collective["inputs"] = {"p"};
    collective["output"] = "s";
    return {{"dims", {{"S", rows}, {"H", 1024}}},
            {"tensors", {{{"name", "x"}, {"dims", {"S", "H"}}}}},
            {"ops", {{{"op", "relu"}, {"inputs", {"x"}}, {"output", "p"}}, collective}}};
  }
  static json Gather(int rows, const std::string& op) {
    return {{"dims", {{"S", rows}, {"P", "1024 / cards"}, {"H", 1024}}},
            {"tensors", {{{"name", "x"}, {"dims", {"S", "P"}}}}},
            {"ops",
             {{{"op", "relu"}, {"inputs", {"x"}}, {"output", "p"}},
              {{"op", op}, {"inputs", {"p"}}, {"dim", "P"}, {"into", "H"}, {"output", "s"}}}}};
  }
};

const json kAngles = SortedJsonOf(R"({
  "dims": {"S": 512, "D": 1024},
  "tensors": [{"name": "positions", "dims": ["S"], "dtype": "int32"},
              {"name": "rates", "dims": ["D"]}, {"name": "x", "dims": ["S", "D"]}],
  "ops": [{"op": "convert", "inputs": ["positions"], "dtype": "float16", "output": "p"},
          {"op": "mul", "inputs": ["p", "rates"], "output": "angles"},
          {"op": "sin", "inputs": ["angles"], "output": "s"},
          {"op": "mul", "inputs": ["x", "s"], "output": "y"}]})");

TEST_F(FastListsTest, OperationsOfTheHostTakeWhatTheyTakeOnTheTimedCard) {
  const json fast = Run(kAngles, "fast"), timed = Run(kAngles, "timed");
  EXPECT_EQ(fast["fast"]["closed_form"], true);
  EXPECT_EQ(fast["issue"]["host_operations"], timed["issue"]["host_operations"]);
  double kernels_ns = 0, timed_ns = 0, host_ns = 0;
  for (const json& kernel : fast["kernels"]) kernels_ns += kernel["device_ns"].get<double>();
  for (const json& kernel : timed["kernels"]) timed_ns += kernel["device_ns"].get<double>();
  for (const json& op : fast["issue"]["host_operations"]) host_ns += op["ns"].get<double>();
  EXPECT_NEAR(kernels_ns / timed_ns, 1, 0.1) << kernels_ns << " and " << timed_ns << " ns";
  EXPECT_NEAR(fast["launch_ns"].get<double>(), kernels_ns + host_ns, 1);
}

// Weights of several heads, whose rows or columns lie side by side or apart, and rows in batches:
// that a core computes one matmul after the other, and which cores share what they load.
TEST_F(FastListsTest, ProductsOfManyHeadsTakeWhatTheyTakeOnTheTimedCard) {
  struct Case {
    std::vector<std::string> x, w, y;
  };
  const std::vector<Case> cases = {{{"S", "H"}, {"G", "H", "D"}, {"G", "S", "D"}},
                                   {{"S", "H"}, {"K", "G", "H", "D"}, {"K", "G", "S", "D"}},
                                   {{"S", "H"}, {"K", "H", "D"}, {"S", "K", "D"}},
                                   {{"S", "H"}, {"H", "K", "D"}, {"S", "K", "D"}},
                                   {{"B", "S", "H"}, {"G", "H", "D"}, {"B", "G", "S", "D"}},
                                   {{"G", "S", "H"}, {"K", "G", "H", "D"}, {"K", "G", "S", "D"}}};
  const json sizes = {{"B", 2}, {"S", 64}, {"K", 2}, {"G", 4}, {"H", 1024}, {"D", 128}};
  for (const Case& one : cases) {
    json list = {
        {"tensors", {{{"name", "x"}, {"dims", one.x}}, {{"name", "w"}, {"dims", one.w}}}},
        {"ops", {{{"op", "matmul"}, {"inputs", {"x", "w"}}, {"output", "y"}, {"dims", one.y}}}}};
    for (const std::vector<std::string>& dims : {one.x, one.w})
      for (const std::string& dim : dims) list["dims"][dim] = sizes[dim];
    const json fast = Run(list, "fast"), timed = Run(list, "timed");
    ASSERT_TRUE(fast.contains("kernels") && timed.contains("kernels"));
    double ns[2] = {};
    uint64_t macs[2] = {};
    for (const int i : {0, 1}) {
      for (const json& kernel : (i == 0 ? fast : timed)["kernels"]) {
        ns[i] += kernel["device_ns"].get<double>();
        macs[i] += kernel["macs"].get<uint64_t>();
      }
    }
    EXPECT_NEAR(ns[0] / ns[1], 1, 0.15) << list << ns[0] << " and " << ns[1] << " ns";
    EXPECT_EQ(macs[0], macs[1]) << list;
  }
}

TEST_F(FastListsTest, TheSummaryAndASweepSayWhatTheHostTakes) {
  Write("list.json", kAngles.dump());
  Write("run.toml",
        "[workload]\ngraph = \"list.json\"\nfunctional = false\n[card]\nfidelity = \"fast\"\n");
  const Outcome run = Call("run run.toml --details");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the host computed 2 operations itself"));
  EXPECT_THAT(run.out, HasSubstr("bound by: what the host computes"));
  const Outcome sweep = Call("sweep run.toml --over host.operation_bytes_per_ns=4,8");
  EXPECT_EQ(sweep.status, 0) << sweep.err;
  EXPECT_THAT(sweep.out, HasSubstr("host.operation_bytes_per_ns=8"));
  const Outcome what_if = Call("what-if run.toml --resources");
  EXPECT_EQ(what_if.status, 0) << what_if.err;
  EXPECT_THAT(what_if.out, HasSubstr("bound by: the host"));
}

// Every collective, every algorithm, two to eight cards: within 10 % together, and none beyond 25
// %.
TEST_F(FastListsTest, CollectivesTakeWhatTheyTakeOnTheTimedCards) {
  struct Case {
    int cards;
    std::string algorithm;
    json list;
  };
  const auto op = [](const char* name) { return json{{"op", name}}; };
  const std::vector<Case> cases = {
      {2, "auto", Together(64, op("all_reduce"))},   {2, "ring", Together(2048, op("all_reduce"))},
      {4, "tree", Together(512, op("all_reduce"))},  {4, "ring", Together(512, op("all_reduce"))},
      {4, "direct", Together(64, op("all_reduce"))}, {8, "tree", Together(64, op("all_reduce"))},
      {8, "ring", Together(512, op("all_reduce"))},  {8, "direct", Together(512, op("all_reduce"))},
      {4, "ring", Together(512, op("broadcast"))},   {8, "tree", Together(512, op("broadcast"))},
      {4, "direct", Together(64, op("broadcast"))},  {2, "auto", Together(256, op("send"))},
      {4, "auto", Together(64, op("barrier"))},      {4, "direct", Gather(256, "all_gather")},
      {4, "ring", Gather(256, "all_gather")},        {8, "tree", Gather(128, "all_gather")},
      {4, "direct", Gather(256, "gather_to")},       {4, "ring", Gather(256, "gather_to")}};
  double squares = 0;
  for (const Case& one : cases) {
    const std::string options =
        fmt::format("--set card.mode=pf --set cards.count={} --set cards.algorithm={}", one.cards,
                    one.algorithm);
    const json fast = Run(one.list, "fast", options), timed = Run(one.list, "timed", options);
    ASSERT_TRUE(fast.contains("collectives") && timed.contains("collectives")) << options;
    EXPECT_EQ(fast["fast"]["closed_form"], true);
    const json& mine = fast["collectives"][0];
    const json& measure = timed["collectives"][0];
    for (const char* key : {"name", "operation", "algorithm", "bytes", "ranks"})
      EXPECT_EQ(mine[key], measure[key]) << options;
    for (size_t card = 0; card < mine["cards"].size(); ++card) {
      for (const char* key : {"bytes_sent", "steps"})
        EXPECT_EQ(mine["cards"][card][key], measure["cards"][card][key]) << options;
    }
    const double ratio = mine["time_ns"].get<double>() / measure["time_ns"].get<double>();
    EXPECT_NEAR(ratio, 1, 0.25) << one.list << options;
    squares += (ratio - 1) * (ratio - 1);
  }
  EXPECT_LT(std::sqrt(squares / static_cast<double>(cases.size())), 0.1);
}

// The MLP of tensor parallelism: its kernel, and the sum of all cards. The timed cards have the
// kernels of the sum's additions among theirs.
TEST_F(FastListsTest, ATensorParallelMlpIsWithinTenPercentOfTheTimedCards) {
  double ns[2] = {};
  for (const int i : {0, 1}) {
    const Outcome outcome =
        Call(std::string("run '" SPYRE_SOURCE_DIR "/configs/tensor_parallel_mlp.toml' --json "
                         "--set workload.functional=false --set trace.enabled=false --out out "
                         "--set card.fidelity=") +
             (i == 0 ? "fast" : "timed"));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json report = SortedJsonOf(outcome.out);
    for (const json& kernel : report["kernels"])
      if (kernel["name"] != "add") ns[i] += kernel["device_ns"].get<double>() / 4;
    for (const json& together : report["collectives"]) ns[i] += together["time_ns"].get<double>();
  }
  EXPECT_NEAR(ns[0] / ns[1], 1, 0.1) << ns[0] << " and " << ns[1] << " ns";
}

TEST_F(FastListsTest, ACollectiveOfTheOutputHasAClosedFormToo) {
  Write("run.toml",
        "[workload]\nop = \"copy\"\nrows = 1024\ncols = 1024\nfunctional = false\n"
        "[card]\nmode = \"pf\"\n[cards]\ncount = 4\ncollective = \"all_reduce\"\n"
        "[trace]\nenabled = false\n");
  double ns[2] = {};
  for (const int i : {0, 1}) {
    const Outcome outcome =
        Call(std::string("run run.toml --json --set card.fidelity=") + (i == 0 ? "fast" : "timed"));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    ns[i] = SortedJsonOf(outcome.out)["collective"]["time_ns"];
  }
  EXPECT_NEAR(ns[0] / ns[1], 1, 0.1) << ns[0] << " and " << ns[1] << " ns";
}

TEST_F(FastListsTest, CasesOfListsSayWhatBoundsThem) {
  Write(
      "cases.jsonl",
      R"({"id": "a", "dims": {"A": 512, "B": 512}, "tensors": [{"name": "a", "dims": ["A", "B"]}],)"
      R"( "ops": [{"op": "exp", "inputs": ["a"], "output": "y"}],)"
      R"( "set": {"card.fidelity": "fast", "workload.functional": false}})"
      "\n");
  const Outcome outcome = Call("run --cases cases.jsonl --out out");
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_EQ(SortedJsonOf(outcome.out)["bound_by"], "memory bandwidth") << outcome.out;
}

}  // namespace
}  // namespace spyre::test::fast_lists_test
