// SPDX-License-Identifier: Apache-2.0
// `compile --emit` and `--explain`: lists, OpSpec source and bundles in one pipeline.
#include "cosim/workload/emit_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/json_text.h"
#include "runtime/compiler/ir/ir.h"
#include "runtime/compiler/passes/graph_passes.h"
#include "tests/paths.h"

namespace spyre::cosim::emit_passes_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

const std::string kSources = SPYRE_SOURCE_DIR;

RunConfig Chain(const std::vector<std::string>& sets = {}) {
  return LoadConfig(kSources + "/configs/tiled_chain.toml", sets);
}

RunConfig BundleConfig(const std::string& path) {
  RunConfig config = LoadConfig("", {});
  config.workload.bundle = kSources + "/tests/data/" + path;
  return config;
}

std::string Emit(const RunConfig& config, const std::string& stage, bool json) {
  std::ostringstream out;
  std::vector<std::string> warnings;
  EmitPasses(config, {stage, json}, out, warnings);
  return out.str();
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(EmitPasses, OptGoesOnFromEveryGraphAndEndsInTheSameBundle) {
  const std::vector<std::string> lines = LinesOf(Emit(Chain(), "all", true));
  ASSERT_EQ(lines.size(), compiler::GraphPasses().size());
  const std::string whole = JsonOf(lines.back())["bundle"].dump();
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_EQ(JsonOf(lines[i])["passes"].back(), compiler::GraphPasses()[i].first);
    std::string rest;
    for (size_t pass = i + 1; pass < lines.size(); ++pass)
      rest += (rest.empty() ? "" : ",") + compiler::GraphPasses()[pass].first;
    const auto answer = compiler::RunGraphPasses(rest, lines[i], "line", false);
    EXPECT_EQ(answer.error, "") << rest;
    EXPECT_EQ(JsonOf(answer.text)["bundle"].dump(), whole) << rest;
  }
}

TEST(EmitPasses, WhatAPassThatFailsWasGivenHasBeenWritten) {
  std::ostringstream out;
  std::vector<std::string> warnings;
  try {
    EmitPasses(Chain({"workload.dims.A=1023"}), {"all", true}, out, warnings);
    FAIL();
  } catch (const compiler::CompileError& error) {
    EXPECT_EQ(error.type(), "RuntimeError");
    EXPECT_EQ(error.message_kind(), "not_divisible");
  }
  const std::vector<std::string> lines = LinesOf(out.str());
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(JsonOf(lines.back())["passes"].back(), "hints");
}

TEST(EmitPasses, TextHasAHeadingForEachPass) {
  EXPECT_THAT(
      Emit(Chain(), "all", false),
      AllOf(StartsWith("-- deadcode_elimination --\n"), HasSubstr("-- lx --\na: "),
            HasSubstr("-- kernel --\nloop 2\n  loop 4\n"), HasSubstr("-- bundle --\n#map_0")));
}

TEST(EmitPasses, OpSpecSourceComesInBehindKernel) {
  const std::string path = ::testing::TempDir() + "/emit_passes.py";
  std::ofstream(path) << Emit(Chain(), "opspec", false);
  RunConfig config = LoadConfig("", {});
  config.workload.bundle = path;
  EXPECT_EQ(Emit(config, "opspec", false), Emit(Chain(), "opspec", false));
  const std::vector<std::string> lines = LinesOf(Emit(config, "all", true));
  ASSERT_EQ(lines.size(), 2u) << "kernel, bundle";
  EXPECT_THAT(Emit(config, "bundle", false), HasSubstr("sdsc_execute"));
  EXPECT_THROW(Emit(config, "lx", false), Error);
  std::filesystem::remove(path);
}

TEST(EmitPasses, ABundleComesInAsItIs) {
  const RunConfig config = BundleConfig("bundles/flat_baked_addresses/add_64x128_rows4/flat");
  const std::string mlir = Emit(config, "bundle", false);
  EXPECT_THAT(mlir, HasSubstr("sdsc_bundle"));
  const Json graph = JsonOf(Emit(config, "bundle", true));
  EXPECT_EQ(graph["passes"], Json({"bundle"}));
  std::string text;
  for (const Json& line : graph["bundle"]["bundle.mlir"]) text += line.get<std::string>() + "\n";
  EXPECT_EQ(text, mlir);
  EXPECT_THROW(Emit(config, "kernel", false), Error);
}

TEST(EmitPasses, OneOperationIsNoInput) {
  EXPECT_THROW(Emit(LoadConfig(kSources + "/configs/add.toml", {}), "lx", true), Error);
}

TEST(ExplainList, SaysWhereEveryBufferIsAndWhy) {
  std::vector<std::string> warnings;
  EXPECT_THAT(ExplainList(Chain(), warnings),
              AllOf(HasSubstr("hint A = 2: loop of 2 at level 0 of group 0"),
                    HasSubstr("y: LX, 32768 bytes of each core at 0"),
                    HasSubstr("z: A: 32, on 32 of 32 cores")));
  EXPECT_THAT(ExplainList(Chain({"workload.lx=none"}), warnings),
              HasSubstr("not LX: no result may (workload.lx = \"none\")"));
}

}  // namespace
}  // namespace spyre::cosim::emit_passes_test
