// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/tile_kernels.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "runtime/compiler/codegen/generate_kernel.h"

namespace spyre::compiler::tile_kernels_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

KernelSpec Matmul(int64_t m, int64_t k, int64_t n) {
  KernelSpec spec;
  spec.op = "matmul";
  spec.dims = {{"m", m}, {"k", k}, {"n", n}};
  return spec;
}

std::vector<std::string> NamesOf(const std::vector<TileKernel>& kernels) {
  std::vector<std::string> names;
  for (const TileKernel& kernel : kernels) names.push_back(kernel.name);
  return names;
}

TEST(TileKernels, EveryCombinationOfWhatRemainsHasAKernel) {
  const auto kernels = RemainderKernels(Matmul(32, 64, 64), {{"m", 100}, {"k", 64}, {"n", 160}});
  EXPECT_THAT(NamesOf(kernels), ElementsAre("remainder_m4", "remainder_n32", "remainder_m4_n32"));
  EXPECT_THAT(kernels[2].kernel.arguments[2].shape, ElementsAre(4, 32));
  EXPECT_THAT(kernels[0].kernel.arguments[1].shape, ElementsAre(64, 64));
}

TEST(TileKernels, TilesThatFitNeedNothing) {
  EXPECT_THAT(RemainderKernels(Matmul(32, 64, 64), {{"m", 96}, {"n", 128}}), IsEmpty());
  EXPECT_THAT(StagingCopies(Matmul(32, 64, 64), {{"m", 96}, {"n", 128}}), IsEmpty());
}

TEST(TileKernels, ATileThatIsNeverWholeIsAlwaysCutShort) {
  EXPECT_THAT(NamesOf(RemainderKernels(Matmul(32, 64, 64), {{"m", 20}, {"n", 100}})),
              ElementsAre("remainder_m20", "remainder_m20_n36"));
}

TEST(TileKernels, ReducedDimensionsAreLeftAlone) {
  EXPECT_THAT(RemainderKernels(Matmul(32, 64, 64), {{"k", 100}}), IsEmpty());
  KernelSpec softmax;
  softmax.op = "softmax";
  softmax.dims = {{"rows", 32}, {"cols", 64}};
  EXPECT_THAT(NamesOf(RemainderKernels(softmax, {{"rows", 40}, {"cols", 100}})),
              ElementsAre("remainder_rows8"));
}

TEST(TileKernels, CopiesAreOnePerShapeAndKindOfStick) {
  EXPECT_THAT(NamesOf(StagingCopies(Matmul(32, 64, 64), {{"m", 100}, {"n", 160}})),
              ElementsAre("copy_4x64", "copy_64x32", "copy_32x32", "copy_4x32"))
      << "a and out of 4 rows are alike";
  KernelSpec sum;
  sum.op = "sum";
  sum.dims = {{"rows", 32}, {"cols", 64}};
  const auto copies = StagingCopies(sum, {{"rows", 40}});
  EXPECT_THAT(NamesOf(copies), ElementsAre("copy_8x64", "copy_8_sparse"));
  EXPECT_EQ(copies[1].kernel.arguments[0].layout.stick_dim(), -1);
  EXPECT_EQ(copies[1].kernel.name, "tile copy");
}

// Partial sums are added in the order of the cores that have them, so another division of k would
// give other bits.
TEST(TileKernels, SumsAreDividedAsInTheTile) {
  KernelSpec tile = Matmul(256, 512, 128);
  tile.split = {{"m", 4}, {"k", 4}};
  tile.cores = 16;
  for (const TileKernel& kernel : RemainderKernels(tile, {{"m", 259}, {"n", 136}})) {
    EXPECT_EQ(kernel.kernel.plan.split.at("k"), 4) << kernel.name;
  }
  tile.split.clear();
  tile.cores = 32;
  const int whole = GenerateKernel(tile).plan.split.at("k");
  for (const TileKernel& kernel : RemainderKernels(tile, {{"m", 257}, {"n", 136}})) {
    EXPECT_EQ(kernel.kernel.plan.split.at("k"), whole) << kernel.name;
  }
}

TEST(TileKernels, LayoutsOfTheTileAreKept) {
  KernelSpec add;
  add.op = "add";
  add.dims = {{"rows", 64}, {"cols", 32}};
  const StickLayout layout =
      MakeLayout({64, 32}, ContiguousStrides({64, 32}), DataFormat::kSen169Fp16, {1, 0});
  add.layouts = {layout, layout, layout};
  const auto remainders = RemainderKernels(add, {{"rows", 100}});
  ASSERT_EQ(remainders.size(), 1u);
  EXPECT_EQ(remainders[0].kernel.arguments[2].layout.stick_dim(), 0);
  EXPECT_THAT(NamesOf(StagingCopies(add, {{"rows", 100}})), ElementsAre("copy_36x32_sticks0"));
}

}  // namespace
}  // namespace spyre::compiler::tile_kernels_test
