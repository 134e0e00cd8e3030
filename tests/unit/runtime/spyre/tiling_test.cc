#include "runtime/spyre/tiling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/contract/error.h"

namespace spyre::runtime {
namespace {

SpyreCompute MatmulOf(int64_t m, int64_t k, int64_t n) {
  SpyreCompute compute;
  compute.name = "matmul";
  compute.expected_input_shapes = {{m, k}, {k, n}, {m, n}};
  compute.dimension_names = {{"m", "k"}, {"k", "n"}, {"m", "n"}};
  compute.reduction_dims = {"k"};
  const char* names[] = {"a", "b", "out"};
  for (int i = 0; i < 3; ++i) {
    compute.arguments.push_back(
        {names[i], i == 2,
         DefaultLayout(compute.expected_input_shapes[i], DataFormat::kSen169Fp16)});
  }
  return compute;
}

SpyreTensor Tensor(const std::vector<int64_t>& shape) {
  return TensorAt(flex::VFDeviceHandle{0, 0}, DefaultLayout(shape, DataFormat::kSen169Fp16));
}

std::vector<SpyreTensor> Matrices(int64_t m, int64_t k, int64_t n) {
  return {Tensor({m, k}), Tensor({k, n}), Tensor({m, n})};
}

std::vector<int64_t> Offsets(const TilingPlan& plan, int64_t iteration) {
  std::vector<int64_t> offsets;
  for (const TileArgument& argument : plan[iteration].arguments) offsets.push_back(argument.offset);
  return offsets;
}

void ExpectRefused(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors,
                   const std::vector<std::string>& parts) {
  try {
    PlanTiling(compute, tensors);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    const std::string text = error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
    }
  }
}

TEST(Tiling, TheRunningExampleHasFourIterationsAlongM) {
  const TilingPlan plan = PlanTiling(MatmulOf(1024, 1024, 1024), Matrices(4096, 1024, 1024));
  EXPECT_EQ(plan.iterations, 4);
  ASSERT_EQ(plan.dimensions.size(), 1u);
  EXPECT_EQ(plan.dimensions[0].name, "m");
  // Rows are 128 bytes apart inside one stick column of the device image.
  EXPECT_EQ(Offsets(plan, 0), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(Offsets(plan, 3), (std::vector<int64_t>{3 * 1024 * 128, 0, 3 * 1024 * 128}));
}

TEST(Tiling, StickDimensionMovesByWholeStickColumns) {
  const TilingPlan plan = PlanTiling(MatmulOf(64, 64, 128), Matrices(64, 64, 512));
  EXPECT_EQ(plan.iterations, 4);
  // b: a stick column of n has k = 64 rows; out: m = 64 rows. A tile of n is two columns.
  EXPECT_EQ(Offsets(plan, 1), (std::vector<int64_t>{0, 2 * 64 * 128, 2 * 64 * 128}));
}

TEST(Tiling, SeveralDimensionsNestInOrderOfAppearance) {
  const TilingPlan plan = PlanTiling(MatmulOf(32, 64, 64), Matrices(64, 64, 192));
  EXPECT_EQ(plan.iterations, 6);
  EXPECT_EQ(plan.dimensions[0].name, "m");
  EXPECT_EQ(plan.dimensions[1].name, "n");
  // Iteration 4 is m tile 1, n tile 1. A column of out has all 64 rows.
  EXPECT_EQ(Offsets(plan, 4), (std::vector<int64_t>{32 * 128, 64 * 128, 32 * 128 + 64 * 128}));
}

TEST(Tiling, ExactShapesAreOneIteration) {
  const TilingPlan plan = PlanTiling(MatmulOf(64, 64, 64), Matrices(64, 64, 64));
  EXPECT_EQ(plan.iterations, 1);
  EXPECT_EQ(Offsets(plan, 0), (std::vector<int64_t>{0, 0, 0}));
}

TEST(Tiling, BatchesAreTiledByTheirOwnStride) {
  SpyreCompute compute = MatmulOf(64, 64, 64);
  compute.expected_input_shapes = {{2, 64, 64}, {2, 64, 64}, {2, 64, 64}};
  compute.dimension_names = {{"batch", "m", "k"}, {"batch", "k", "n"}, {"batch", "m", "n"}};
  for (ArgumentInfo& argument : compute.arguments) {
    argument.layout = DefaultLayout({2, 64, 64}, DataFormat::kSen169Fp16);
  }
  const std::vector<SpyreTensor> tensors(3, Tensor({6, 64, 64}));
  const TilingPlan plan = PlanTiling(compute, tensors);
  EXPECT_EQ(plan.iterations, 3);
  EXPECT_EQ(Offsets(plan, 2)[0], 2 * 2 * tensors[0].layout.DeviceByteStride(0));
}

TEST(Tiling, BroadcastOperandStaysInPlace) {
  SpyreCompute compute;
  compute.name = "add";
  compute.expected_input_shapes = {{64, 64}, {1, 64}};
  compute.dimension_names = {{"rows", "cols"}, {"rows", "cols"}};
  const TilingPlan plan = PlanTiling(compute, {Tensor({256, 64}), Tensor({1, 64})});
  EXPECT_EQ(plan.iterations, 4);
  EXPECT_EQ(Offsets(plan, 3), (std::vector<int64_t>{3 * 64 * 128, 0}));
}

TEST(Tiling, SmallerThanTheTileIsRefusedWithWhatFits) {
  ExpectRefused(MatmulOf(1024, 64, 64), Matrices(1000, 64, 64),
                {"matmul", "'a'", "dimension 0 ('m')", "1000", "smaller", "1024"});
}

TEST(Tiling, RemaindersAreRefusedWithWhatFits) {
  ExpectRefused(MatmulOf(1024, 64, 64), Matrices(4000, 64, 64),
                {"'a'", "('m')", "4000", "not a multiple", "3072", "4096"});
}

TEST(Tiling, TilingAReductionIsRefused) {
  ExpectRefused(MatmulOf(64, 64, 64), Matrices(64, 128, 64), {"('k')", "2 tiles", "64 would fit"});
}

TEST(Tiling, OneNameMustBeTiledAlikeEverywhere) {
  ExpectRefused(MatmulOf(64, 64, 64), {Tensor({128, 64}), Tensor({64, 64}), Tensor({192, 64})},
                {"'out'", "('m')", "3 tiles", "2 tiles", "128 would fit"});
}

TEST(Tiling, PartsOfAStickAreRefused) {
  ExpectRefused(MatmulOf(64, 64, 32), Matrices(64, 64, 128), {"('n')", "32", "stick", "64"});
}

TEST(Tiling, WrongNumberRankFormatAndStridesAreRefused) {
  const SpyreCompute compute = MatmulOf(64, 64, 64);
  ExpectRefused(compute, {Tensor({64, 64})}, {"3 tensors", "1 were given"});
  ExpectRefused(compute, {Tensor({64, 64}), Tensor({64}), Tensor({64, 64})}, {"'b'", "rank 2"});
  std::vector<SpyreTensor> tensors = Matrices(64, 64, 64);
  tensors[1] = TensorAt(flex::VFDeviceHandle{0, 0}, DefaultLayout({64, 64}, DataFormat::kIeeeFp32));
  ExpectRefused(compute, tensors, {"'b'", "IEEE_FP32", "SEN169_FP16"});
  tensors = Matrices(64, 64, 64);
  tensors[0].stride[0] = 256;
  ExpectRefused(compute, tensors, {"'a'", "256", "128"});
  tensors = Matrices(64, 64, 64);
  tensors[0] = TensorAt(flex::VFDeviceHandle{0, 0},
                        MakeLayout({64, 64}, {64, 1}, DataFormat::kSen169Fp16, {1, 0}));
  ExpectRefused(compute, tensors, {"'a'", "sticks run along dimension 0"});
}

// The tiles of a tensor are disjoint and cover it: every stick belongs to exactly one.
RC_GTEST_PROP(Tiling, TilesPartitionTheTensor, ()) {
  const int64_t rows = *rc::gen::inRange<int64_t>(1, 5);
  const int64_t columns = *rc::gen::inRange<int64_t>(1, 4);
  const int64_t row_tiles = *rc::gen::inRange<int64_t>(1, 5);
  const int64_t column_tiles = *rc::gen::inRange<int64_t>(1, 4);
  SpyreCompute compute;
  compute.expected_input_shapes = {{rows, columns * 64}};
  compute.dimension_names = {{"rows", "cols"}};
  const SpyreTensor tensor = Tensor({rows * row_tiles, columns * 64 * column_tiles});
  const TilingPlan plan = PlanTiling(compute, {tensor});
  std::vector<int> covered(tensor.size_bytes / 128, 0);
  for (int64_t i = 0; i < plan.iterations; ++i) {
    const int64_t start = Offsets(plan, i)[0];
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at =
            start + r * tensor.layout.DeviceByteStride(0) + c * tensor.layout.DeviceByteStride(1);
        ++covered.at(static_cast<size_t>(at / 128));
      }
    }
  }
  RC_ASSERT(covered == std::vector<int>(covered.size(), 1));
}

}  // namespace
}  // namespace spyre::runtime
