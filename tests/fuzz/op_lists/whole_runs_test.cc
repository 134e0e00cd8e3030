// SPDX-License-Identifier: Apache-2.0
// Random lists as whole runs: `spyre-cosim run` on a written list, with inputs of its own, random
// keys and a random plan, in a process of its own. Status 0 must mean that the outputs in the files
// are right, 1 that they are not, 2 that a sentence says why the list is refused; nothing else may
// come.
//
// SPYRE_FUZZ_SEED, SPYRE_FUZZ_FIRST, SPYRE_FUZZ_SECONDS: as in op_list_fuzz_test.cc.
// SPYRE_FUZZ_HOST=1: only lists of which the host computes a part.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_text.h"
#include "cosim/tensors/host_data.h"
#include "cosim/tensors/npy.h"
#include "runtime/compiler/list/dead_code.h"
#include "tests/fuzz/op_lists/op_list_check.h"
#include "tests/fuzz/op_lists/random_host_list.h"
#include "tests/fuzz/op_lists/random_op_list.h"
#include "tests/fuzz/op_lists/random_plan.h"
#include "tests/fuzz/op_lists/random_reductions.h"
#include "tests/integration/program_fixture.h"

namespace spyre::fuzz::whole_runs_test {
namespace {

using compiler::NamedGraph;
using compiler::NamedTensor;
using cosim::HostData;

class OpListRuns : public test::ProgramFixture {
 protected:
  struct Counts {
    int runs = 0, refused = 0, failed = 0, planned = 0, on_host = 0;
    int64_t elements = 0, unknown = 0;
    int64_t measured = 0, undecided = 0;  // as the reports say
    std::map<std::string, int> refusals;
  };

  // Keys of a run that change how a list is compiled, launched or verified, but not what it means.
  std::string RandomKeys(std::mt19937& random, bool hints) const {
    const auto pick = [&](const std::vector<std::string>& from) {
      return from[random() % from.size()];
    };
    std::string keys = "[workload]\ngraph = \"list.json\"\n";
    const std::string lx = pick({"all", "all", "public", "none", "co-optimizing"});
    keys += "lx = \"" + lx + "\"\n";
    if (lx == "co-optimizing") keys += "lx_step_bytes = " + pick({"0", "64", "32768"}) + "\n";
    if (lx != "none") keys += "lx_solver = \"" + pick({"greedy", "firstfit", "bestfit"}) + "\"\n";
    keys += "cores = " + pick({"0", "0", "1", "3", "8", "32"}) + "\n";
    keys += "division = \"" + pick({"public", "public", "cost"}) + "\"\n";
    keys += "verify = \"" + pick({"full", "full", "sample"}) + "\"\n";
    // Hints are loops of one program.
    const std::string mode = hints ? "program" : pick({"program", "streams", "task_graph"});
    if (mode == "program") {
      keys += "tiling = " + pick({"true", "true", "true", "false"}) + "\n";
      keys += "agree = " + pick({"true", "true", "false"}) + "\n";
      keys += "tiled_reductions = \"" + pick({"fail", "plan"}) + "\"\n";
    }
    keys += "[workload.issue]\nmode = \"" + mode + "\"\n";
    if (mode == "task_graph") keys += "deps = \"" + pick({"exact", "bytes"}) + "\"\n";
    keys += "[card]\nmode = \"" + pick({"vf", "pf"}) + "\"\n";
    keys += "concurrency = \"" + pick({"serial", "pipelined"}) + "\"\n";
    return keys;
  }

  // At most, of one reduction.
  static int64_t TilesOfHints(const Json& list) {
    int64_t tiles = 1;
    for (const Json& hint : list.value("hints", Json::array()))
      for (const auto& [dim, count] : hint.at("slices").items()) tiles *= count.get<int64_t>();
    return tiles;
  }

  // Writes the list with a file for each input, which `tensors` then has.
  void WriteList(Json list, const NamedGraph& graph, const OracleTensors& tensors) const {
    for (const auto& [name, tensor] : tensors) {
      for (const NamedTensor& named : graph.tensors) {
        if (named.name != name) continue;
        const cosim::HostFormat& format = cosim::HostFormatOf(named.format);
        HostData data(tensor.data.size() * static_cast<size_t>(format.bytes));
        for (size_t i = 0; i < tensor.data.size(); ++i)
          cosim::StoreHost(named.format, tensor.data[i].value, data.data(),
                           static_cast<int64_t>(i));
        cosim::WriteNpy(dir_ + "/" + name + ".npy", format.npy, graph.Shape(named), data.data());
      }
    }
    for (Json& tensor : list.at("tensors"))
      tensor["file"] = tensor.at("name").get<std::string>() + ".npy";
    Write("list.json", list.dump());
  }

  void RunList(uint32_t seed, Counts& counts) {
    std::mt19937 random(seed);
    const bool on_host = seed % 4 == 1 || FromEnvironment("SPYRE_FUZZ_HOST", 0) != 0;
    Json list = seed % 4 == 0 && !on_host ? RandomReductions(seed).Make()
                : on_host                 ? RandomHostList(seed).Make()
                                          : RandomOpList(seed).Make();
    NamedGraph graph;
    try {
      graph = compiler::ReadNamedGraph(list);
    } catch (const Error&) {
      return;  // op_list_fuzz_test.cc looks at what is refused
    }
    const OracleTensors inputs = RandomInputs(graph, random);
    std::string keys = RandomKeys(random, list.contains("hints"));
    if (on_host) ++counts.on_host;
    WriteList(list, graph, inputs);
    // A plan is of one program; from the list, or from a file beside it.
    if (keys.find("mode = \"program\"") != std::string::npos && seed % 3 != 0 && !on_host) {
      Json plan = RandomPlan(compiler::EliminateDeadCode(graph), seed ^ 0x5A5A).Make(true);
      ++counts.planned;
      if (seed % 2 == 0) {
        list["plan"] = std::move(plan);
        WriteList(list, graph, inputs);
      } else {
        Write("plan.json", plan.dump());
        keys = "[workload]\nplan = \"plan.json\"\n" + keys.substr(keys.find('\n') + 1);
      }
    }
    Write("run.toml", keys);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + list.dump() + "\n" + Read("plan.json") +
                 "\n" + keys);
    Outcome outcome = Call("run run.toml --out out --no-progress");
    ++counts.runs;
    if (outcome.status == 2 && outcome.err.find("plan") != std::string::npos) {
      // Without what was refused the list itself is looked at.
      ++counts.refusals["a plan"];
      --counts.planned;
      EXPECT_GT(outcome.err.size(), 40u) << outcome.err;
      list.erase("plan");
      WriteList(list, graph, inputs);
      outcome = Call("run run.toml --out out --no-progress --set workload.plan=");
    }
    if (outcome.status == 2) {
      ++counts.refused;
      const size_t colon = outcome.err.find(": ") + 2;
      ++counts.refusals[outcome.err.substr(colon, 50)];
      EXPECT_GT(outcome.err.size(), 40u) << outcome.err;
      EXPECT_EQ(outcome.err.find("internal"), std::string::npos) << outcome.err;
      return;
    }
    ASSERT_TRUE(outcome.status == 0 || outcome.status == 1) << "status " << outcome.status << "\n"
                                                            << outcome.out << outcome.err;
    const auto verified = SortedJsonOf(Read("out/report.json")).at("verified");
    counts.measured += verified.at("error_elements").get<int64_t>();
    counts.undecided += verified.at("not_decided").get<int64_t>();
    const bool in_tiles = keys.find("tiled_reductions = \"plan\"") != std::string::npos;
    const OpListOracle oracle(list, inputs, in_tiles ? TilesOfHints(list) : 1);
    Judgement all;
    for (const int output : graph.outputs) {
      const NamedTensor& named = graph.tensors[static_cast<size_t>(output)];
      const cosim::NpyArray array =
          cosim::ReadNpy(dir_ + "/out/" + named.name + ".npy", named.name,
                         cosim::HostFormatOf(named.format).npy, graph.Shape(named));
      const Judgement judgement = Judge(graph, named, oracle.At(named.name), [&](int64_t at) {
        return cosim::HostValue(named.format, cosim::HostBits(named.format, array.data.data(), at));
      });
      counts.elements += judgement.elements;
      counts.unknown += judgement.unknown;
      all.unknown += judgement.unknown;
      all.wrong += judgement.wrong;
      if (all.first.empty()) all.first = judgement.first;
    }
    if (outcome.status == 0) {
      EXPECT_EQ(all.wrong, 0) << "status 0, but " << all.first << "\n" << outcome.out;
    } else {
      ++counts.failed;
      std::printf("  seed %u: status 1, %lld elements that the oracle does not know\n%s\n%s\n",
                  seed, static_cast<long long>(all.unknown), list.dump().c_str(),
                  outcome.out.substr(0, 800).c_str());
      EXPECT_GT(all.wrong + all.unknown, 0) << "status 1, but all is right\n" << outcome.out;
    }
  }
};

TEST_F(OpListRuns, TheStatusSaysWhetherTheOutputsAreRight) {
  constexpr uint32_t kRuns = 24;
  const uint32_t first =
      FromEnvironment("SPYRE_FUZZ_FIRST", FromEnvironment("SPYRE_FUZZ_SEED", 0) * 100'000 + 50'000);
  const std::chrono::seconds time(FromEnvironment("SPYRE_FUZZ_SECONDS", 0));
  const auto begin = std::chrono::steady_clock::now();
  Counts counts;
  for (uint32_t i = 0; i < kRuns || std::chrono::steady_clock::now() - begin < time; ++i) {
    RunList(first + i, counts);
    if (HasFailure()) break;
  }
  for (const auto& [what, count] : counts.refusals)
    std::printf("  %5d refused: %s\n", count, what.c_str());
  std::printf(
      "  %d runs, %d with a plan, %d with operations of the host, %d refused, %d status 1, %lld of "
      "%lld elements compared\n",
      counts.runs, counts.planned, counts.on_host, counts.refused, counts.failed,
      static_cast<long long>(counts.elements - counts.unknown),
      static_cast<long long>(counts.elements));
  std::printf("  %lld of %lld elements not decided\n", static_cast<long long>(counts.undecided),
              static_cast<long long>(counts.measured));
  EXPECT_LE(100 * counts.undecided, counts.measured);
  EXPECT_LT(counts.refused, counts.runs * 2 / 3) << "most lists are to be run";
}

}  // namespace
}  // namespace spyre::fuzz::whole_runs_test
