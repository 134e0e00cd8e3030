// SPDX-License-Identifier: Apache-2.0
// Whole models: small stacks with data against a decoder in float64, and times, bytes and
// multiplications of runs against arithmetic by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <sstream>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/report/report.h"
#include "cosim/report/report_model.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::model_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Two query heads for each key and value head, in two layers.
RunConfig Small(const std::vector<std::string>& sets) {
  return ParseConfig(
      "[workload]\ndistribution = \"normal\"\n"
      "[workload.model]\nlayers = 2\nhidden = 128\nmlp = 192\nheads = 4\nkv_heads = 2\n"
      "head_size = 64\nsequence = 64\n[trace]\nenabled = false\n",
      "model.toml", sets);
}

RunResult RunModel(const RunConfig& config) { return RunSession(config, test::OutDir()); }

std::vector<std::string> Model(const std::vector<std::string>& keys) {
  std::vector<std::string> sets;
  for (const std::string& key : keys) sets.push_back("workload.model." + key);
  return sets;
}

struct Case {
  std::string name;
  std::vector<std::string> keys;  // of [workload.model]
  int64_t elements;               // of the result
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class Models : public ::testing::TestWithParam<Case> {};

TEST_P(Models, AreRightBitForBitAndInFloat64) {
  const RunResult result = RunModel(Small(Model(GetParam().keys)));
  ASSERT_TRUE(result.verification.has_value());
  const Verification& v = *result.verification;
  EXPECT_EQ(v.elements, GetParam().elements);
  EXPECT_EQ(v.error_elements, GetParam().elements) << "every result is finite";
  EXPECT_EQ(v.mismatches, 0);
  EXPECT_EQ(v.beyond, 0) << "further from float64 than rounding explains";
  // A thousandth is one rounding; a wrong head, position or mask is off by about one.
  EXPECT_LT(v.max_relative_error, 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Models,
    ::testing::Values(
        Case{"Prefill", {}, 64 * 128}, Case{"PrefillOfABatch", {"batch=2"}, 2 * 64 * 128},
        Case{"PrefillOfPartOfAStick", {"sequence=40"}, 40 * 128},
        Case{"PrefillBehindACache", {"sequence=32", "context=80", "batch=2"}, 2 * 32 * 128},
        Case{"PrefillWithWideHeads", {"head_size=128", "heads=2", "kv_heads=1"}, 64 * 128},
        Case{"PrefillWithAHeadForEach", {"kv_heads=4"}, 64 * 128},
        Case{"PrefillWithLogits", {"vocabulary=100", "batch=2"}, 2 * 100},
        Case{"Decode", {"sequence=1", "context=64"}, 128},
        Case{"DecodeOfABatch", {"sequence=1", "context=128", "batch=2"}, 2 * 128},
        Case{"DecodeBehindPartOfAStick", {"sequence=1", "context=75", "batch=2"}, 2 * 128},
        Case{"DecodeOfTheFirstToken", {"sequence=1", "context=1"}, 128},
        Case{"DecodeWithLogits", {"sequence=1", "context=64", "vocabulary=128"}, 128},
        Case{"PrefillOfTransposedWeights", {"weights=transposed"}, 64 * 128},
        Case{"DecodeOfTransposedWeights",
             {"weights=transposed", "sequence=1", "context=64", "vocabulary=100"},
             100}),
    [](const auto& test) { return test.param.name; });

TEST(Model, AWrongResultIsFound) {
  RunConfig config = Small(Model({"layers=1"}));
  config.workload.tolerance = 1e-9;  // nobody rounds so little
  EXPECT_FALSE(RunModel(config).verification->passed());
}

TEST(Model, TheStepIsTheSumOfItsParts) {
  RunConfig config =
      Small(Model({"sequence=1", "context=70", "batch=2", "vocabulary=100", "layers=3"}));
  config.workload.functional = false;
  const RunResult result = RunModel(config);
  const std::optional<ModelTimes> times = ModelTimesOf(result);
  ASSERT_TRUE(times.has_value());
  const uint64_t layers =
      std::accumulate(times->layer_ps.begin(), times->layer_ps.end(), uint64_t{0});
  EXPECT_EQ(times->before_ps + layers + times->behind_ps, times->step_ps);
  uint64_t parts = 0, launches = 0;
  for (const ModelPart& part : times->parts) {
    parts += part.ps;
    launches += part.launches;
  }
  EXPECT_EQ(parts, times->kernels_ps);
  EXPECT_EQ(parts + times->gaps_ps, times->step_ps);
  EXPECT_EQ(launches, 3u * 24 + 3) << "norm, restickified weight and logits behind the layers";

  const json report = SortedJsonOf(ReportJson(result, nullptr));
  const json& model = report["model"];
  double kernels_ns = 0;
  for (const json& kernel : report["kernels"]) kernels_ns += kernel["device_ns"].get<double>();
  EXPECT_NEAR(kernels_ns, model["kernels_ns"], 1e-3);
  EXPECT_EQ(model["step_ns"], report["launch_ns"]);
  EXPECT_EQ(report["kernels"].size(), launches);
  EXPECT_EQ(report["kernels"][0]["task"], "layers.0.norm1");
  EXPECT_NEAR(model["tokens_per_s"].get<double>() * model["step_ns"].get<double>(), 2e9, 1);
  double shares = model["gaps_ns"].get<double>() / model["step_ns"].get<double>();
  for (const json& part : model["parts"]) shares += part["share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
}

TEST(Model, SummarySaysWhatTheTimeWasSpentOn) {
  RunConfig config = Small(Model({"layers=1"}));
  config.workload.functional = false;
  const std::string summary = ReportSummary(RunModel(config), "spyre-cosim");
  EXPECT_THAT(summary, HasSubstr("decoder stack of 1 layer: batch 1, 64 new tokens each"));
  EXPECT_THAT(summary, HasSubstr("model: 64 new tokens in "));
  EXPECT_THAT(summary, HasSubstr("held in memory: weights "));
  EXPECT_THAT(summary, HasSubstr("Parts of the step:"));
  EXPECT_THAT(summary, HasSubstr("between kernels"));
}

// ---------------------------------------------------------------- several runs

// The same small model by the program, a process for each run.
class ModelRuns : public test::ProgramFixture {
 protected:
  static json Part(const json& report, const std::string& name) {
    for (const json& part : report["model"]["parts"])
      if (part["part"] == name) return part;
    return nullptr;
  }
  json Shipped(const std::string& config, const std::string& keys) const {
    std::string sets;
    for (const std::string& key : Model({"layers=1", "vocabulary=0"})) sets += " --set " + key;
    std::istringstream more(keys);
    for (std::string key; more >> key;) sets += " --set workload.model." + key;
    const Outcome outcome =
        Call("run " SPYRE_SOURCE_DIR "/configs/" + config + ".toml --json" + sets);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : json();
  }
  json Small(const std::string& keys, bool functional = false) const {
    return Report(functional ? "functional = true" : "functional = false",
                  "[trace]\nenabled = false\n[workload.model]\nhidden = 128\nmlp = 192\n"
                  "heads = 4\nkv_heads = 2\nhead_size = 64\n" +
                      keys);
  }
};

TEST_F(ModelRuns, TimesDoNotDependOnData) {
  for (const char* keys :
       {"layers = 1\nsequence = 64\n", "layers = 2\nsequence = 1\ncontext = 70\nbatch = 2\n"}) {
    const json with_data = Small(keys, true), times_only = Small(keys);
    EXPECT_EQ(with_data["model"], times_only["model"]) << keys;
    EXPECT_EQ(with_data["sim_time_ns"], times_only["sim_time_ns"]) << keys;
  }
}

TEST_F(ModelRuns, WithoutLoadingWeightsOnlyTheRefreshMeetsTheStepElsewhere) {
  const std::string keys = "layers = 1\nsequence = 1\ncontext = 128\n";
  const double loaded = Small(keys)["model"]["kernels_ns"];
  const json found = Small(keys + "load_weights = false\n");
  EXPECT_NEAR(found["model"]["kernels_ns"].get<double>() / loaded, 1, 0.05);
  EXPECT_EQ(found["operations"]["transfers"], 2) << "x and y";
}

TEST_F(ModelRuns, WhatIsHeldGrowsByALayersWeightsAndCache) {
  const std::string keys = "sequence = 1\ncontext = 70\nvocabulary = 64\n";
  const json one = Small("layers = 1\n" + keys), four = Small("layers = 4\n" + keys);
  const auto held = [](const json& report) -> uint64_t {
    return report["memory"]["tensor_peak_bytes"];
  };
  constexpr uint64_t kLayer = 2 * (2 * 128 + 2 * 128 * 256 + 2 * 128 * 128 + 3 * 128 * 192);
  constexpr uint64_t kCache = 2 * 2 * 128 * 128;  // keys and values, 70 rows in whole sticks
  EXPECT_EQ(held(four) - held(one), 3 * (kLayer + kCache));
  EXPECT_EQ(four["memory"]["program_peak_bytes"], one["memory"]["program_peak_bytes"])
      << "a kernel is loaded once";
  uint64_t parts = 0;
  for (const char* key : {"weight_bytes", "cache_bytes", "activation_bytes", "table_bytes"})
    parts += four["model"]["memory"][key].get<uint64_t>();
  EXPECT_EQ(parts, held(four));
}

TEST_F(ModelRuns, MultiplicationsAndBytesOfGraniteAreThoseByHand) {
  constexpr uint64_t kHidden = 4096, kMlp = 12800, kQuery = 32 * 128, kKeys = 8 * 128;
  constexpr uint64_t kLayer = 2 * kHidden * kQuery + 2 * kHidden * kKeys + 3 * kHidden * kMlp;
  constexpr uint64_t kWeights = 2 * (kLayer + 2 * kHidden);  // bytes, with the norms
  constexpr uint64_t kContext = 512;
  struct Expected {
    const char* config;
    uint64_t tokens;
  };
  for (const Expected& e :
       {Expected{"granite_8b_prefill", 512}, Expected{"granite_8b_decode", 1}}) {
    const json report = Shipped(e.config, "weights=transposed");
    const json& model = report["model"];
    EXPECT_EQ(Part(report, "matmul")["macs"], e.tokens * kLayer) << e.config;
    EXPECT_EQ(Part(report, "attention")["macs"], 2 * 32 * e.tokens * kContext * 128) << e.config;
    EXPECT_EQ(Part(report, "rotary")["macs"], e.tokens * (32 + 8) * 128 * 128) << e.config;
    EXPECT_EQ(model["memory"]["weight_bytes"], kWeights) << e.config;
    EXPECT_EQ(model["memory"]["cache_bytes"], 2 * 2 * kContext * kKeys) << e.config;
    const uint64_t read = Part(report, "matmul")["device_bytes_read"];
    EXPECT_GE(read, 2 * kLayer) << "each weight once";
    EXPECT_LT(read, 3 * kLayer) << "and little else";
    // The peaks: 32 cores x 1024 multiplications x 1.1 GHz, 16 channels x 2 bytes x 6.4 GT/s.
    const double compute_ns = static_cast<double>(e.tokens * kLayer) / (32 * 1024 * 1.1);
    const double memory_ns = static_cast<double>(kWeights) / 204.8;
    const double layer_ns = model["layer"]["mean_ns"];
    EXPECT_GT(layer_ns, std::max(compute_ns, memory_ns)) << "no card is faster than its peaks";
    EXPECT_LT(layer_ns, 2.5 * std::max(compute_ns, memory_ns)) << e.config;
  }
}

// Sums of kernel times of a block of Granite-8B on a card, as torch-spyre compiles it: its programs
// restickify the weights. The values are those of docs/accuracy.md.
TEST_F(ModelRuns, KernelsOfAGraniteBlockTakeWhatWasMeasured) {
  struct Measured {
    const char* config;
    const char* keys;
    double kernels_ns;
  };
  for (const Measured& m : {Measured{"granite_8b_prefill", "", 12480.32e3},
                            // one new token, of which the compiler makes 64 rows
                            Measured{"granite_8b_decode", "sequence=64 context=576", 10621e3}}) {
    const json report = Shipped(m.config, m.keys);
    EXPECT_NEAR(report["model"]["kernels_ns"].get<double>() / m.kernels_ns, 1, 0.15) << m.config;
    const json turned = Part(report, "restickify"), products = Part(report, "matmul");
    EXPECT_GT(turned["share"].get<double>(), products["share"].get<double>())
        << "which is most of it";
  }
}

TEST_F(ModelRuns, AContextThatDoesNotFitIsRefusedBeforeAnythingRuns) {
  Write("run.toml",
        "[workload]\nfunctional = false\n[workload.model]\nlayers = 40\nsequence = 1\n"
        "context = 2000000\n");
  for (const char* command : {"run run.toml --out out", "check run.toml"}) {
    const Outcome outcome = Call(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr("of KV cache (batch 1, context 2000000)")) << command;
    EXPECT_FALSE(std::filesystem::exists(dir_ + "/out/report.json"));
  }
}

}  // namespace
}  // namespace spyre::cosim::model_test
