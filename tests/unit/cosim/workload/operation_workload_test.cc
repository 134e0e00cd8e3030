// SPDX-License-Identifier: Apache-2.0
// One operation as a workload: what a configuration asks for becomes tensors and a kernel.
#include "cosim/workload/operation_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace spyre::cosim::operation_workload_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig Config(const std::string& text) { return ParseConfig("[workload]\n" + text, "run.toml"); }

std::string MessageOf(const std::string& text) {
  try {
    PlanOperation(Config(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "no error";
}

std::vector<int64_t> Slices(const OperationPlan& operation, const compiler::KernelPlan& plan) {
  return ReducedSliceEnds(operation.kernel_spec, operation.sizes, operation.problem.tile_ends,
                          plan);
}

TEST(OperationWorkload, MatmulHasTwoInputsOfFullSizeAndAKernelOfTileSize) {
  const OperationPlan w = PlanOperation(Config("m = 400\nk = 64\nn = 128\ntile = { m = 100 }\n"));
  ASSERT_EQ(w.tensors.size(), 3u);
  EXPECT_THAT(w.tensors[0].shape, ElementsAre(400, 64));
  EXPECT_THAT(w.tensors[1].shape, ElementsAre(64, 128));
  EXPECT_THAT(w.tensors[2].shape, ElementsAre(400, 128));
  EXPECT_TRUE(w.tensors[2].is_output);
  EXPECT_EQ(w.kernel_spec.dims.at("m"), 100);
  EXPECT_EQ(w.kernel_spec.dims.at("k"), 64);
  EXPECT_EQ(w.problem.m, 400);
  EXPECT_EQ(w.description, "matmul m=400 k=64 n=128, tile m=100");
}

TEST(OperationWorkload, MatmulWithABatchIsABatchMatmul) {
  const OperationPlan w = PlanOperation(Config("batch = 3\nm = 4\nk = 64\nn = 64\n"));
  EXPECT_EQ(w.kernel_spec.op, "batchmatmul");
  EXPECT_THAT(w.tensors[2].shape, ElementsAre(3, 4, 64));
}

TEST(OperationWorkload, ReductionDropsItsAxis) {
  const OperationPlan cols = PlanOperation(Config("op = \"sum\"\nrows = 5\ncols = 70\n"));
  EXPECT_THAT(cols.tensors[1].shape, ElementsAre(5));
  EXPECT_EQ(cols.tensors[1].layout.stick_dim(), -1) << "one element per stick";
  const OperationPlan rows =
      PlanOperation(Config("op = \"sum\"\nrows = 5\ncols = 70\naxis = \"rows\"\n"));
  EXPECT_THAT(rows.tensors[1].shape, ElementsAre(70));
  EXPECT_TRUE(rows.problem.reduce_rows);
}

TEST(OperationWorkload, AliasesAreResolved) {
  EXPECT_EQ(PlanOperation(Config("op = \"realdiv\"\ncols = 70\n")).problem.op, "div");
}

TEST(OperationWorkload, MissingAndForeignSizesAreNamed) {
  EXPECT_THAT(MessageOf("m = 4\nk = 64\n"), HasSubstr("workload.n is missing"));
  EXPECT_THAT(MessageOf("op = \"add\"\nrows = 4\n"), HasSubstr("workload.cols is missing"));
  EXPECT_THAT(MessageOf("m = 4\nk = 64\nn = 64\nrows = 2\n"), HasSubstr("no dimension 'rows'"));
  EXPECT_THAT(MessageOf("op = \"add\"\ncols = 4\nsplit = { k = 2 }\n"),
              HasSubstr("workload.split.k = 2: operation 'add' has no dimension 'k'"));
  EXPECT_THAT(MessageOf("op = \"add\"\ncols = 4\ntile = { rows = 2 }\n"),
              HasSubstr("workload.tile.rows = 2, but workload.rows is not given"));
  EXPECT_THAT(MessageOf("op = \"sum\"\ncols = 4\naxis = \"rows\"\n"),
              HasSubstr("needs workload.rows"));
  EXPECT_THAT(MessageOf("op = \"neg\"\ncols = 4\ninputs = { b = \"b.npy\" }\n"),
              HasSubstr("operation 'neg' has one input"));
}

TEST(OperationWorkload, TensorsBeyondEveryCardAreRefusedWithoutOverflow) {
  EXPECT_THAT(MessageOf("m = 2147483648\nk = 2147483648\nn = 2147483648\n"),
              HasSubstr("larger than any card"));
}

TEST(OperationWorkload, TheRuleOfWorkDivisionIsChosenByNameAndKnowsTheCard) {
  EXPECT_EQ(PlanOperation(Config("m = 64\nk = 64\nn = 64\n")).kernel_spec.split_rule,
            compiler::SplitRule::kPublic);
  RunConfig config = Config("m = 64\nk = 64\nn = 64\ndivision = \"cost\"\n");
  config.card.core.corelets = 1;
  config.card.memory.channels = 32;
  config.card.ring.multicast_cohort = 4;
  const compiler::KernelSpec spec = PlanOperation(config).kernel_spec;
  EXPECT_EQ(spec.split_rule, compiler::SplitRule::kCost);
  EXPECT_DOUBLE_EQ(spec.matmul_timing.macs_per_core_ns, 1140.0 / 2);
  EXPECT_DOUBLE_EQ(spec.matmul_timing.memory_bytes_per_ns, 150.0 * 2);
  EXPECT_DOUBLE_EQ(spec.matmul_timing.cohort, 4);
  EXPECT_THROW(Config("division = \"costs\"\n"), Error);
}

TEST(OperationWorkload, SlicesOfTheReducedDimensionAreWholeSticksTheLongerOnesFirst) {
  const OperationPlan w = PlanOperation(Config("m = 4\nk = 1000\nn = 64\n"));
  compiler::KernelPlan plan;
  plan.split = {{"m", 1}, {"k", 4}, {"n", 1}};
  EXPECT_THAT(Slices(w, plan), ElementsAre(256, 512, 768, 1000)) << "16 sticks in 4";
  plan.split["k"] = 3;
  EXPECT_THAT(Slices(w, plan), ElementsAre(384, 704, 1000)) << "6, 5 and 5 sticks";
  plan.split["k"] = 1;
  EXPECT_TRUE(Slices(w, plan).empty());
}

TEST(OperationWorkload, ATiledReductionKeepsItsSumsOrRoundsThem) {
  const auto resolve = [](const char* how) {
    return PlanOperation(Config(std::string("m = 4\nk = 500\nn = 64\ntile = { k = 192 }\n") +
                                "launch = { reduction = \"" + how + "\" }\n"));
  };
  compiler::KernelPlan plan;
  plan.split = {{"m", 1}, {"k", 2}, {"n", 1}};
  const OperationPlan device = resolve("device");
  EXPECT_EQ(device.kernel_spec.accumulator, compiler::Accumulator::kDevice);
  EXPECT_THAT(Slices(device, plan), ElementsAre(256, 500)) << "of the whole k";
  EXPECT_EQ(resolve("lx").kernel_spec.accumulator, compiler::Accumulator::kLx);
  const OperationPlan tiles = resolve("plan");
  EXPECT_EQ(tiles.kernel_spec.accumulator, compiler::Accumulator::kNone);
  EXPECT_THAT(tiles.problem.tile_ends, ElementsAre(192, 384, 500));
  EXPECT_THAT(Slices(tiles, plan), ElementsAre(128, 192, 320, 384, 448, 500)) << "of each tile";
  EXPECT_EQ(resolve("fail").kernel_spec.accumulator, compiler::Accumulator::kNone);
  EXPECT_THAT(MessageOf("op = \"sum\"\nrows = 8\ncols = 256\ntile = { cols = 64 }\n"
                        "launch = { reduction = \"lx\" }\n"),
              HasSubstr("\"plan\" puts the results of parts"));
}

TEST(OperationWorkload, PartsOfAMeanOrASoftmaxAreRefusedWhateverCarriesThem) {
  for (const char* how : {"fail", "device", "lx", "plan"}) {
    const std::string launch = std::string("launch = { reduction = \"") + how + "\" }\n";
    EXPECT_THAT(
        MessageOf("op = \"softmax\"\nrows = 8\ncols = 256\ntile = { cols = 64 }\n" + launch),
        HasSubstr("workload.tile.cols = 64: softmax of parts of its 256 elements"));
    EXPECT_THAT(MessageOf("op = \"mean\"\naxis = \"rows\"\nrows = 8\ncols = 256\n"
                          "tile = { rows = 4 }\n" +
                          launch),
                HasSubstr("workload.tile.rows = 4: mean of parts of its 8 elements"));
    EXPECT_EQ(MessageOf("op = \"softmax\"\nrows = 8\ncols = 256\ntile = { rows = 4 }\n" + launch),
              "no error");
  }
}

}  // namespace
}  // namespace spyre::cosim::operation_workload_test
