// SPDX-License-Identifier: Apache-2.0
// The graph as JSON: what is written reads back, in every state, and passes one by one over it make
// what the compiler makes in one go.
#include "runtime/compiler/graph_form/graph_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/json_text.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/passes/graph_passes.h"
#include "tests/fuzz/op_lists/random_op_list.h"

namespace spyre::compiler::graph_form_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// With a sanitizer a list takes forty times as long.
const uint32_t kLists = std::getenv("SPYRE_FEW_SEEDS") != nullptr ? 8 : 80;

// Every other list with rules that are not the default.
FrontEndOptions OptionsOf(uint32_t seed) {
  FrontEndOptions options;
  if (seed % 2 == 0) return options;
  options.division.max_cores = 1 + static_cast<int>(seed % 32);
  options.lx.cores = options.division.max_cores;
  options.division.agree = seed % 3 != 0;
  options.division.rule = seed % 5 == 0 ? SplitRule::kCost : SplitRule::kPublic;
  options.lx.solver = static_cast<LxSolver>(seed % 3);
  options.lx.capacity = 1 << (12 + seed % 8);
  options.tiling = seed % 7 != 0;
  return options;
}

std::optional<NamedGraph> ReadList(uint32_t seed) {
  try {
    return ReadNamedGraph(fuzz::RandomOpList(seed).Make());
  } catch (const Error&) {
    return std::nullopt;  // not every random list is one
  }
}

TEST(GraphForm, WhatIsWrittenReadsBackAsTheSameTextBehindEveryPass) {
  size_t graphs = 0;
  for (uint32_t seed = 0; seed < kLists; ++seed) {
    const auto list = ReadList(seed);
    if (!list) continue;
    const FrontEndOptions options = OptionsOf(seed);
    FrontEndResult graph;
    graph.primitives = *list;
    PassObserver observer;
    observer.after = [&](const FrontEndPass& pass, const FrontEndResult& now) {
      const auto written = ToJson(options, now);
      const std::string text = ReadableText(written);
      const auto parsed = ParseOrderedJson(text, "graph");
      ASSERT_EQ(parsed, written) << seed << " " << pass.name;
      const GraphForm read = GraphFormFromJson(parsed);
      ASSERT_EQ(ReadableText(ToJson(read.options, read.graph)), text) << seed << " " << pass.name;
      ++graphs;
    };
    try {
      RunPasses({"hints", "bundle"}, options, graph, observer);
    } catch (const CompileError& error) {
      EXPECT_NE(error.type(), "VerifierError") << seed << " " << error.what();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << seed << " " << error.what();
    }
  }
  EXPECT_GT(graphs, 5 * kLists);
}

// One process for each pass, with text between them.
TEST(GraphForm, PassesOneByOneMakeTheBundleThatTheCompilerMakesInOneGo) {
  size_t compiled = 0;
  for (uint32_t seed = 0; seed < kLists; ++seed) {
    const auto list = ReadList(seed);
    if (!list) continue;
    const FrontEndOptions options = OptionsOf(seed);
    FrontEndResult graph;
    graph.primitives = *list;
    std::string text = ReadableText(ToJson(options, graph)), error;
    for (const FrontEndPass& pass : FrontEndPasses()) {
      const GraphAnswer answer = RunGraphPasses(std::string(pass.name), text, "graph", true);
      error = answer.error;
      if (!error.empty()) break;
      text = answer.text;
    }
    try {
      const FrontEndResult once = CompileNamedGraph(*list, options);
      const BundleDialect dialect = DialectFor(once, options);
      const Bundle bundle = EmitBundle(once.source, dialect);
      RefuseShortArguments(once, bundle);
      ASSERT_EQ(error, "") << seed << ": in one go it is not refused";
      const Json one_by_one = JsonOf(text);
      const GraphForm form = GraphFormFromJson(one_by_one);
      EXPECT_EQ(ToSource(form.graph.source), ToSource(once.source)) << seed;
      const std::vector<BundleFile> files = FilesOf(bundle, dialect);
      ASSERT_EQ(form.graph.bundle.size(), files.size()) << seed;
      for (size_t i = 0; i < files.size(); ++i) {
        EXPECT_EQ(form.graph.bundle[i].name, files[i].name) << seed;
        EXPECT_EQ(form.graph.bundle[i].text, files[i].text) << seed << " " << files[i].name;
      }
      ASSERT_EQ(form.graph.arguments.size(), once.arguments.size()) << seed;
      for (size_t i = 0; i < once.arguments.size(); ++i) {
        EXPECT_EQ(form.graph.arguments[i].tensor, once.arguments[i].tensor) << seed;
        EXPECT_EQ(form.graph.arguments[i].layout.device_size, once.arguments[i].layout.device_size);
      }
      ++compiled;
    } catch (const Error& refusal) {
      EXPECT_THAT(error, HasSubstr(refusal.what())) << seed << ": one by one is not refused";
    }
  }
  EXPECT_GT(compiled, kLists / 4);
}

const char* const kChain = R"({
  "dims": {"A": 512, "B": 512},
  "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]}],
  "ops": [{"op": "softmax", "inputs": ["a"], "output": "y", "dim": "B"},
          {"op": "mul", "inputs": ["y", "b"], "output": "z"}],
  "hints": [{"slices": {"A": 2}}]})";

Json Answer(const std::string& passes, const std::string& text) {
  const GraphAnswer answer = RunGraphPasses(passes, text, "graph", false);
  EXPECT_EQ(answer.error, "");
  return JsonOf(answer.text);
}

TEST(GraphPasses, APassRunsThoseThatItNeeds) {
  EXPECT_EQ(Answer("decompose,stick,division,lx", kChain)["passes"],
            Json({"decompose", "promote_types", "stick", "lower", "insert_bmm_padding",
                  "chunk_large_tensors", "division", "lx"}));
  EXPECT_EQ(Answer("hints,division", kChain)["passes"],
            Json({"decompose", "promote_types", "stick", "lower", "insert_bmm_padding",
                  "chunk_large_tensors", "hints", "tile", "propagate", "division"}))
      << "tiling that was begun is finished";
}

TEST(GraphPasses, HintsThatNoPassReadAreInTheLog) {
  EXPECT_THAT(Answer("division", kChain)["log"].dump(), HasSubstr("the list has hints"));
  EXPECT_FALSE(Answer("hints,division", kChain).contains("log"));
}

TEST(GraphPasses, AListIsAGraphAndSoIsWhatAPassPrinted) {
  const Json graph = Answer("decompose", kChain);
  EXPECT_EQ(graph["ops"].size(), 6u) << "max, sub, exp, sum, div; mul";
  EXPECT_EQ(graph["ops"][0]["output"], "y.max");
  EXPECT_FALSE(graph.contains("graph"));
  const Json lowered = Answer("lower", graph.dump());
  EXPECT_EQ(lowered["graph"]["operations"][0]["loops"], Json({"A", "", "B"}));
}

TEST(GraphPasses, WorkMayBeDividedAgainAfterAnOptionWasChanged) {
  Json graph = Answer("kernel", kChain);
  graph["options"]["cores"] = 4;
  const Json again = Answer("division", graph.dump());
  EXPECT_EQ(again["passes"].back(), "division") << "places and kernel were for other splits";
  EXPECT_FALSE(again.contains("kernel"));
  for (const Json& op : again["graph"]["operations"]) {
    if (op["kind"] == "empty") continue;
    EXPECT_LE(op["cores"].get<int>(), 4);
  }
  for (const Json& decision : again["decisions"]) EXPECT_NE(decision["pass"], "lx");
}

TEST(GraphPasses, ARewritingPassCannotGoBack) {
  const Json graph = Answer("lower", kChain);
  const GraphAnswer answer = RunGraphPasses("stick", graph.dump(), "graph", false);
  EXPECT_THAT(answer.error, HasSubstr("pass 'stick' cannot run behind"));
  const Json refused = JsonOf(answer.text);
  EXPECT_EQ(refused["passes"], graph["passes"]) << "the graph is what it was";
  EXPECT_EQ(refused["error"]["pass"], "stick");
}

TEST(GraphPasses, ARefusalComesWithTheGraphThatThePassWasGiven) {
  Json list = JsonOf(kChain);
  list["hints"] = JsonOf(R"([{"slices": {"A": 3}}])");
  const GraphAnswer answer = RunGraphPasses("hints,kernel", list.dump(), "graph", true);
  EXPECT_THAT(answer.error, HasSubstr("[RuntimeError: not_divisible]"));
  const Json refused = JsonOf(answer.text);
  EXPECT_EQ(refused["error"]["pass"], "tile");
  EXPECT_EQ(refused["error"]["type"], "RuntimeError");
  EXPECT_EQ(refused["error"]["kind"], "not_divisible");
  EXPECT_EQ(refused["passes"].back(), "hints");
  // The error is not a part of the graph: with another hint the passes go on from there.
  Json repaired = refused;
  repaired["graph"]["groups"][0]["levels"][0]["count"] = 4;
  EXPECT_EQ(Answer("tile", repaired.dump())["passes"].back(), "tile");
}

TEST(GraphPasses, WhatIsNoGraphIsRefusedWithThePathOfTheKey) {
  const auto refusal = [](const std::string& pointer, const Json& value) {
    Json graph = Answer("lx", kChain);
    graph[Json::json_pointer(pointer)] = value;
    const GraphAnswer answer = RunGraphPasses("kernel", graph.dump(), "graph", false);
    EXPECT_EQ(JsonOf(answer.text)["error"]["type"], "InvalidInput") << answer.text;
    return answer.error;
  };
  EXPECT_THAT(refusal("/passes/0", "decompos"), HasSubstr("did you mean 'decompose'?"));
  EXPECT_THAT(refusal("/passes/0", "stick"), HasSubstr("'decompose', which 'promote_types' needs"));
  EXPECT_THAT(refusal("/options/solver", "greedy"), HasSubstr("unknown key 'options.solver'"));
  EXPECT_THAT(refusal("/options/cores", 33), HasSubstr("options.cores = 33"));
  EXPECT_THAT(refusal("/tensors/0/dims", Json({"A", "C"})), HasSubstr("tensors[0].dims[1] = 'C'"));
  EXPECT_THAT(refusal("/ops/0/op", "sofmax"), HasSubstr("did you mean 'softmax'?"));
  EXPECT_THAT(refusal("/graph/operations/0/kind", "loop"), HasSubstr("operations[0].kind"));
  EXPECT_THAT(refusal("/graph/operations/0/splits", Json::array({0})), HasSubstr("splits[0] = 0"));
  EXPECT_THAT(refusal("/graph/buffers/0/lives", Json::array({1})), HasSubstr("buffers[0].lives"));
  EXPECT_THAT(refusal("/graph/inputs/0/layout/stride_map", Json::array({1})),
              HasSubstr("one stride_map"));
  EXPECT_THAT(refusal("/graph/inputs/0/layout/size", Json({1 << 30, 1 << 30})),
              HasSubstr("2^48 elements"));
  for (const char* text : {"", "[]", "3", "{\"passes\": 1}", "{\"ops\": []}", "{"}) {
    const GraphAnswer answer = RunGraphPasses("decompose", text, "graph", false);
    EXPECT_NE(answer.error, "") << text;
    EXPECT_EQ(JsonOf(answer.text)["error"]["type"], "InvalidInput") << text;
  }
}

// Anything in the place of anything: an answer or a refusal, and no crash.
TEST(GraphPasses, EveryValueOfAGraphMayBeWrong) {
  const Json graph = Answer("lx", kChain);
  const Json flat = graph.flatten();
  const std::vector<Json> values = {
      nullptr, -1, 0, 1, 1ll << 62, 1ll << 47, "x", true, Json::array(), Json::object(), 0.5};
  std::mt19937 random(7);
  for (int i = 0; i < 600; ++i) {
    auto entry = flat.begin();
    std::advance(entry, random() % flat.size());
    Json wrong = graph;
    wrong[Json::json_pointer(entry.key())] = values[random() % values.size()];
    const GraphAnswer answer = RunGraphPasses("kernel", wrong.dump(), "graph", false);
    EXPECT_TRUE(JsonOf(answer.text).is_object()) << entry.key();
  }
}

TEST(GraphPasses, AKernelThatWasEditedIsNotThatOfTheGraphBesideIt) {
  const std::string list =
      R"({"dims": {"A": 64, "B": 64}, "tensors": [{"name": "a", "dims": ["A", "B"]}],
          "ops": [{"op": "neg", "inputs": ["a"], "output": "y"},
                  {"op": "abs", "inputs": ["y"], "output": "z"}]})";
  Json graph = JsonOf(RunGraphPasses("kernel", list, "list", false).text);
  for (Json& line : graph["kernel"]) {
    std::string text = line.get<std::string>();
    if (text.find("'lx': 0}") != std::string::npos)
      line = text.replace(text.find("'lx': 0}"), 8, "'lx': 2097152}");
  }
  EXPECT_THAT(RunGraphPasses("bundle", graph.dump(), "graph", false).error,
              AllOf(HasSubstr("the graph gives"), HasSubstr("[VerifierError: kernel]")));
  const Json alone = {{"passes", {"kernel"}}, {"kernel", graph["kernel"]}};
  EXPECT_THAT(RunGraphPasses("bundle", alone.dump(), "graph", false).error,
              HasSubstr("allocation in LX at 2097152: LX ends at 2097152"));
}

TEST(GraphPasses, OpSpecSourceComesInBehindKernel) {
  const Json whole = Answer("kernel", kChain);
  const Json source = {{"passes", {"kernel"}}, {"kernel", whole["kernel"]}};
  const Json bundle = Answer("bundle", source.dump());
  EXPECT_THAT(bundle["bundle"]["bundle.mlir"].dump(), HasSubstr("sdsc_execute"));
  EXPECT_TRUE(bundle["bundle"].contains("sdsc_0.json"));
  const GraphAnswer answer = RunGraphPasses("lx", source.dump(), "graph", false);
  EXPECT_NE(answer.error, "") << "there is no list to be placed";
}

}  // namespace
}  // namespace spyre::compiler::graph_form_test
