// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/tiling.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/unit/random_cases.h"

namespace spyre::runtime::tiling_test {
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

LaunchOptions InOrder(const std::vector<std::string>& order) {
  LaunchOptions options;
  options.order = order;
  return options;
}

LaunchOptions With(Remainder remainder) {
  LaunchOptions options;
  options.remainder = remainder;
  return options;
}

// A copy kernel for `shape`.
Operation CopyOf(const std::vector<int64_t>& shape) {
  SpyreCompute compute;
  compute.name = "copy";
  compute.expected_input_shapes = {shape, shape};
  const StickLayout layout = DefaultLayout(shape, DataFormat::kSen169Fp16);
  compute.arguments = {{"a", false, layout}, {"out", true, layout}};
  return Operation(compute);
}

// Offset of one argument in every iteration, in units of 128 bytes.
std::vector<int64_t> Sticks(const TilingPlan& plan, size_t argument) {
  std::vector<int64_t> sticks;
  for (int64_t i = 0; i < plan.size(); ++i)
    sticks.push_back(plan[i].arguments[argument].offset / 128);
  return sticks;
}

void ExpectRefused(const SpyreCompute& compute, const std::vector<SpyreTensor>& tensors,
                   const std::vector<std::string>& parts, const LaunchOptions& options = {},
                   const TileKernels& kernels = {}) {
  try {
    PlanTiling(compute, tensors, options, kernels);
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
  EXPECT_EQ(plan.size(), 4);
  ASSERT_EQ(plan.dimensions.size(), 1u);
  EXPECT_EQ(plan.dimensions[0].name, "m");
  // Rows are 128 bytes apart inside one stick column of the device image.
  EXPECT_EQ(Offsets(plan, 0), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(Offsets(plan, 3), (std::vector<int64_t>{3 * 1024 * 128, 0, 3 * 1024 * 128}));
  EXPECT_EQ(plan.Ranges(plan[1]), ", m=1024..2047");
}

TEST(Tiling, StickDimensionMovesByWholeStickColumns) {
  const TilingPlan plan = PlanTiling(MatmulOf(64, 64, 128), Matrices(64, 64, 512));
  EXPECT_EQ(plan.size(), 4);
  // b: a stick column of n has k = 64 rows; out: m = 64 rows. A tile of n is two columns.
  EXPECT_EQ(Offsets(plan, 1), (std::vector<int64_t>{0, 2 * 64 * 128, 2 * 64 * 128}));
}

TEST(Tiling, SeveralDimensionsNestInOrderOfAppearance) {
  const TilingPlan plan = PlanTiling(MatmulOf(32, 64, 64), Matrices(64, 64, 192));
  EXPECT_EQ(plan.size(), 6);
  EXPECT_EQ(plan.dimensions[0].name, "m");
  EXPECT_EQ(plan.dimensions[1].name, "n");
  // Iteration 4 is m tile 1, n tile 1. A column of out has all 64 rows.
  EXPECT_EQ(Offsets(plan, 4), (std::vector<int64_t>{32 * 128, 64 * 128, 32 * 128 + 64 * 128}));
  EXPECT_EQ(plan.Ranges(plan[4]), ", m=32..63, n=64..127");
}

TEST(Tiling, ExactShapesAreOneIteration) {
  const TilingPlan plan = PlanTiling(MatmulOf(64, 64, 64), Matrices(64, 64, 64));
  EXPECT_EQ(plan.size(), 1);
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
  EXPECT_EQ(plan.size(), 3);
  EXPECT_EQ(Offsets(plan, 2)[0], 2 * 2 * tensors[0].layout.DeviceByteStride(0));
}

// Batch, rows and columns of a product in every order: the last named is the fastest.
TEST(Tiling, BatchMatmulIsTiledInAnyOrder) {
  SpyreCompute compute = MatmulOf(64, 64, 64);
  compute.expected_input_shapes = {{1, 32, 64}, {1, 64, 64}, {1, 32, 64}};
  compute.dimension_names = {{"batch", "m", "k"}, {"batch", "k", "n"}, {"batch", "m", "n"}};
  compute.arguments.clear();
  const std::vector<SpyreTensor> tensors = {Tensor({2, 64, 64}), Tensor({2, 64, 128}),
                                            Tensor({2, 64, 128})};
  // Device order of [batch, m, n] is m, sticks of n, batch: 4 sticks a row.
  const std::map<std::string, int64_t> step = {{"batch", 1}, {"m", 32 * 4}, {"n", 2}};
  std::vector<std::string> order = {"batch", "m", "n"};
  do {
    const TilingPlan plan = PlanTiling(compute, tensors, InOrder(order));
    ASSERT_EQ(plan.size(), 8);
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < 8; ++i) {
      expected.push_back((i >> 2 & 1) * step.at(order[0]) + (i >> 1 & 1) * step.at(order[1]) +
                         (i & 1) * step.at(order[2]));
    }
    EXPECT_EQ(Sticks(plan, 2), expected) << order[0] << order[1] << order[2];
    EXPECT_EQ(plan[5].index, (std::vector<int64_t>{1, 0, 1}));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Tiling, DimensionsThatTheOrderLeavesOutFollow) {
  const TilingPlan plan = PlanTiling(MatmulOf(32, 64, 64), Matrices(64, 64, 192), InOrder({"n"}));
  ASSERT_EQ(plan.dimensions.size(), 2u);
  EXPECT_EQ(plan.dimensions[0].name, "n");
  EXPECT_EQ(plan.dimensions[1].name, "m");
  EXPECT_EQ(Sticks(plan, 2), (std::vector<int64_t>{0, 32, 64, 96, 128, 160}));
  EXPECT_EQ(PlanTiling(MatmulOf(32, 64, 64), Matrices(64, 64, 192), InOrder({"k", "n"}))
                .dimensions[0]
                .name,
            "n")
      << "k is not tiled: it has no place in the nest";
}

TEST(Tiling, OrderOfUnknownOrRepeatedNamesIsRefused) {
  ExpectRefused(MatmulOf(64, 64, 64), Matrices(128, 64, 128), {"no dimension 'q'", "m, k, n"},
                InOrder({"m", "q"}));
  ExpectRefused(MatmulOf(64, 64, 64), Matrices(128, 64, 128), {"'m' is there twice"},
                InOrder({"m", "n", "m"}));
}

TEST(Tiling, PaddingStagesTheArgumentsThatWalkWhatIsCutShort) {
  TileKernels kernels;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{36, 64}, {64, 36}, {36, 36}})
    kernels.copies.push_back(CopyOf(shape));
  const TilingPlan plan =
      PlanTiling(MatmulOf(64, 64, 64), Matrices(100, 64, 164), With(Remainder::kPad), kernels);
  ASSERT_EQ(plan.size(), 6);
  const auto copies = [&](int64_t i) {
    std::vector<int> result;
    for (const TileArgument& argument : plan[i].arguments) result.push_back(argument.copy);
    return result;
  };
  EXPECT_FALSE(plan[0].staged());
  EXPECT_EQ(copies(0), (std::vector<int>{-1, -1, -1}));
  EXPECT_EQ(copies(2), (std::vector<int>{-1, 1, 1})) << "n cut short: b and out";
  EXPECT_EQ(copies(3), (std::vector<int>{0, -1, 0})) << "m cut short: a and out";
  EXPECT_EQ(copies(5), (std::vector<int>{0, 1, 2})) << "both";
  EXPECT_TRUE(plan[5].staged());
  EXPECT_EQ(plan[5].remainder, -1) << "the kernel itself, on padded tiles";
  EXPECT_EQ(plan[5].arguments[2].offset, 64 * 128 + 2 * 100 * 128);
  EXPECT_EQ(plan.Ranges(plan[5]), ", m=64..99, n=128..163") << "what is cut short ends earlier";
}

TEST(Tiling, RemainderKernelsAreFoundByTheirShapes) {
  TileKernels kernels;
  kernels.remainders = {Operation(MatmulOf(36, 64, 36)), Operation(MatmulOf(36, 64, 64)),
                        Operation(MatmulOf(64, 64, 36))};
  const TilingPlan plan =
      PlanTiling(MatmulOf(64, 64, 64), Matrices(100, 64, 164), With(Remainder::kKernel), kernels);
  std::vector<int> used;
  for (int64_t i = 0; i < plan.size(); ++i) {
    used.push_back(plan[i].remainder);
    EXPECT_FALSE(plan[i].staged());
  }
  EXPECT_EQ(used, (std::vector<int>{-1, -1, 2, 1, 1, 0}));
}

TEST(Tiling, ATensorSmallerThanTheTileIsOneTileCutShort) {
  TileKernels kernels;
  kernels.copies.push_back(CopyOf({36, 64}));
  const TilingPlan plan =
      PlanTiling(MatmulOf(64, 64, 64), Matrices(36, 64, 64), With(Remainder::kPad), kernels);
  EXPECT_EQ(plan.size(), 1);
  EXPECT_EQ(plan.shapes.size(), 1u) << "there is no whole tile";
  EXPECT_TRUE(plan[0].staged());
}

TEST(Tiling, KernelsThatAreMissingAreNamed) {
  ExpectRefused(MatmulOf(64, 64, 64), Matrices(100, 64, 64), {"'a'", "copy kernel", "[36, 64]"},
                With(Remainder::kPad));
  ExpectRefused(MatmulOf(64, 64, 64), Matrices(100, 64, 64),
                {"remainder_kernel", "[36, 64]", "no remainder kernel was given"},
                With(Remainder::kKernel));
  TileKernels others;
  others.remainders = {Operation(MatmulOf(35, 64, 64))};
  others.copies = {CopyOf({35, 64}), Operation(std::vector<PreProcessCompute>{})};
  ExpectRefused(MatmulOf(64, 64, 64), Matrices(100, 64, 64), {"2 copy kernels", "none for it"},
                With(Remainder::kPad), others);
  ExpectRefused(MatmulOf(64, 64, 64), Matrices(100, 64, 64), {"given were [[35, 64]"},
                With(Remainder::kKernel), others);
}

TEST(Tiling, ReducedDimensionsAreNeitherPaddedNorCutShort) {
  for (const Remainder remainder : {Remainder::kPad, Remainder::kKernel}) {
    ExpectRefused(MatmulOf(64, 64, 64), Matrices(64, 100, 64), {"('k')", "64 would fit"},
                  With(remainder));
    ExpectRefused(MatmulOf(64, 64, 64), Matrices(64, 32, 64),
                  {"('k')", "sums over", "64 would fit"}, With(remainder));
  }
}

TEST(Tiling, OneNameHasOneSizeAlsoWhereItIsCutShort) {
  ExpectRefused(MatmulOf(64, 64, 64), {Tensor({100, 64}), Tensor({64, 64}), Tensor({99, 64})},
                {"'out'", "size 99", "size 100 would fit"}, With(Remainder::kPad));
}

TEST(Tiling, ATileThatLiesInTwoChunksIsRefusedWithWhatFits) {
  std::vector<SpyreTensor> tensors = Matrices(64, 64, 384);
  SpyreTensor& b = tensors[1];
  const uint64_t bytes = b.size_bytes / 2;  // 192 columns
  b.chunks = {{flex::VFDeviceHandle{0, 0}, 0, bytes}, {flex::VFDeviceHandle{1, 0}, bytes, bytes}};
  EXPECT_EQ(PlanTiling(MatmulOf(64, 64, 64), tensors).size(), 6);
  ExpectRefused(MatmulOf(64, 64, 128), tensors,
                {"'b'", "('n')", "elements 128 to 255", "2 chunks", "divides 192"});
  ExpectRefused(MatmulOf(64, 64, 384), tensors, {"'b'", "divides 192"});
}

TEST(Tiling, BroadcastOperandStaysInPlace) {
  SpyreCompute compute;
  compute.name = "add";
  compute.expected_input_shapes = {{64, 64}, {1, 64}};
  compute.dimension_names = {{"rows", "cols"}, {"rows", "cols"}};
  const TilingPlan plan = PlanTiling(compute, {Tensor({256, 64}), Tensor({1, 64})});
  EXPECT_EQ(plan.size(), 4);
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

// The valid parts of the tiles are disjoint and cover the tensor, in any order: every stick of the
// device image belongs to exactly one.
TEST(Tiling, TilesPartitionTheTensor) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const auto rows = test::Draw<int64_t>(random, 1, 4);
    const auto columns = test::Draw<int64_t>(random, 1, 3);
    SpyreCompute compute;
    compute.expected_input_shapes = {{rows, columns * 64}};
    compute.dimension_names = {{"rows", "cols"}};
    const std::vector<int64_t> shape = {test::Draw<int64_t>(random, 1, 19),
                                        test::Draw<int64_t>(random, 1, 799)};
    const SpyreTensor tensor = Tensor(shape);
    LaunchOptions options = With(Remainder::kKernel);
    const std::vector<std::string> orders[] = {{}, {"rows"}, {"cols", "rows"}};
    options.order = orders[random() % 3];
    TileKernels kernels;
    for (const int64_t r : {rows, shape[0] % rows}) {
      for (const int64_t c : {columns * 64, shape[1] % (columns * 64)}) {
        if (r == 0 || c == 0) continue;
        SpyreCompute rest = compute;
        rest.expected_input_shapes = {{r, c}};
        kernels.remainders.emplace_back(rest);
      }
    }
    const TilingPlan plan = PlanTiling(compute, {tensor}, options, kernels);
    std::vector<int> covered(tensor.size_bytes / 128, 0);
    for (int64_t i = 0; i < plan.size(); ++i) {
      const Tile tile = plan[i];
      const std::vector<int64_t>& valid =
          tile.remainder < 0 ? compute.expected_input_shapes[0]
                             : kernels.remainders[static_cast<size_t>(tile.remainder)]
                                   .compute()
                                   ->expected_input_shapes[0];
      for (int64_t r = 0; r < valid[0]; ++r) {
        for (int64_t c = 0; c < (valid[1] + 63) / 64; ++c) {
          const int64_t at = tile.arguments[0].offset + r * tensor.layout.DeviceByteStride(0) +
                             c * tensor.layout.DeviceByteStride(1);
          ++covered.at(static_cast<size_t>(at / 128));
        }
      }
    }
    EXPECT_TRUE(covered == std::vector<int>(covered.size(), 1));
  });
}

}  // namespace
}  // namespace spyre::runtime::tiling_test
