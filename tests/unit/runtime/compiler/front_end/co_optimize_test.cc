// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/front_end/co_optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/ranges.h"
#include "runtime/compiler/front_end/pipeline.h"
#include "runtime/compiler/front_end/plan_facts.h"
#include "runtime/compiler/graph_form/graph_form.h"

namespace spyre::compiler::co_optimize_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

FrontEndOptions CoOptimizing(CoOptimizeCost cost = {}) {
  FrontEndOptions options;
  options.co_optimize = cost;
  return options;
}

// y = a + b, x = exp(y), z = x * b, on [1024, B].
Json Chain(int64_t columns) {
  Json list = JsonOf(R"({
    "dims": {"A": 1024, "B": 0},
    "tensors": [{"name": "a", "dims": ["A", "B"]}, {"name": "b", "dims": ["A", "B"]}],
    "ops": [{"op": "add", "inputs": ["a", "b"], "output": "y"},
            {"op": "exp", "inputs": ["y"], "output": "x"},
            {"op": "mul", "inputs": ["x", "b"], "output": "z"}]})");
  list["dims"]["B"] = columns;
  return list;
}

std::string LoopsOf(const FrontEndResult& result) { return FactsOf(result).loops; }

std::string TextOf(const Decision& decision) {
  std::string text = decision.subject + ": " + decision.chosen + " because " + decision.because;
  for (const Decision::Refused& refused : decision.refused)
    text += "; not " + refused.candidate + ": " + refused.rule;
  return text;
}

// ---------------------------------------------------------------- brute force

// What a plan costs, counted here: sticks of 128 bytes that each operation walks of tensors that
// have no place in LX, in each iteration; executions; operations.
class OwnCost {
 public:
  OwnCost(const FrontEndResult& result, const CoOptimizeCost& cost)
      : result_(result), cost_(cost) {}

  int64_t Count() const {
    int64_t total = 0;
    for (const GraphOp& op : result_.graph.ops) {
      if (op.kind == GraphOp::Kind::kEmpty) continue;
      int64_t iterations = 1;
      for (size_t level = 0; op.loop && level < op.loop->count.size(); ++level)
        iterations *= op.loop->count[level].number();
      std::vector<int> own;
      for (size_t d = 0; d < op.ranges.size(); ++d) own.push_back(static_cast<int>(d));
      const bool mutates = op.layout.kind == BufferLayout::Kind::kMutation;
      int64_t bytes = Bytes(op, mutates ? op.layout.target : op.name, own);
      for (const GraphRead& read : op.reads) bytes += Bytes(op, read.buffer, read.loop);
      total += iterations * (bytes + cost_.bytes_per_step) + cost_.bytes_per_operation;
    }
    return total;
  }

 private:
  int64_t Bytes(const GraphOp& op, const std::string& buffer, const std::vector<int>& walk) const {
    for (const LxBufferPlan& place : result_.lx.buffers)
      if (place.name == buffer && place.lx_address) return 0;
    const StickLayout& layout = result_.graph.LayoutOf(buffer).device;
    int64_t sticks = 1;
    for (size_t d = 0; d < walk.size(); ++d) {
      if (walk[d] < 0) continue;
      const auto loop = static_cast<size_t>(walk[d]);
      const int64_t range = loop < op.ranges.size()
                                ? op.ranges[loop].number()
                                : op.reduction_ranges[loop - op.ranges.size()].number();
      sticks *= layout.stick_dim() == static_cast<int>(d) ? (range + 63) / 64 : range;
    }
    return 128 * sticks;
  }

  const FrontEndResult& result_;
  const CoOptimizeCost& cost_;
};

// Every plan of a list: all divisions into runs of neighbours, each run without a loop or in every
// loop nest along up to two dimensions of its operations; what one run leaves to another in device
// memory; any other results there too. Each is compiled as a plan of the user's.
class AllPlans {
 public:
  AllPlans(Json list, FrontEndOptions options)
      : list_(std::move(list)), named_(ReadNamedGraph(list_)), options_(options) {
    for (const Json& op : list_["ops"]) ops_.push_back(op["output"]);
    for (const auto& [dim, size] : list_["dims"].items())
      for (int64_t count = 2; count <= size.get<int64_t>(); ++count)
        if (size.get<int64_t>() % (dim == "B" ? count * 64 : count) == 0)  // B is inside sticks
          levels_.push_back({dim, count});
    options_.co_optimize.reset();
    Runs(0, {}, {});
  }

  int64_t cheapest() const { return cheapest_; }
  int tried() const { return tried_; }
  int compiled() const { return compiled_; }

 private:
  void Runs(size_t begin, const Json& groups, std::vector<size_t> run_of) {
    if (begin == ops_.size()) return Compile(groups, run_of);
    for (size_t end = begin + 1; end <= ops_.size(); ++end) {
      run_of.push_back(begin);
      Runs(end, groups, run_of);
      const Json body(std::vector<std::string>(ops_.begin() + static_cast<std::ptrdiff_t>(begin),
                                               ops_.begin() + static_cast<std::ptrdiff_t>(end)));
      for (const auto& outer : levels_) {
        const Json one = {outer.second, {outer.first}};
        Add(end, groups, {body, Json::array({one})}, run_of);
        for (const auto& inner : levels_)
          if (inner.first > outer.first)
            Add(end, groups, {body, {one, {inner.second, {inner.first}}}}, run_of);
      }
    }
  }

  void Add(size_t end, Json groups, const Json& group, const std::vector<size_t>& run_of) {
    groups.push_back(group);
    Runs(end, groups, run_of);
  }

  bool Crosses(size_t op, const std::vector<size_t>& run_of) const {
    for (size_t reader = op + 1; reader < ops_.size(); ++reader)
      for (const Json& input : list_["ops"][reader]["inputs"])
        if (input == ops_[op] && run_of[reader] != run_of[op]) return true;
    return false;
  }

  void Compile(const Json& groups, const std::vector<size_t>& run_of) {
    for (unsigned set = 0; set < (1U << ops_.size()); ++set) {
      Json plan = {{"groups", groups.is_null() ? Json::array() : groups}, {"lx", Json::object()}};
      bool again = false;  // a set that is the same as another
      for (size_t i = 0; i < ops_.size(); ++i) {
        const bool out = (set >> i & 1U) != 0;
        again = again || (out && Crosses(i, run_of));
        if (out || Crosses(i, run_of)) plan["lx"][ops_[i]] = "device";
      }
      if (again) continue;
      ++tried_;
      FrontEndOptions options = options_;
      try {
        options.plan = ReadPlan(plan, "plan");
        const FrontEndResult result = CompileNamedGraph(named_, options);
        // An operation that does all of its work in every iteration is not a tile of anything.
        if (!result.log.empty()) continue;
        ++compiled_;
        cheapest_ = std::min(cheapest_, OwnCost(result, cost_).Count());
      } catch (const CompileError&) {
      }
    }
  }

  Json list_;
  NamedGraph named_;
  FrontEndOptions options_;
  CoOptimizeCost cost_ = *options_.co_optimize;
  std::vector<std::string> ops_;
  std::vector<std::pair<std::string, int64_t>> levels_;
  int64_t cheapest_ = std::numeric_limits<int64_t>::max();
  int tried_ = 0, compiled_ = 0;
};

// Three operations, each on any that are there; sums along either dimension among them.
Json RandomList(std::mt19937& random) {
  const auto below = [&](uint32_t limit) { return random() % limit; };
  Json list = {{"dims", {{"A", 4}, {"B", 128}}},
               {"tensors", {{{"name", "a"}, {"dims", {"A", "B"}}}}},
               {"ops", Json::array()}};
  if (below(2) == 0) list["tensors"].push_back({{"name", "b"}, {"dims", {"B"}}});
  std::vector<std::string> whole = {"a"};  // of both dimensions
  const bool vector = list["tensors"].size() == 2;
  for (int i = 0; i < 3; ++i) {
    const std::string output = "t" + std::to_string(i);
    const std::string x = whole[whole.size() - 1 - below(std::min<uint32_t>(2, whole.size()))];
    const uint32_t kind = below(i == 2 ? 5 : 4);
    Json op = {{"op", "exp"}, {"inputs", {x}}, {"output", output}};
    if (kind == 1 || kind == 2) {
      op["op"] = kind == 1 ? "add" : "mul";
      op["inputs"].push_back(whole[below(whole.size())]);
    } else if (kind == 3 && vector) {
      op["op"] = "sub";
      op["inputs"].push_back("b");
    } else if (kind == 4) {
      op["op"] = "sum";
      op["dim"] = below(2) == 0 ? "A" : "B";
    }
    if (kind != 4) whole.push_back(output);
    list["ops"].push_back(std::move(op));
  }
  bool reads_b = false;
  for (const Json& op : list["ops"])
    for (const Json& input : op["inputs"]) reads_b = reads_b || input == "b";
  if (vector && !reads_b) list["tensors"].erase(1);
  return list;
}

TEST(CoOptimize, FindsTheCheapestOfAllPlans) {
  // With a sanitizer, the thousands of plans of each list take a hundred times as long.
  const bool few = std::getenv("SPYRE_FEW_SEEDS") != nullptr;
  int tiled = 0, plain = 0;
  for (uint32_t seed = 0; seed < (few ? 1 : 12); ++seed) {
    std::mt19937 random(seed);
    const Json list = RandomList(random);
    FrontEndOptions options =
        CoOptimizing({static_cast<int64_t>(random() % 96), static_cast<int64_t>(random() % 64)});
    options.division.max_cores = options.lx.cores = random() % 2 == 0 ? 1 : 2;
    options.lx.capacity = int64_t{128} << random() % 4;
    options.lx.solver = static_cast<LxSolver>(random() % 3);
    SCOPED_TRACE(list.dump() + " on " + std::to_string(options.lx.cores) + " cores, LX of " +
                 std::to_string(options.lx.capacity));
    const FrontEndResult result = CompileNamedGraph(ReadNamedGraph(list), options);
    const AllPlans all(list, options);
    ASSERT_GT(all.compiled(), 20);
    EXPECT_EQ(OwnCost(result, *options.co_optimize).Count(), all.cheapest())
        << "of " << all.compiled() << " plans; it is " << LoopsOf(result);
    EXPECT_EQ(CostOf(result.graph, result.lx, options), all.cheapest());
    tiled += result.groups.empty() ? 0 : 1;
    plain += result.groups.empty() && result.kept_out.empty() ? 1 : 0;
  }
  EXPECT_GE(tiled, few ? 0 : 3);
  EXPECT_GE(plain, few ? 0 : 1);
}

TEST(CoOptimize, KeepsAResultOutOfLxWhereOthersSaveMoreInItsPlace) {
  // One stick each, LX has room for one: p would take it until z reads it, and save 2 transfers; q
  // saves 3.
  const Json list = JsonOf(R"({
    "dims": {"B": 64},
    "tensors": [{"name": "a", "dims": ["B"]}],
    "ops": [{"op": "tanh", "inputs": ["a"], "output": "p"},
            {"op": "neg", "inputs": ["a"], "output": "q"},
            {"op": "mul", "inputs": ["q", "a"], "output": "r"},
            {"op": "add", "inputs": ["q", "r"], "output": "s"},
            {"op": "mul", "inputs": ["s", "p"], "output": "z"}]})");
  FrontEndOptions options = CoOptimizing({1, 1});
  options.division.max_cores = options.lx.cores = 1;
  options.lx.capacity = 128;
  const FrontEndResult result = CompileNamedGraph(ReadNamedGraph(list), options);
  EXPECT_EQ(result.kept_out.count("p"), 1u);
  EXPECT_TRUE(result.lx.Find("q")->lx_address);
  EXPECT_EQ(OwnCost(result, *options.co_optimize).Count(), AllPlans(list, options).cheapest());
  FrontEndOptions greedy = options;
  greedy.co_optimize.reset();
  EXPECT_FALSE(CompileNamedGraph(ReadNamedGraph(list), greedy).lx.Find("q")->lx_address);
}

// ---------------------------------------------------------------- what it leaves alone

TEST(CoOptimize, IsOffUnlessAskedFor) {
  for (const std::string& preset : CompilerPresetNames())
    EXPECT_FALSE(OptionsOf(CompilerPresetFromName(preset)).co_optimize) << preset;
}

TEST(CoOptimize, ListsWhereNothingIsGainedComeOutAsTheyWere) {
  const NamedGraph graph = ReadNamedGraph(Chain(256));
  const FrontEndResult with = CompileNamedGraph(graph, CoOptimizing());
  const FrontEndResult without = CompileNamedGraph(graph, FrontEndOptions());
  EXPECT_THAT(with.groups, IsEmpty());
  EXPECT_THAT(with.kept_out, IsEmpty());
  for (const char* stage : {"graph", "division", "lx", "opspec"})
    EXPECT_EQ(DumpStage(with, stage), DumpStage(without, stage)) << stage;
  const auto told = FindIf(with.decisions, [](const Decision& decision) {
    return decision.subject == "co-optimization";
  });
  ASSERT_NE(told, with.decisions.end());
  EXPECT_EQ(told->chosen, "no new loops");
  EXPECT_THAT(told->because, HasSubstr("nothing is gained"));
}

TEST(CoOptimize, HintsStayAndOtherOperationsAreGroupedBesideThem) {
  Json list = Chain(32768);
  list["ops"].push_back({{"op", "neg"}, {"inputs", {"z"}}, {"output", "v"}});
  list["ops"].push_back({{"op", "abs"}, {"inputs", {"v"}}, {"output", "w"}});
  list["hints"] = {{{"ops", {"y", "x"}}, {"slices", {{"B", 8}}}}};
  const FrontEndResult result = CompileNamedGraph(ReadNamedGraph(list), CoOptimizing());
  EXPECT_EQ(LoopsOf(result), "8x[y x] 4x[z v w]");
  EXPECT_THAT(result.groups[0].ops, ElementsAre("y", "x"));
}

TEST(CoOptimize, GroupsOfAPlanAreTheUsersAnswer) {
  FrontEndOptions options = CoOptimizing();
  options.plan = ReadPlan(JsonOf(R"({"groups": []})"), "plan");
  EXPECT_EQ(LoopsOf(CompileNamedGraph(ReadNamedGraph(Chain(32768)), options)), "y x z");
}

TEST(CoOptimize, KeepsToPinsAndSplitsOfAPlan) {
  FrontEndOptions options = CoOptimizing();
  options.plan = ReadPlan(JsonOf(R"({"lx": {"y": "device"}, "splits": {"x": {"A": 8}}})"), "plan");
  const FrontEndResult result = CompileNamedGraph(ReadNamedGraph(Chain(32768)), options);
  EXPECT_FALSE(result.lx.Find("y") != nullptr && result.lx.Find("y")->lx_address);
  EXPECT_EQ(result.divisions.at("x").cores_used, 8);
}

// ---------------------------------------------------------------- what it tells and what it costs

TEST(CoOptimize, TellsWhyAGroupWasMadeAndWhatTheOthersCost) {
  // 64 MiB a tensor: on each of 32 cores two of 2 MiB do not fit, two of 1 MiB do not either, but x
  // takes the place of y. Traffic: a, b, b and z. Without a loop y and x go out and come in again.
  constexpr int64_t kTensor = int64_t{1024} * 32768 * 2;
  const FrontEndResult result =
      CompileNamedGraph(ReadNamedGraph(Chain(32768)), CoOptimizing({1000, 10}));
  EXPECT_EQ(LoopsOf(result), "2x[y x z]");
  const auto told = FindIf(result.decisions, [](const Decision& decision) {
    return decision.because.rfind("co-optimization finds", 0) == 0;
  });
  ASSERT_NE(told, result.decisions.end());
  const std::string text = TextOf(*told);
  EXPECT_THAT(text, HasSubstr("A = 2 around y, x, z"));
  EXPECT_THAT(text, HasSubstr(fmt::format("it costs {} ({} bytes of traffic, 6 steps)",
                                          4 * kTensor + 6 * 1000 + 3 * 10, 4 * kTensor)));
  EXPECT_THAT(text, HasSubstr(fmt::format("cost {} ({} bytes of traffic, 3 steps)",
                                          8 * kTensor + 3 * 1000 + 3 * 10, 8 * kTensor)));
  EXPECT_THAT(text, HasSubstr("not B = 2: "));
}

TEST(CoOptimize, StepsThatCostMoreThanTheySaveAreNotTaken) {
  constexpr int64_t kTensor = int64_t{1024} * 32768 * 2;
  const NamedGraph graph = ReadNamedGraph(Chain(32768));
  // A loop of two saves four tensors, and takes three steps more.
  EXPECT_EQ(LoopsOf(CompileNamedGraph(graph, CoOptimizing({4 * kTensor / 3 - 1, 0}))), "2x[y x z]");
  EXPECT_EQ(LoopsOf(CompileNamedGraph(graph, CoOptimizing({4 * kTensor / 3 + 1, 0}))), "y x z");
}

TEST(CoOptimize, LoopsThatAreWrittenOutCostTheirOperations) {
  constexpr int64_t kTensor = int64_t{1024} * 32768 * 2;
  FrontEndOptions options = CoOptimizing({0, 4 * kTensor / 3 + 1});
  const NamedGraph graph = ReadNamedGraph(Chain(32768));
  EXPECT_EQ(LoopsOf(CompileNamedGraph(graph, options)), "2x[y x z]");
  options.dialect = BundleDialect::kBakedAddresses;
  EXPECT_EQ(LoopsOf(CompileNamedGraph(graph, options)), "y x z");
}

TEST(CoOptimize, ReductionsAreNotDividedAlongWhatTheyReduce) {
  Json list = Chain(32768);
  list["ops"].push_back({{"op", "sum"}, {"inputs", {"z"}}, {"dim", "A"}, {"output", "s"}});
  const FrontEndResult result = CompileNamedGraph(ReadNamedGraph(list), CoOptimizing());
  for (const TileGroup& group : result.groups)
    for (const std::string& op : group.ops)
      EXPECT_TRUE(op != "s" || result.loop_names.at("s")[0] == "B");
  EXPECT_EQ(LoopsOf(result), "4x[y x z s]") << "along B, in as many tiles as let x and z stay";
}

TEST(CoOptimize, OperationsOfACompositeAreGroupedLikeOthers) {
  const Json list = JsonOf(R"({
    "dims": {"R": 2048, "C": 16384},
    "tensors": [{"name": "x", "dims": ["R", "C"]}],
    "ops": [{"op": "softmax", "inputs": ["x"], "dim": "C", "output": "p"}]})");
  const FrontEndResult result = CompileNamedGraph(ReadNamedGraph(list), CoOptimizing());
  EXPECT_EQ(LoopsOf(result), "2x[p.max p.sub p.exp p.sum p]");
  constexpr int64_t kTensor = int64_t{2048} * 16384 * 2;
  EXPECT_EQ(FactsOf(result).traffic.bytes_read, 2 * kTensor);
  EXPECT_EQ(FactsOf(result).traffic.bytes_written, kTensor);
}

TEST(CoOptimize, TheGraphFormKeepsWhatWasChosen) {
  FrontEndOptions options = CoOptimizing({0, 0});
  FrontEndResult graph;
  graph.primitives = ReadNamedGraph(Chain(32768));
  RunPasses({"hints"}, options, graph);
  graph.kept_out["y"] = "a reason";
  const OrderedJson written = ToJson(options, graph);
  const GraphForm read = GraphFormFromJson(written);
  EXPECT_EQ(read.graph.kept_out, graph.kept_out);
  EXPECT_EQ(read.graph.groups.size(), 1u);
  ASSERT_TRUE(read.options.co_optimize);
  EXPECT_EQ(read.options.co_optimize->bytes_per_step, 0);
  EXPECT_EQ(ToJson(read.options, read.graph), written);
}

}  // namespace
}  // namespace spyre::compiler::co_optimize_test
