// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/tile_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/unit/error_of.h"
#include "tests/unit/random_cases.h"
#include "tests/unit/runtime/spyre/fake_tile_kernels.h"

namespace spyre::runtime::tile_launcher_test {
namespace {

using test::FakeCard;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Shape = std::array<int64_t, 2>;
using test::FailureOf;

StickLayout LayoutOf(const Shape& shape) {
  return DefaultLayout({shape[0], shape[1]}, DataFormat::kSen169Fp16);
}

std::vector<uint16_t> Numbers(const Shape& shape) {
  std::vector<uint16_t> data(static_cast<size_t>(shape[0] * shape[1]));
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = HalfFromFloat(static_cast<float>(i * 31 % 509) + 1);
  return data;
}

// A card, a context on its function 1 or 0, and kernels for tensors of one size.
class Bench {
 public:
  explicit Bench(driver::FunctionId function = 0) {
    if (function != 0) {
      driver::Device physical(card, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
    }
    kernel.InstallOn(card);
    context = std::make_unique<flex::RuntimeContext>(card, function);
    stream = std::make_unique<SpyreStream>(*context);
  }
  KernelSet Kernels(const Shape& tile, const Shape& size) {
    test::TemporaryDirectory directory;
    test::WriteTileKernels(directory.path(), tile, size);
    KernelSet kernels(directory.path());
    LoadKernels(*stream, kernels);
    return kernels;
  }
  SpyreTensor Input(const Shape& size, int chunks = 1, int64_t granularity = 1) {
    SpyreTensor tensor = AllocateTensorInterleaved(*context, LayoutOf(size), chunks, granularity);
    CopyTensorToDevice(*stream, tensor, Numbers(size).data(), DataFormat::kIeeeFp16);
    return tensor;
  }
  std::vector<uint16_t> ToHost(const SpyreTensor& tensor) {
    std::vector<uint16_t> data(static_cast<size_t>(tensor.shape[0] * tensor.shape[1]));
    CopyTensorFromDevice(*stream, tensor, data.data(), DataFormat::kIeeeFp16);
    stream->Synchronize();
    return data;
  }
  // What a kernel compiled for the whole size computes.
  std::vector<uint16_t> Untiled(const Shape& size) {
    const KernelSet kernels = Kernels(size, size);
    const SpyreTensor out = AllocateTensor(*context, LayoutOf(size));
    LaunchOptions options;
    options.routing = Routing::kStrict;
    LaunchKernel(*stream, kernels, {Input(size), out}, options);
    return ToHost(out);
  }

  FakeCard card;
  test::TileKernelImitation kernel;
  std::unique_ptr<flex::RuntimeContext> context;
  std::unique_ptr<SpyreStream> stream;
};

LaunchOptions With(Remainder remainder) {
  LaunchOptions options;
  options.remainder = remainder;
  return options;
}

class TileLauncherModes : public testing::TestWithParam<driver::FunctionId> {};
INSTANTIATE_TEST_SUITE_P(Mode, TileLauncherModes, testing::Values(0, 1),
                         [](const auto& mode) { return mode.param == 0 ? "PF" : "VF"; });

TEST_P(TileLauncherModes, PaddedTileIsStagedOnTheDevice) {
  Bench bench(GetParam());
  const KernelSet kernels = bench.Kernels({4, 64}, {10, 64});
  const SpyreTensor a = bench.Input({10, 64});
  const SpyreTensor before = bench.Input({4, 64});
  const SpyreTensor out = AllocateTensor(*bench.context, {10, 64});
  const SpyreTensor after = bench.Input({4, 64});
  bench.stream->Synchronize();
  bench.context->ClearCompletedOperations();
  LaunchKernel(*bench.stream, kernels, {a, out}, With(Remainder::kPad));
  bench.stream->Synchronize();
  const auto done = bench.context->CompletedOperations();
  std::vector<std::string> labels;
  for (const auto& operation : done) {
    if (operation.label != "correction input") labels.push_back(operation.label);
  }
  EXPECT_THAT(labels, ElementsAre("tile 0 of 3, rows=0..3", "tile 0 of 3, rows=0..3",
                                  "tile 1 of 3, rows=4..7", "tile 1 of 3, rows=4..7",
                                  "tile 2: zero a", "tile 2: copy in a", "tile 2: copy in a",
                                  "tile 2 of 3, rows=8..9", "tile 2 of 3, rows=8..9",
                                  "tile 2: copy out out", "tile 2: copy out out"));
  EXPECT_EQ(bench.kernel.launches, 3);
  // Rows 8 and 9, then zeros.
  const std::vector<uint16_t>& input = bench.kernel.last_input;
  ASSERT_EQ(input.size(), 4u * 64);
  EXPECT_THAT(std::vector<uint16_t>(input.begin(), input.begin() + 128), Each(testing::Ne(0)));
  EXPECT_THAT(std::vector<uint16_t>(input.begin() + 128, input.end()), Each(0));
  EXPECT_EQ(bench.ToHost(out), bench.Untiled({10, 64}));
  EXPECT_EQ(bench.ToHost(before), Numbers({4, 64})) << "memory before the output";
  EXPECT_EQ(bench.ToHost(after), Numbers({4, 64})) << "memory behind the output";
}

TEST_P(TileLauncherModes, RemainderKernelsRunInPlace) {
  Bench bench(GetParam());
  const KernelSet kernels = bench.Kernels({4, 64}, {10, 100});
  const SpyreTensor a = bench.Input({10, 100});
  const SpyreTensor out = AllocateTensor(*bench.context, {10, 100});
  LaunchKernel(*bench.stream, kernels, {a, out}, With(Remainder::kKernel));
  const std::vector<uint16_t> result = bench.ToHost(out);
  EXPECT_THAT(bench.kernel.shapes, ElementsAre(Shape{4, 64}, Shape{4, 36}, Shape{4, 64},
                                               Shape{4, 36}, Shape{2, 64}, Shape{2, 36}));
  EXPECT_EQ(result, bench.Untiled({10, 100}));
}

TEST_P(TileLauncherModes, TilesOfAnInterleavedTensorAreFoundInTheirChunks) {
  Bench bench(GetParam());
  const KernelSet kernels = bench.Kernels({4, 64}, {8, 320});
  const SpyreTensor a = bench.Input({8, 320}, 3, 64);  // 128, 128 and 64 columns
  const SpyreTensor out =
      AllocateTensorInterleaved(*bench.context, LayoutOf({8, 320}), 2, 64);  // 192 and 128
  ASSERT_EQ(a.chunks.size(), 3u);
  ASSERT_EQ(out.chunks.size(), 2u);
  LaunchKernel(*bench.stream, kernels, {a, out});
  EXPECT_EQ(bench.ToHost(out), bench.Untiled({8, 320}));
  EXPECT_EQ(bench.kernel.launches, 10 + 1);
}

TEST(TileLauncher, StagingIsZeroedAgainOnlyWhenOtherElementsPadIt) {
  Bench bench;
  const KernelSet kernels = bench.Kernels({4, 64}, {6, 200});
  LaunchOptions options = With(Remainder::kPad);
  LaunchKernel(*bench.stream, kernels,
               {bench.Input({6, 200}), AllocateTensor(*bench.context, {6, 200})}, options);
  bench.stream->Synchronize();
  const auto done = bench.context->CompletedOperations();
  const auto fills = std::count_if(done.begin(), done.end(), [](const auto& operation) {
    return operation.opcode == Opcode::DMA_FILL;
  });
  // Columns cut short in tile 3, rows in 4 to 6, both in 7.
  EXPECT_EQ(fills, 3);
}

TEST(TileLauncher, StagingIsFreedWithTheWork) {
  Bench bench;
  const KernelSet kernels = bench.Kernels({4, 64}, {6, 64});
  LaunchKernel(*bench.stream, kernels,
               {bench.Input({6, 64}), AllocateTensor(*bench.context, {6, 64})},
               With(Remainder::kPad));
  EXPECT_EQ(bench.context->Statistics(flex::MemoryKind::kTensor).live_allocations, 4u);
  bench.stream->Synchronize();
  EXPECT_EQ(bench.context->Statistics(flex::MemoryKind::kTensor).live_allocations, 0u);
}

TEST(TileLauncher, EverySlotHasItsStaging) {
  Bench bench;
  const KernelSet kernels = bench.Kernels({4, 64}, {6, 128});
  const SpyreTensor a = bench.Input({6, 128});
  const SpyreTensor out = AllocateTensor(*bench.context, {6, 128});
  TileLauncher tiles(*bench.context, kernels.plan().operations()[0], {a, out},
                     With(Remainder::kPad), kernels.KernelsFor(0), 2);
  EXPECT_EQ(bench.context->Statistics(flex::MemoryKind::kTensor).live_allocations, 2u + 2 * 2);
  for (int64_t i = tiles.plan().size(); i-- > 0;)  // any order, on streams of their own
    tiles.Enqueue(*bench.stream, i, static_cast<int>(i % 2));
  EXPECT_THROW(tiles.Enqueue(*bench.stream, 0, 2), std::out_of_range);
  EXPECT_EQ(bench.ToHost(out), bench.Untiled({6, 128}));
}

TEST(LaunchKernel, RoutingDecidesWhatIsTiled) {
  Bench bench;
  const KernelSet kernels = bench.Kernels({4, 64}, {4, 64});
  const std::vector<SpyreTensor> exact = {bench.Input({4, 64}), bench.Input({4, 64})};
  const std::vector<SpyreTensor> larger = {bench.Input({8, 64}), bench.Input({8, 64})};
  const auto last_label = [&] {
    bench.stream->Synchronize();
    return bench.context->CompletedOperations().back().label;
  };
  LaunchOptions options;
  LaunchKernel(*bench.stream, kernels, exact, options);
  EXPECT_EQ(last_label(), "") << "auto, exact shapes: whole";
  LaunchKernel(*bench.stream, kernels, larger, options);
  EXPECT_EQ(last_label(), "tile 1 of 2, rows=4..7") << "auto, other shapes: tiled";
  options.routing = Routing::kTiled;
  LaunchKernel(*bench.stream, kernels.plan(), exact, options);
  EXPECT_EQ(last_label(), "tile 0 of 1") << "tiled: also for one tile";
  options.routing = Routing::kStrict;
  LaunchKernel(*bench.stream, kernels.plan(), exact, options);
  EXPECT_EQ(last_label(), "") << "strict: whole";
  EXPECT_THAT(FailureOf([&] { LaunchKernel(*bench.stream, kernels, larger, options); }),
              HasSubstr("compiled for exactly [4, 64]"));
  options.order = {"row"};
  EXPECT_THAT(FailureOf([&] { LaunchKernel(*bench.stream, kernels, exact, options); }),
              HasSubstr("did you mean 'rows'?"));
}

TEST(LaunchKernel, WholeLaunchOfAnInterleavedTensorIsRefused) {
  Bench bench;
  const KernelSet kernels = bench.Kernels({4, 128}, {4, 128});
  const SpyreTensor a = bench.Input({4, 128}, 2);
  EXPECT_THAT(FailureOf([&] {
                LaunchKernel(*bench.stream, kernels, {a, a});
              }),
              HasSubstr("lies in 2 chunks"));
}

// Any shape, tile, order and way to treat what remains, in one piece or in chunks: the bits of a
// launch that is not tiled.
TEST(TileLauncher, EveryWayOfTilingGivesTheUntiledResult) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Shape tile = {test::Draw<int64_t>(random, 1, 4), random() % 2 == 0 ? 64 : 128};
    const Shape size = {test::Draw<int64_t>(random, 1, 9), test::Draw<int64_t>(random, 1, 299)};
    LaunchOptions options;
    const std::vector<std::string> orders[] = {{}, {"cols"}, {"cols", "rows"}};
    options.order = orders[random() % 3];
    options.remainder = test::DrawOf(random, {Remainder::kPad, Remainder::kKernel});
    const bool chunks = size[1] > tile[1] && test::DrawBool(random);
    Bench bench(static_cast<driver::FunctionId>(random() % 2));
    const KernelSet kernels = bench.Kernels(tile, size);
    const SpyreTensor a = bench.Input(size, chunks ? 2 : 1, tile[1]);
    const SpyreTensor out = AllocateTensor(*bench.context, LayoutOf(size));
    LaunchKernel(*bench.stream, kernels, {a, out}, options);
    EXPECT_TRUE(bench.ToHost(out) == bench.Untiled(size));
  });
}

}  // namespace
}  // namespace spyre::runtime::tile_launcher_test
