// Lists of operations end to end: from a configuration file to numbers on the modelled card. Each
// run is verified twice: bit for bit against the bundle executed element by element, and against
// the operations themselves in float64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "cosim/config.h"
#include "cosim/graph_workload.h"
#include "cosim/session.h"
#include "model/contract/error.h"
#include "tests/integration/out_dir.h"

namespace spyre::cosim {
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

std::vector<Case> Cases() {
  const std::string small_chain = "workload.dims={ A = 64, B = 512 }";
  std::vector<Case> cases = {
      {"chain", "seed002_chain", {small_chain}, 2 * kOneRounding},
      {"chain_untiled", "seed002_chain", {small_chain, "workload.tiling=false"}, 2 * kOneRounding},
      {"chain_in_the_pool", "seed002_chain", {small_chain, "workload.lx=none"}, 2 * kOneRounding},
      {"chain_one_stick_wide_tiles",
       "seed002_chain",
       {"workload.dims={ A = 64, B = 256 }"},
       2 * kOneRounding},
      {"chain_one_row_tiles",
       "seed002_chain",
       {"workload.dims={ A = 4, B = 512 }", "workload.hints=[{ slices = { A = 4 } }]"},
       2 * kOneRounding},
      {"chain_cut_twice_along_the_rows",
       "seed002_chain",
       {"workload.dims={ A = 128, B = 128 }",
        "workload.hints=[{ slices = { A = 2 } }, { slices = { A = 4 } }]"},
       2 * kOneRounding},
      {"chain_read_inside_and_outside_its_loop",
       "seed002_chain",
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

TEST(SeedChain, TheIntermediateCausesNoDeviceTraffic) {
  constexpr uint64_t kTensorBytes = 1024 * 4096 * 2;
  constexpr uint64_t kProgramBytes = 64 << 10;  // more than code and address table
  const Traffic traffic = TrafficOf(RunOnCard(Load("seed002_chain")));
  EXPECT_EQ(traffic.written, kTensorBytes) << "z, once";
  EXPECT_GE(traffic.read, 3 * kTensorBytes) << "a, b and c";
  EXPECT_LT(traffic.read, 3 * kTensorBytes + kProgramBytes) << "and nothing of y";
}

TEST(SeedChain, TheUntiledTwinMovesTheIntermediateThereAndBack) {
  constexpr uint64_t kTensorBytes = 1024 * 4096 * 2;
  const Traffic traffic =
      TrafficOf(RunOnCard(Load("seed002_chain", {"workload.tiling=false", "workload.lx=none"})));
  EXPECT_EQ(traffic.written, 2 * kTensorBytes) << "y and z";
  EXPECT_GE(traffic.read, 4 * kTensorBytes) << "a, b, y and c";
}

TEST(SeedChain, EveryPassPrintsWhatItLeft) {
  EXPECT_EQ(EmitStage(Load("seed002_chain"), "loops"),
            "loop 2\n"
            "  loop 4\n"
            "    add [512/32, 1024]\n"
            "    mul [512/32, 1024]\n");
  EXPECT_THAT(
      EmitStage(Load("seed002_chain"), "bundle"),
      ::testing::StartsWith("#map_0 = affine_map<(d0, d1)[s0] -> (s0 + 65536*d0 + 2097152*d1)>\n"));
  EXPECT_THAT(EmitStage(Load("seed002_chain"), "lx"), HasSubstr("y: 1048576 bytes, operations 0 "
                                                                ".. 2, lx 0\n"));
  EXPECT_THROW(EmitStage(Load("seed002_chain"), "loop"), Error);
  EXPECT_THROW(EmitStage(Load("add"), "loops"), Error);
}

std::string Refusal(const std::string& name, const std::vector<std::string>& sets) {
  try {
    ResolveGraph(Load(name, sets));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "accepted";
}

TEST(OpListErrors, AreBadInputThatNamesTheKey) {
  EXPECT_THAT(Refusal("seed002_chain", {"workload.dims.A=1023"}), HasSubstr("not a multiple"));
  EXPECT_THAT(Refusal("seed002_chain", {"workload.ops=[{ op = \"ad\" }]"}),
              AllOf(HasSubstr("workload: ops[0].op = 'ad'"), HasSubstr("'add'?")));
  EXPECT_THAT(Refusal("seed002_chain", {"workload.m=3"}), HasSubstr("workload.m"));
  EXPECT_THAT(Refusal("seed002_chain", {"workload.graph=none.json"}), HasSubstr("none.json"));
}

}  // namespace
}  // namespace spyre::cosim
