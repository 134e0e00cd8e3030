// SPDX-License-Identifier: Apache-2.0
// Whole models: small stacks with data against a decoder in float64, and times, bytes and
// multiplications of runs against arithmetic by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "base/error.h"
#include "cosim/config/config.h"
#include "cosim/report/report.h"
#include "cosim/report/report_model.h"
#include "cosim/session/session.h"
#include "tests/integration/out_dir.h"
#include "tests/paths.h"

namespace spyre::cosim {
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
        Case{"DecodeWithLogits", {"sequence=1", "context=64", "vocabulary=128"}, 128}),
    [](const auto& test) { return test.param.name; });

TEST(Model, AWrongResultIsFound) {
  RunConfig config = Small(Model({"layers=1"}));
  config.workload.tolerance = 1e-9;  // nobody rounds so little
  EXPECT_FALSE(RunModel(config).verification->passed());
}

TEST(Model, TimesDoNotDependOnData) {
  for (const auto& keys : {Model({"layers=1"}), Model({"sequence=1", "context=70", "batch=2"})}) {
    const RunResult with_data = RunModel(Small(keys));
    RunConfig config = Small(keys);
    config.workload.functional = false;
    const RunResult times_only = RunModel(config);
    EXPECT_EQ(with_data.launch_end_ps, times_only.launch_end_ps);
    EXPECT_EQ(with_data.sim_ps, times_only.sim_ps);
  }
}

// ---------------------------------------------------------------- sums

RunConfig Shipped(const std::string& name, std::vector<std::string> sets = {}) {
  return LoadConfig(std::string(SPYRE_SOURCE_DIR) + "/configs/" + name + ".toml", sets);
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
  EXPECT_EQ(launches, 3u * 17 + 2) << "norm and logits behind the layers";

  const json report = json::parse(ReportJson(result, nullptr));
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

uint64_t MacsOf(const ModelTimes& times, const std::string& part) {
  for (const ModelPart& p : times.parts)
    if (p.name == part) return p.macs;
  return 0;
}

TEST(Model, MultiplicationsAndBytesAreThoseByHand) {
  constexpr uint64_t kHidden = 4096, kMlp = 12800, kQuery = 32 * 128, kKeys = 8 * 128;
  constexpr uint64_t kLayer = 2 * kHidden * kQuery + 2 * kHidden * kKeys + 3 * kHidden * kMlp;
  constexpr uint64_t kNorms = 2 * kHidden;
  struct Expected {
    const char* config;
    uint64_t tokens, context;
  };
  for (const Expected& e :
       {Expected{"granite_8b_prefill", 512, 512}, Expected{"granite_8b_decode", 1, 512}}) {
    const RunResult result = RunModel(Shipped(e.config, Model({"layers=1", "vocabulary=0"})));
    const std::optional<ModelTimes> times = ModelTimesOf(result);
    ASSERT_TRUE(times.has_value());
    EXPECT_EQ(MacsOf(*times, "matmul"), e.tokens * kLayer) << e.config;
    EXPECT_EQ(MacsOf(*times, "attention"), 2 * 32 * e.tokens * e.context * 128) << e.config;
    EXPECT_EQ(MacsOf(*times, "rotary"), e.tokens * (32 + 8) * 128 * 128) << e.config;
    EXPECT_EQ(result.model->parameters, kLayer + kNorms);
    EXPECT_EQ(result.model->weight_bytes, 2 * (kLayer + kNorms));
    EXPECT_EQ(result.model->cache_bytes, 2 * 2 * e.context * kKeys);
    for (const ModelPart& part : times->parts) {
      if (part.name == "matmul") EXPECT_GE(part.bytes_read, 2 * kLayer) << "each weight once";
      if (part.name == "matmul") EXPECT_LT(part.bytes_read, 3 * kLayer) << "and little else";
    }
    // 36.04 TMAC/s and 204.8 GB/s are the card's peaks.
    const double compute_ns = static_cast<double>(e.tokens * kLayer) / 36044.8;
    const double memory_ns = static_cast<double>(result.model->weight_bytes) / 204.8;
    const double layer_ns = static_cast<double>(times->layer_ps[0]) / 1000;
    EXPECT_GT(layer_ns, std::max(compute_ns, memory_ns)) << "no card is faster than its peaks";
    EXPECT_LT(layer_ns, 3 * std::max(compute_ns, memory_ns)) << e.config;
  }
}

TEST(Model, WhatIsHeldGrowsByALayersWeightsAndCache) {
  const auto run = [](const char* layers) {
    RunConfig config = Small(Model({layers, "sequence=1", "context=70", "vocabulary=64"}));
    config.workload.functional = false;
    return RunModel(config);
  };
  const RunResult one = run("layers=1"), four = run("layers=4");
  constexpr uint64_t kLayer = 2 * (2 * 128 + 2 * 128 * 256 + 2 * 128 * 128 + 3 * 128 * 192);
  constexpr uint64_t kCache = 2 * 2 * 128 * 128;  // keys and values, 70 rows in whole sticks
  EXPECT_EQ(four.tensor_memory.peak_bytes - one.tensor_memory.peak_bytes, 3 * (kLayer + kCache));
  EXPECT_EQ(four.program_memory.peak_bytes, one.program_memory.peak_bytes)
      << "a kernel is loaded once";
  const ModelSummary& m = *four.model;
  EXPECT_EQ(m.weight_bytes + m.cache_bytes + m.activation_bytes + m.table_bytes,
            four.tensor_memory.peak_bytes);
}

TEST(Model, WithoutLoadingWeightsTheStepIsTheSameButForTheRefreshThatItMeets) {
  const auto step_ps = [](const char* load) {
    RunConfig config = Small(Model({load, "sequence=1", "context=128", "hidden=512", "mlp=1024"}));
    config.workload.functional = false;
    return static_cast<double>(ModelTimesOf(RunModel(config))->step_ps);
  };
  const double loaded = step_ps("load_weights=true"), found = step_ps("load_weights=false");
  EXPECT_NEAR(found / loaded, 1, 0.03);
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

}  // namespace
}  // namespace spyre::cosim
