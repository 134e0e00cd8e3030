// SPDX-License-Identifier: Apache-2.0
// Lists of operations in files of their own, and what the configuration says beside them.
#include "cosim/workload/op_list_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "cosim/workload/resolve.h"

namespace spyre::cosim::op_list_workload_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kJson = R"({
  "dims": {"A": 64, "B": 128},
  "tensors": [{"name": "a", "dims": ["A", "B"], "file": "a.npy"}],
  "ops": [{"op": "silu", "inputs": ["a"], "output": "y"}],
  "hints": [{"slices": {"B": 2, "A": 2}}]})";

constexpr const char* kToml = R"(
dims = { A = 64, B = 128 }
tensors = [{ name = "a", dims = ["A", "B"], file = "a.npy" }]
ops = [{ op = "silu", inputs = ["a"], output = "y" }]
hints = [{ slices = { B = 2, A = 2 } }]
)";

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "op_list_workload_test_" + name;
  std::ofstream(path) << text;
  return path;
}

RunConfig Configured(const std::string& file, const std::vector<std::string>& sets = {}) {
  std::vector<std::string> all = sets;
  all.push_back("workload.graph=" + file);
  return LoadConfig("", all);
}

std::string MessageOf(const RunConfig& config) {
  try {
    ResolveWorkload(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "accepted";
}

class OpListFile : public ::testing::TestWithParam<const char*> {};

TEST_P(OpListFile, IsTheSameInTomlAndInJson) {
  const std::string suffix = GetParam();
  const std::string path = Write("list" + suffix, suffix == ".json" ? kJson : kToml);
  const compiler::NamedGraph graph = ReadOpList(Configured(path).workload);
  ASSERT_EQ(graph.ops.size(), 1u);
  EXPECT_EQ(graph.tensors[0].file, ::testing::TempDir() + "a.npy") << "relative to the list's file";
  ASSERT_EQ(graph.hints[0].slices.size(), 2u);
  EXPECT_EQ(graph.dims[graph.hints[0].slices[0].dim].name, "B") << "slices keep their order";
}
INSTANTIATE_TEST_SUITE_P(Formats, OpListFile, ::testing::Values(".json", ".toml"),
                         [](const auto& test) { return test.param + 1; });

TEST(OpListWorkload, WhatTheConfigurationSaysGoesBeforeTheFile) {
  const std::string path = Write("before.json", kJson);
  const RunConfig config =
      Configured(path, {"workload.dims.A=256", "workload.hints=[{ slices = { A = 4 } }]"});
  const compiler::NamedGraph graph = ReadOpList(config.workload);
  EXPECT_EQ(graph.dims[0].size, 256);
  EXPECT_EQ(graph.dims[1].size, 128);
  EXPECT_EQ(graph.hints[0].slices[0].count, 4);
}

TEST(OpListWorkload, ConstantsAreInputsThatNeedNoFile) {
  const auto workload = ResolveOpList(Configured(Write("constants.json", kJson)));
  ASSERT_EQ(workload->tensors().size(), 3u);
  EXPECT_EQ(workload->tensors()[0].name, "a");
  EXPECT_FALSE(workload->tensors()[0].constant);
  EXPECT_EQ(workload->tensors()[1].constant, 1.0);
  EXPECT_TRUE(workload->tensors()[2].is_output);
}

TEST(OpListWorkload, ErrorsNameFileAndPlace) {
  EXPECT_THAT(MessageOf(Configured(Write("syntax.json", "{\"ops\": [}"))),
              AllOf(HasSubstr("syntax.json"), HasSubstr("not valid JSON"), HasSubstr("line 1")));
  EXPECT_THAT(MessageOf(Configured(Write("syntax.toml", "ops = ["))),
              AllOf(HasSubstr("syntax.toml:1:"), HasSubstr("not valid TOML")));
  EXPECT_THAT(MessageOf(Configured(Write("unknown.toml", "opps = []"))),
              AllOf(HasSubstr("unknown.toml"), HasSubstr("'opps'"), HasSubstr("'ops'?")));
  EXPECT_THAT(MessageOf(Configured(Write("deep.json", std::string(100, '[')))),
              AllOf(HasSubstr("deep.json"), HasSubstr("nested more than 64 levels")));
  EXPECT_THAT(MessageOf(Configured(Write("twice.json", R"({"dims": {"A": 1, "A": 2}})"))),
              AllOf(HasSubstr("twice.json"), HasSubstr("\"A\" is there twice")));
  EXPECT_THAT(MessageOf(Configured(Write("list.json", "[1]"))), HasSubstr("must be an object"));
}

TEST(OpListWorkload, ADimensionThatNoTensorHasIsRefused) {
  const std::string path = Write("dims.json", kJson);
  EXPECT_THAT(MessageOf(Configured(path, {"workload.dims.C=64"})),
              HasSubstr("dims.json: dims.C: no tensor has this dimension"));
}

TEST(OpListWorkload, KeysOfOneOperationOrABundleAreRefused) {
  const std::string path = Write("keys.json", kJson);
  EXPECT_THAT(MessageOf(Configured(path, {"workload.m=64"})),
              HasSubstr("workload.m = 64 has no effect"));
  EXPECT_THAT(MessageOf(Configured(path, {"workload.bundle=x"})), HasSubstr("workload.bundle"));
  for (const char* key : {"overlap=streams", "order=[\"A\"]", "reduction=lx", "depth=4",
                          "remainder=pad", "routing=tiled", "interleave=2"}) {
    EXPECT_THAT(MessageOf(Configured(path, {std::string("workload.launch.") + key})),
                HasSubstr("has no effect: it is for "))
        << key;
  }
}

TEST(OpListWorkload, TomlNestedTooDeeplyIsRefused) {
  std::string dots;
  for (int i = 0; i < 100'000; ++i) dots += "a.";
  EXPECT_THAT(MessageOf(Configured(Write("deep.toml", dots + "a = 1"))),
              AllOf(HasSubstr("deep.toml:1"), HasSubstr("nested more than 64 levels deep")));
  EXPECT_THAT(MessageOf(Configured(Write("deep.toml", "x = " + std::string(100'000, '[')))),
              HasSubstr("nested more than 64 levels deep"));
}

}  // namespace
}  // namespace spyre::cosim::op_list_workload_test
