// SPDX-License-Identifier: Apache-2.0
// Keys that a run would pass over without a word are refused, also when they repeat a default.
#include "cosim/config/effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::effect_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kMatmul = "[workload]\nm = 64\nk = 64\nn = 64\n";
constexpr const char* kTiled = "[workload]\nm = 64\nk = 64\nn = 64\ntile = { m = 32 }\n";
constexpr const char* kSum = "[workload]\nop = \"sum\"\nrows = 64\ncols = 64\n";
constexpr const char* kBundle = "[workload]\nbundle = \"somewhere\"\n";
constexpr const char* kProgram = "[workload]\nops = [{ op = \"exp\" }]\n";
constexpr const char* kStreams =
    "[workload]\nops = [{ op = \"exp\" }]\nissue = { mode = \"streams\" }\n";
constexpr const char* kTaskGraph =
    "[workload]\nops = [{ op = \"exp\" }]\nissue = { mode = \"task_graph\" }\n";
constexpr const char* kModel = "[workload.model]\nlayers = 1\n";

std::string Refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
  return test::FailureOf([&] { RefuseKeysWithoutEffect(ParseConfig(text, "run.toml", sets)); });
}

TEST(Effect, ConfigurationsOfEveryKindAreAccepted) {
  for (const char* text : {kMatmul, kTiled, kSum, kBundle, kProgram, kStreams, kTaskGraph, kModel})
    EXPECT_EQ(Refusal(text), "no error") << text;
}

TEST(Effect, AKeyThatRepeatsItsDefaultIsRefusedLikeAnyOther) {
  struct Case {
    const char* text;
    const char* set;
    const char* purpose;
  };
  const Case cases[] = {
      {kBundle, "workload.op=matmul", "it is for one operation (workload.op), and"},
      {kBundle, "workload.division=public",
       "it is for one operation but for attention, a list of operations or a model, and"},
      {kBundle, "workload.cores=0", "one operation, a list"},
      {kBundle, "workload.launch.depth=2", "tiles in flight"},
      {kBundle, "workload.outputs=[]", "a list of operations"},
      {kBundle, "workload.lx=all", "a list of operations"},
      {kBundle, "workload.issue.mode=program", "a list of operations"},
      {kMatmul, "workload.axis=cols", "a reduction"},
      {kMatmul, "workload.dims={A=4}", "a bundle or a list of operations"},
      {kMatmul, "workload.shapes=[]", "a bundle (workload.bundle)"},
      {kMatmul, "workload.args=[]", "a bundle (workload.bundle)"},
      {kMatmul, "workload.tensors=[]", "a list of operations"},
      {kMatmul, "workload.hints=[]", "a list of operations as one program"},
      {kMatmul, "workload.tiling=true", "a list of operations as one program"},
      {kMatmul, "workload.long_spans=refuse", "a bundle, a list of operations or a model"},
      {kMatmul, "workload.model.hidden=4096", "a model of one layer or more"},
      {kMatmul, "workload.model.layers=0", "a model of one layer or more"},
      {kModel, "workload.op=matmul", "this configuration runs a model (workload.model.layers = 1)"},
      {kModel, "workload.m=0", "one operation"},
      {kModel, "workload.outputs=[]", "a list of operations"},
      {kModel, "workload.issue.mode=program", "a list of operations"},
      {kModel, "workload.dims={A=4}", "a bundle or a list of operations"},
      {kModel, "workload.agree=true", "a list of operations as one program"},
      {kMatmul, "workload.launch.remainder=fail", "a tiled launch"},
      {kTiled, "workload.launch.depth=2", "tiles in flight"},
      {kProgram, "workload.op=matmul", "one operation (workload.op)"},
      {kProgram, "workload.m=0", "one operation"},
      {kProgram, "workload.tile.m=0", "one operation"},
      {kProgram, "workload.bundle=", "a bundle"},
      {kProgram, "workload.issue.streams=4", "mode = \"streams\" or \"task_graph\", and"},
      {kStreams, "workload.hints=[]", "(workload.issue.mode = \"program\")"},
      {kStreams, "workload.issue.deps=hybrid_bytes", "workload.issue.mode = \"task_graph\""},
      {kTaskGraph, "workload.issue.dependencies=events", "workload.issue.mode = \"streams\""},
      {kMatmul, "trace.waves.to=0", "waves of a block (trace.waves.block)"},
  };
  for (const Case& c : cases) {
    const std::string key = std::string(c.set).substr(0, std::string(c.set).find('='));
    EXPECT_THAT(Refusal(c.text, {c.set}),
                AllOf(HasSubstr(key), HasSubstr("has no effect: it is for "), HasSubstr(c.purpose)))
        << c.text;
  }
}

TEST(Effect, WhatAFileSaysCountsLikeSet) {
  EXPECT_THAT(Refusal("[workload]\nbundle = \"somewhere\"\nop = \"matmul\"\n"),
              HasSubstr("workload.op = \"matmul\" has no effect"));
  EXPECT_THAT(Refusal("[workload]\nm = 1\nlaunch = { overlap = \"none\" }\n"),
              HasSubstr("workload.launch.overlap"));
}

TEST(Effect, WhatAProgramSetsIsRefusedByItsValue) {
  RunConfig config = ParseConfig(kBundle, "");
  config.workload.size.m = 64;
  const Error error = test::CaughtFrom([&] { RefuseKeysWithoutEffect(config); });
  EXPECT_EQ(error.subject(), "workload.m");
  EXPECT_EQ(error.value(), "64");
}

TEST(Effect, KeysThatWaitForOthersAreAcceptedWithThem) {
  EXPECT_EQ(Refusal(kSum, {"workload.axis=cols"}), "no error");
  EXPECT_EQ(Refusal(kTiled, {"workload.launch.overlap=streams", "workload.launch.depth=2"}),
            "no error");
  EXPECT_EQ(Refusal(kMatmul, {"workload.launch.routing=tiled", "workload.launch.order=[\"m\"]"}),
            "no error");
  EXPECT_EQ(Refusal(kProgram, {"workload.lx_solver=greedy"}), "no error");
  EXPECT_EQ(Refusal(kModel, {"workload.lx_solver=greedy", "workload.division=cost",
                             "workload.cores=8", "workload.long_spans=refuse"}),
            "no error");
  EXPECT_THAT(Refusal(kProgram, {"workload.lx=none", "workload.lx_solver=greedy"}),
              HasSubstr("whose workload.lx is not \"none\""));
}

TEST(Effect, EveryKindOfWorkloadHasASchedule) {
  for (const char* workload : {"op = \"neg\"\ncols = 64", "bundle = \"somewhere\""}) {
    const std::string text = std::string("[workload]\n") + workload + "\nschedule = \"public\"\n";
    EXPECT_NO_THROW(RefuseKeysWithoutEffect(ParseConfig(text, "run.toml", {}))) << text;
  }
}

TEST(Effect, ASwitchThatTurnsAPartOffLeavesItsKeysAlone) {
  EXPECT_EQ(Refusal(kMatmul, {"workload.functional=false", "workload.verify=full",
                              "workload.seed=3", "trace.enabled=false", "trace.capacity=5"}),
            "no error");
}

TEST(Effect, TheCompleteConfigurationRunsLikeTheOneThatItWasPrintedFrom) {
  for (const char* text :
       {kMatmul, kTiled, kSum, kBundle, kProgram, kStreams, kTaskGraph, kModel}) {
    const std::string dump = ToToml(ParseConfig(text, "run.toml"));
    const RunConfig again = ParseConfig(dump, "dump.toml");
    EXPECT_EQ(test::FailureOf([&] { RefuseKeysWithoutEffect(again); }), "no error") << text;
    EXPECT_EQ(ToToml(again), dump);
    EXPECT_EQ(ToJson(again), ToJson(ParseConfig(text, "run.toml")));
  }
  EXPECT_THAT(ToToml(ParseConfig(kBundle, "")), HasSubstr("\n# op = \"matmul\"\n"));
}

TEST(Effect, EveryKeyOfAWorkloadHasARule) {
  RunConfig config = ParseConfig(kMatmul, "");
  for (const Field& field : Fields(config)) EXPECT_NO_THROW(HasEffect(config, field.key));
}

}  // namespace
}  // namespace spyre::cosim::effect_test
