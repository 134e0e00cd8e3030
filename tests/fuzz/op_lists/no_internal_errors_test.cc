// SPDX-License-Identifier: Apache-2.0
// Valid inputs with random options of the compiler, as whole runs: operations, lists and bundles,
// with divisions, tiles, overlap, schedules, cores and sizes of LX. Each is done and right, or
// refused with a sentence for its user. An error that is internal, of a verifier of ours or of the
// card is a defect.
//
// SPYRE_FUZZ_SEED, SPYRE_FUZZ_FIRST, SPYRE_FUZZ_SECONDS: as in op_list_fuzz_test.cc.
// SPYRE_FUZZ_BUNDLES: a directory whose folders are bundles, instead of those of the tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/op_lists/op_list_check.h"
#include "tests/fuzz/op_lists/random_chain.h"
#include "tests/fuzz/op_lists/random_op_list.h"
#include "tests/fuzz/op_lists/random_reductions.h"
#include "tests/integration/program_fixture.h"

namespace spyre::fuzz::no_internal_errors_test {
namespace {

using Texts = std::vector<std::string>;

class RandomRun {
 public:
  explicit RandomRun(uint32_t seed) : random_(seed), seed_(seed) {}

  // A configuration; of a list, also its text in `list`.
  std::string Make(const Texts& bundles, std::string& list) {
    switch (seed_ % 5) {
      case 0:
        Matmul();
        break;
      case 1:
        Rows();
        break;
      case 2:
        Bundle(bundles);
        break;
      default:
        List(list);
    }
    Key("verify", {"full", "full", "sample"});
    std::string text = "[workload]\n" + workload_ + tables_;
    text += "[output]\ninputs = " + Pick({"true", "false"}) + "\n[card]\n";
    text += "mode = \"" + Pick({"vf", "pf"}) + "\"\n";
    text += "cores = " + Pick({"32", "32", "32", "1", "2", "5", "16"}) + "\n";
    text +=
        "concurrency = \"" + Pick({"serial", "pipelined", "concurrent"}) + "\"\npartitions = 1\n";
    if (OneIn(3)) text += "[card.core]\nlx_bytes = " + Pick({"131072", "262144", "1048576"}) + "\n";
    return text;
  }

 private:
  bool OneIn(unsigned n) { return random_() % n == 0; }
  std::string Pick(const Texts& from) { return from[random_() % from.size()]; }
  // A text of one of these, if any: "" leaves the key out.
  void Key(const std::string& name, const Texts& from) {
    const std::string value = Pick(from);
    if (!value.empty()) workload_ += name + " = \"" + value + "\"\n";
  }
  void Number(const std::string& name, const Texts& from) {
    const std::string value = Pick(from);
    if (!value.empty()) workload_ += name + " = " + value + "\n";
  }

  void Compiled() {
    Key("division", {"", "public", "cost", "public-cost"});
    Number("cores", {"", "", "1", "3", "4", "16"});
  }
  // dims: of an operation.
  void Launched(const Texts& dims) {
    Compiled();
    Key("schedule", {"", "own", "public"});
    if (OneIn(2)) {
      tables_ += "[workload.tile]\n";
      for (const std::string& dim : dims)
        if (OneIn(2)) tables_ += dim + " = " + Pick({"1", "13", "64", "96", "128"}) + "\n";
    }
    if (OneIn(3)) {
      tables_ += "[workload.split]\n";
      for (const std::string& dim : dims)
        if (OneIn(2)) tables_ += dim + " = " + Pick({"1", "2", "3", "4", "8", "32"}) + "\n";
    }
    tables_ += "[workload.launch]\nremainder = \"" + Pick({"pad", "fail", "remainder_kernel"}) +
               "\"\nreduction = \"" + Pick({"device", "lx", "plan", "fail"}) + "\"\noverlap = \"" +
               Pick({"none", "double_buffer", "streams"}) + "\"\ndepth = " + Pick({"1", "2", "5"}) +
               "\nrouting = \"" + Pick({"auto", "auto", "tiled"}) + "\"\n";
  }
  void Matmul() {
    workload_ += "op = \"matmul\"\n";
    for (const char* dim : {"m", "k", "n"})
      Number(dim, {"1", "17", "64", "65", "128", "200", "320"});
    if (OneIn(4)) Number("batch", {"2", "3", "8"});
    Launched({"m", "k", "n"});
  }
  void Rows() {
    Key("op", {"add", "mul", "div", "relu", "gelu", "silu", "exp", "softmax", "sum", "mean", "amax",
               "sumrow", "greaterequal", "tanh", "copy", "prod"});
    Number("rows", {"1", "7", "64", "100", "512"});
    Number("cols", {"1", "64", "65", "130", "512", "1000"});
    if (OneIn(4)) Key("axis", {"rows", "cols"});
    Launched({"rows", "cols"});
  }
  void Bundle(const Texts& bundles) {
    workload_ += "bundle = \"" + Pick(bundles) + "\"\n";
    Number("cores", {"", "", "1", "8"});
  }
  void List(std::string& list) {
    list = (OneIn(4)   ? RandomReductions(seed_).Make()
            : OneIn(3) ? RandomChain(seed_).Make()
                       : RandomOpList(seed_).Make())
               .dump();
    workload_ += "graph = \"list.json\"\n";
    Compiled();
    Key("compiler", {"", "own", "public", "public-rfc"});
    Number("chunk_bytes", {"", "", "256", "4096", "32768"});
    Key("lx", {"", "all", "public", "none", "co-optimizing"});
    Key("lx_solver", {"", "greedy", "firstfit", "bestfit"});
    Key("tiled_reductions", {"", "fail", "plan"});
    Number("tiling", {"", "true", "false"});
    Number("agree", {"", "true", "false"});
    tables_ += "[workload.issue]\nmode = \"" +
               Pick({"program", "program", "streams", "task_graph"}) + "\"\ndeps = \"" +
               Pick({"exact", "bytes", "hybrid", "hybrid_bytes"}) + "\"\nrelease = \"" +
               Pick({"events", "host"}) + "\"\n";
  }

  std::mt19937 random_;
  uint32_t seed_;
  std::string workload_, tables_;
};

class NoInternalErrors : public test::ProgramFixture {
 protected:
  struct Counts {
    int runs = 0, done = 0, wrong = 0, refused = 0;
    std::map<std::string, int> refusals;
  };

  static Texts Bundles() {
    Texts bundles;
    const char* const other = std::getenv("SPYRE_FUZZ_BUNDLES");
    const Texts roots = other != nullptr ? Texts{other}
                                         : Texts{SPYRE_SOURCE_DIR "/tests/data/bundles",
                                                 SPYRE_SOURCE_DIR "/tests/data/captured_bundles"};
    for (const std::string& root : roots)
      for (const auto& entry : std::filesystem::directory_iterator(root))
        if (entry.is_directory()) bundles.push_back(entry.path().string());
    std::sort(bundles.begin(), bundles.end());
    return bundles;
  }

  // Leaves the key out that the error says has no effect. False: it says nothing such.
  static bool DropKeyWithoutEffect(const std::string& error, std::string& keys) {
    const size_t end = error.find(" = ");
    if (error.find(" has no effect") == std::string::npos || end == std::string::npos) return false;
    const size_t begin = error.rfind('.', end) + 1;
    const size_t line = keys.find("\n" + error.substr(begin, end - begin) + " = ");
    if (line == std::string::npos) return false;
    keys.erase(line, keys.find('\n', line + 1) - line);
    return true;
  }

  void Run(uint32_t seed, const Texts& bundles, Counts& counts) {
    std::string list;
    std::string keys = RandomRun(seed).Make(bundles, list);
    Write("list.json", list);
    Outcome outcome{};
    do {
      Write("run.toml", keys);
      outcome = Call("run run.toml --out out --no-progress");
    } while (outcome.status == 2 && DropKeyWithoutEffect(outcome.err, keys));
    ++counts.runs;
    counts.done += outcome.status == 0 ? 1 : 0;
    if (outcome.status == 1) {
      ++counts.wrong;
      std::printf("  seed %u: status 1\n%s\n", seed, outcome.out.substr(0, 400).c_str());
    }
    if (outcome.status == 2) {
      ++counts.refused;
      ++counts.refusals[outcome.err.substr(0, 70)];
    }
    const std::string text = outcome.out + outcome.err;
    const bool is_internal =
        text.find("internal") != std::string::npos || text.find("verifier") != std::string::npos;
    // 1: numbers beyond float16, and the like; whole_runs_test.cc looks whether that is right.
    if (outcome.status >= 0 && outcome.status <= 2 && !is_internal) {
      EXPECT_TRUE(outcome.status != 2 || outcome.err.size() > 40) << outcome.err;
      return;
    }
    ADD_FAILURE() << "seed " << seed << ": status " << outcome.status << "\n"
                  << text.substr(0, 2000) << "\n"
                  << keys << list;
  }
};

TEST_F(NoInternalErrors, ComeOfValidInputsWithAnyOptions) {
  constexpr uint32_t kRuns = 30;
  const uint32_t first =
      FromEnvironment("SPYRE_FUZZ_FIRST", FromEnvironment("SPYRE_FUZZ_SEED", 0) * 100'000);
  const std::chrono::seconds time(FromEnvironment("SPYRE_FUZZ_SECONDS", 0));
  const auto begin = std::chrono::steady_clock::now();
  const Texts bundles = Bundles();
  Counts counts;
  for (uint32_t i = 0; i < kRuns || std::chrono::steady_clock::now() - begin < time; ++i)
    Run(first + i, bundles, counts);
  for (const auto& [what, count] : counts.refusals)
    std::printf("  %5d refused: %s\n", count, what.c_str());
  std::printf("  %d runs: %d done and right, %d with status 1, %d refused\n", counts.runs,
              counts.done, counts.wrong, counts.refused);
  EXPECT_GT(counts.done, counts.runs / 4) << "many are to be run";
}

}  // namespace
}  // namespace spyre::fuzz::no_internal_errors_test
