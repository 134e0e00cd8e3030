// SPDX-License-Identifier: Apache-2.0
// Lists of operations end to end: from a configuration file to numbers on the modelled card. Each
// run is verified twice: bit for bit against the bundle executed element by element, and against
// the operations themselves in float64.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/error.h"
#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/report/report.h"
#include "cosim/session/session.h"
#include "cosim/workload/emit_passes.h"
#include "cosim/workload/op_list_workload.h"
#include "cosim/workload/resolve.h"
#include "tests/integration/out_dir.h"
#include "tests/paths.h"

namespace spyre::cosim::op_list_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RunConfig Load(const std::string& name, const std::vector<std::string>& sets = {}) {
  return LoadConfig(std::string(SPYRE_SOURCE_DIR) + "/configs/" + name + ".toml", sets);
}

RunResult RunOnCard(const RunConfig& config) { return RunSession(config, test::OutDir()); }

// tolerance: of the largest magnitude among the float64 results.
void ExpectRight(const RunResult& result, double tolerance) {
  ASSERT_TRUE(result.verification.has_value());
  EXPECT_GT(result.verification->elements, 0);
  EXPECT_EQ(result.verification->mismatches, 0) << "of " << result.verification->elements;
  EXPECT_EQ(result.verification->error_elements, result.verification->elements)
      << "every result is finite";
  EXPECT_LE(result.verification->max_relative_error, tolerance);
}

struct Case {
  std::string name;
  std::string config;
  std::vector<std::string> sets;
  double tolerance;
};
void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

class OpLists : public ::testing::TestWithParam<Case> {};

TEST_P(OpLists, AreRightBitForBitAndInFloat64) {
  ExpectRight(RunOnCard(Load(GetParam().config, GetParam().sets)), GetParam().tolerance);
}

// A rounding is half of 2^-9 of a value; each operation of a chain adds one.
constexpr double kOneRounding = 1.0 / 1024;

constexpr double kOneRoundingOfSingle = 1.0 / (1 << 24);

// Makes the inputs of a list float32.
template <typename... Names>
std::string Float32(const std::string& dims, const Names&... names) {
  std::string text;
  for (const std::string& name : {std::string(names)...})
    text += fmt::format("{{ name = \"{}\", dims = {}, dtype = \"float32\" }}, ", name, dims);
  return "workload.tensors=[" + text + "]";
}

std::vector<Case> Cases() {
  const std::string small_chain = "workload.dims={ A = 64, B = 512 }";
  std::vector<Case> cases = {
      {"chain", "tiled_chain", {small_chain}, 2 * kOneRounding},
      {"chain_untiled", "tiled_chain", {small_chain, "workload.tiling=false"}, 2 * kOneRounding},
      {"chain_in_the_pool", "tiled_chain", {small_chain, "workload.lx=none"}, 2 * kOneRounding},
      {"chain_one_stick_wide_tiles",
       "tiled_chain",
       {"workload.dims={ A = 64, B = 256 }"},
       2 * kOneRounding},
      {"chain_one_row_tiles",
       "tiled_chain",
       {"workload.dims={ A = 4, B = 512 }", "workload.hints=[{ slices = { A = 4 } }]"},
       2 * kOneRounding},
      {"chain_cut_twice_along_the_rows",
       "tiled_chain",
       {"workload.dims={ A = 128, B = 128 }",
        "workload.hints=[{ slices = { A = 2 } }, { slices = { A = 4 } }]"},
       2 * kOneRounding},
      {"chain_read_inside_and_outside_its_loop",
       "tiled_chain",
       {small_chain, "workload.outputs=[\"y\", \"z\"]"},
       2 * kOneRounding},
      {"softmax", "softmax_chain", {"workload.dims={ R = 64, C = 512 }"}, 4 * kOneRounding},
      {"softmax_of_few_rows",
       "softmax_chain",
       {"workload.dims={ R = 4, C = 2048 }", "workload.agree=false"},
       4 * kOneRounding},
      {"layernorm", "layernorm", {"workload.dims={ R = 64, C = 512 }"}, 8 * kOneRounding},
      {"swiglu", "swiglu", {}, 8 * kOneRounding},
      {"attention", "attention", {}, 8 * kOneRounding},
      {"attention_restickified",
       "attention",
       {"workload.tensors=[{ name = \"q\", dims = [\"H\", \"S\", \"D\"] }, { name = \"k\", dims = "
        "[\"H\", \"T\", \"D\"], stick = \"D\" }, { name = \"v\", dims = [\"H\", \"T\", \"D\"] }]"},
       8 * kOneRounding},
      {"padded_matmul", "padded_matmul", {}, 8 * kOneRounding},
      {"padded_matmul_of_tiles",
       "padded_matmul",
       {"workload.hints=[{ slices = { R = 2 } }]"},
       8 * kOneRounding},
      {"padded_matmul_of_less_than_a_stick",
       "padded_matmul",
       {"workload.dims={ R = 64, K = 3, H = 65, N = 64 }"},
       8 * kOneRounding},
      {"padded_matmul_operation_by_operation",
       "padded_matmul",
       {"workload.issue.mode=\"streams\""},
       8 * kOneRounding},
      // The sticks of r have 1 / 0 behind their 100 elements.
      {"padded_matmul_of_what_is_no_number_behind_the_end",
       "padded_matmul",
       {"workload.distribution=\"positive\"",
        "workload.ops=[{ op = \"reciprocal\", inputs = [\"x\"], output = \"r\" }, { op = "
        "\"matmul\", inputs = [\"r\", \"w1\"], output = \"h\" }, { op = \"matmul\", inputs = "
        "[\"h\", "
        "\"w2\"], output = \"z\" }]"},
       8 * kOneRounding},
      {"chain_in_chunks",
       "tiled_chain",
       {"workload.dims={ A = 96, B = 640 }", "workload.hints=[]", "workload.chunk_bytes=40000"},
       2 * kOneRounding},
      {"softmax_in_chunks",
       "softmax_chain",
       {"workload.dims={ R = 96, C = 640 }", "workload.hints=[]", "workload.chunk_bytes=62000"},
       4 * kOneRounding},
      {"mixed_types", "mixed_types", {}, kOneRounding},
      {"mixed_types_of_tiles",
       "mixed_types",
       {"workload.hints=[{ slices = { R = 2 } }]"},
       kOneRounding},
      // Half a step of 3 bits of fraction, of values up to 2.
      {"float8_there_and_back",
       "mixed_types",
       {"workload.ops=[{ op = \"convert\", inputs = [\"x\"], output = \"q\", dtype = "
        "\"float8_e4m3fn\" }, { op = \"add\", inputs = [\"q\", \"w\"], output = \"y\" }]"},
       1.0 / 16 + kOneRounding},
      {"float32_chain",
       "tiled_chain",
       {small_chain, Float32("[\"A\", \"B\"]", "a", "b", "c")},
       2 * kOneRoundingOfSingle},
      {"float32_softmax_of_partial_sticks",
       "softmax_chain",
       {"workload.dims={ R = 64, C = 100 }", Float32("[\"R\", \"C\"]", "x")},
       8 * kOneRoundingOfSingle},
  };
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Configs, OpLists, ::testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

// Device memory traffic of the compute program; program correction came before it.
struct Traffic {
  uint64_t read = 0;
  uint64_t written = 0;
};

Traffic TrafficOf(const RunResult& result) {
  const flex::CompletedOperation& compute = result.launches.back();
  return {compute.device_bytes_read, compute.device_bytes_written};
}

TEST(TiledChain, TheIntermediateCausesNoDeviceTraffic) {
  constexpr uint64_t kTensorBytes = 1024 * 4096 * 2;
  constexpr uint64_t kProgramBytes = 64 << 10;  // more than code and address table
  const Traffic traffic = TrafficOf(RunOnCard(Load("tiled_chain")));
  EXPECT_EQ(traffic.written, kTensorBytes) << "z, once";
  EXPECT_GE(traffic.read, 3 * kTensorBytes) << "a, b and c";
  EXPECT_LT(traffic.read, 3 * kTensorBytes + kProgramBytes) << "and nothing of y";
}

TEST(TiledChain, TheUntiledTwinMovesTheIntermediateThereAndBack) {
  constexpr uint64_t kTensorBytes = 1024 * 4096 * 2;
  const Traffic traffic =
      TrafficOf(RunOnCard(Load("tiled_chain", {"workload.tiling=false", "workload.lx=none"})));
  EXPECT_EQ(traffic.written, 2 * kTensorBytes) << "y and z";
  EXPECT_GE(traffic.read, 4 * kTensorBytes) << "a, b, y and c";
}

TEST(TiledChain, TheReportSaysWhyTheIntermediateIsInDeviceMemory) {
  const RunResult result =
      RunOnCard(Load("tiled_chain", {"workload.dims={ A = 64, B = 512 }", "workload.lx=none"}));
  const auto report = SortedJsonOf(ReportJson(result));
  nlohmann::json place;
  for (const auto& decision : report["decisions"])
    if (decision["pass"] == "lx" && decision["subject"] == "y") place = decision;
  EXPECT_THAT(place["chosen"].dump(), HasSubstr("pool"));
  EXPECT_EQ(place["refused"][0]["candidate"], "LX");
  EXPECT_THAT(place["refused"][0]["rule"].dump(), HasSubstr("workload.lx"));
}

std::string Emit(const RunConfig& config, const std::string& stage) {
  std::vector<std::string> warnings;
  std::string text = EmitStage(config, stage, warnings);
  EXPECT_THAT(warnings, ::testing::IsEmpty());
  return text;
}

TEST(TiledChain, EveryPassPrintsWhatItLeft) {
  EXPECT_EQ(Emit(Load("tiled_chain"), "loops"),
            "loop 2\n"
            "  loop 4\n"
            "    add [512/32, 1024]\n"
            "    mul [512/32, 1024]\n");
  EXPECT_THAT(
      Emit(Load("tiled_chain"), "bundle"),
      ::testing::StartsWith("#map_0 = affine_map<(d0, d1)[s0] -> (s0 + 65536*d0 + 2097152*d1)>\n"));
  EXPECT_THAT(Emit(Load("tiled_chain"), "lx"), HasSubstr("y: 1048576 bytes, operations 0 "
                                                         ".. 2, lx 0\n"));
  EXPECT_THROW(Emit(Load("tiled_chain"), "loop"), Error);
  EXPECT_THROW(Emit(Load("add"), "loops"), Error);
}

std::string Refusal(const std::string& name, const std::vector<std::string>& sets) {
  try {
    ResolveWorkload(Load(name, sets));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "accepted";
}

TEST(OpListErrors, AreBadInputThatNamesTheKey) {
  EXPECT_THAT(Refusal("tiled_chain", {"workload.dims.A=1023"}), HasSubstr("not a multiple"));
  EXPECT_THAT(Refusal("tiled_chain", {"workload.ops=[{ op = \"ad\" }]"}),
              AllOf(HasSubstr("workload: ops[0].op = 'ad'"), HasSubstr("'add'?")));
  EXPECT_THAT(Refusal("tiled_chain", {"workload.m=3"}), HasSubstr("workload.m"));
  EXPECT_THAT(Refusal("tiled_chain", {"workload.graph=none.json"}), HasSubstr("none.json"));
}

// ---------------------------------------------------------------- lists beyond one program

// A chain of so many pointwise operations on [64, 64], as workload.ops.
std::string Chain(int length) {
  std::string ops;
  for (int i = 0; i < length; ++i) {
    ops += fmt::format("{}{{ op = \"{}\", inputs = [\"{}\", \"{}\"], output = \"t{}\" }}",
                       i == 0 ? "" : ", ", i % 2 == 0 ? "add" : "sub",
                       i == 0 ? "x" : fmt::format("t{}", i - 1), i % 2 == 0 ? "x" : "y", i);
  }
  return "workload.ops=[" + ops + "]";
}

const std::vector<std::string> kTwoInputs = {
    "workload.dims={ A = 64, B = 64 }",
    "workload.tensors=[{ name = \"x\", dims = [\"A\", \"B\"] }, { name = \"y\", dims = [\"A\", "
    "\"B\"] }]"};

RunConfig Listed(const std::string& ops, std::vector<std::string> more = {}) {
  more.insert(more.begin(), kTwoInputs.begin(), kTwoInputs.end());
  more.push_back(ops);
  return LoadConfig("", more);
}

TEST(LargeLists, AHundredAndTwentyOperationsAreOneLaunch) {
  const RunResult result = RunOnCard(Listed(Chain(120)));
  // x + x - y + x - y ...: each pair adds x - y, with one rounding an operation.
  ExpectRight(result, 120 * kOneRounding);
  EXPECT_FALSE(result.tasks);
}

TEST(LargeLists, AListThatFitsIsOneProgram) { EXPECT_FALSE(RunOnCard(Listed(Chain(4))).tasks); }

TEST(LargeLists, FourStackedMlpBlocksRun) {
  std::string ops;
  for (int block = 0; block < 4; ++block) {
    const std::string in = block == 0 ? "x" : fmt::format("r{}", block - 1);
    ops += fmt::format(
        "{}{{ op = \"matmul\", inputs = [\"{}\", \"w\"], output = \"h{}\" }}, "
        "{{ op = \"gelu\", inputs = [\"h{}\"], output = \"g{}\" }}, "
        "{{ op = \"matmul\", inputs = [\"g{}\", \"v\"], output = \"o{}\" }}, "
        "{{ op = \"rmsnorm\", inputs = [\"o{}\"], dim = \"K\", eps = 0.01, output = \"n{}\" }}, "
        "{{ op = \"add\", inputs = [\"n{}\", \"{}\"], output = \"r{}\" }}",
        block == 0 ? "" : ", ", in, block, block, block, block, block, block, block, block, in,
        block);
  }
  const RunResult result = RunOnCard(LoadConfig(
      "", {"workload.dims={ M = 64, K = 64, F = 128 }",
           "workload.tensors=[{ name = \"x\", dims = [\"M\", \"K\"] }, { name = \"w\", dims = "
           "[\"K\", \"F\"] }, { name = \"v\", dims = [\"F\", \"K\"] }]",
           "workload.ops=[" + ops + "]"}));
  ExpectRight(result, 64 * kOneRounding);
}

std::string RefusalOf(const RunConfig& config) {
  try {
    ResolveWorkload(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "accepted";
}

TEST(LargeLists, NestsBeyondTheCardsLoopsAreRefusedWhereTheyAreCompiled) {
  std::string hints;
  for (int i = 0; i < 8; ++i) hints += std::string(i == 0 ? "" : ", ") + "{ slices = { A = 1 } }";
  EXPECT_THAT(RefusalOf(Listed(Chain(2), {"workload.hints=[" + hints + "]"})),
              AllOf(HasSubstr("operation 'add': 8 loops around it and"),
                    HasSubstr("the card runs 8: use fewer loops (hints)")));
}

// 512 MiB each, on one core, in one piece.
const std::vector<std::string> kLong = {"workload.dims={ A = 4096, B = 65536 }", "workload.cores=1",
                                        "workload.chunk_bytes=1000000000"};

TEST(LargeLists, ACoreThatMustReachMoreThan256MiBIsRefused) {
  EXPECT_THAT(RefusalOf(Listed(Chain(2), kLong)),
              AllOf(HasSubstr("CRITICAL: operation 't0': each core reaches 536870912 bytes of "
                              "tensor 'x'; the limit is 268435456"),
                    HasSubstr("workload.long_spans = \"allow\"")));
}

TEST(LargeLists, AllowedItIsAWarning) {
  std::vector<std::string> sets = kLong;
  sets.emplace_back("workload.long_spans=allow");
  EXPECT_THAT(ResolveWorkload(Listed(Chain(2), sets))->warnings(),
              ::testing::Contains(HasSubstr("CRITICAL: operation 't0': each core reaches")));
}

TEST(Hints, WhatTheyDoNotDivideIsSaidInTheReport) {
  const RunResult result = RunOnCard(LoadConfig(
      "", {"workload.dims={ A = 4, B = 128 }",
           "workload.tensors=[{ name = \"x\", dims = [\"A\", \"B\"] }, { name = \"w\", dims = "
           "[\"B\"] }]",
           "workload.ops=[{ op = \"exp\", inputs = [\"w\"], output = \"v\" }, { op = \"mul\", "
           "inputs = [\"x\", \"v\"], output = \"y\" }]",
           "workload.hints=[{ slices = { A = 4, B = 2 } }]"}));
  ExpectRight(result, 4 * kOneRounding);
  const auto report = SortedJsonOf(ReportJson(result));
  EXPECT_THAT(report.at("warnings").get<std::vector<std::string>>(),
              ::testing::Contains(HasSubstr("hint A = 4: v has no dimension A")));
}

}  // namespace
}  // namespace spyre::cosim::op_list_test
