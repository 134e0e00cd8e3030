// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/launch_accesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/reduction_tiling.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::runtime::launch_accesses_test {
namespace {

using test::FakeCard;
using testing::HasSubstr;

// A kernel that reads its first argument and writes its second, both of `shape`.
SpyreCompute Kernel(const std::vector<int64_t>& shape) {
  SpyreCompute compute;
  const StickLayout layout = DefaultLayout(shape, DataFormat::kSen169Fp16);
  compute.arguments = {{"a", false, layout}, {"out", true, layout}};
  return compute;
}
TensorLocation In(const std::vector<int64_t>& shape, int64_t offset = 0) {
  return {flex::Offset(flex::PFDeviceHandle{0}, offset),
          CorrectionStrides(DefaultLayout(shape, DataFormat::kSen169Fp16))};
}
// "begin+size", writes with a w.
std::string Text(const std::vector<flex::Access>& accesses) {
  std::string text;
  for (const flex::Access& access : accesses) {
    text += fmt::format("{}{}+{} ", access.write ? "w" : "", flex::RawOffset(access.handle),
                        access.size);
  }
  return text;
}

TEST(LaunchAccesses, AWholeTensorIsOneRun) {
  EXPECT_EQ(Text(LaunchAccesses(Kernel({4, 128}), {In({4, 128}), In({4, 128}, 4096)})),
            "0+1024 w4096+1024 ");
}

TEST(LaunchAccesses, ATileOfRowsIsARunInEachStickColumn) {
  EXPECT_EQ(Text(LaunchAccesses(Kernel({4, 128}), {In({8, 128}, 512), In({4, 128}, 4096)})),
            "512+512 1536+512 w4096+1024 ");
}

TEST(LaunchAccesses, ATileOfColumnsIsOneRun) {
  EXPECT_EQ(Text(LaunchAccesses(Kernel({8, 64}), {In({8, 192}, 1024), In({8, 64}, 4096)})),
            "1024+1024 w4096+1024 ");
}

TEST(LaunchAccesses, ATileOfABatchMayBeRunsOfRuns) {
  // Three batches of which two, eight rows of which four, two stick columns: [2, 8, 3] sticks.
  const auto accesses = LaunchAccesses(Kernel({2, 4, 128}), {In({3, 8, 128}), In({2, 4, 128})});
  uint64_t read = 0;
  for (const flex::Access& access : accesses) read += access.write ? 0 : access.size;
  EXPECT_EQ(read, 2u * 4 * 2 * kStickBytes) << "no more than the tile";
}

TEST(LaunchAccesses, OfVeryManyRunsTheNearestAreTakenAsOne) {
  const auto accesses =
      LaunchAccesses(Kernel({20, 4, 64 * 80}), {In({40, 4, 64 * 80}), In({20, 4, 64 * 80})});
  const auto runs = std::count_if(accesses.begin(), accesses.end(),
                                  [](const flex::Access& access) { return !access.write; });
  EXPECT_EQ(runs, 4) << "of 4 x 80 runs the 80 stick columns are together";
}

// A kernel that sums over the columns of `a`, with 512 bytes of accumulators.
SpyreCompute Sum(const std::vector<int64_t>& shape, int64_t slices = 1) {
  SpyreCompute compute = Kernel(shape);
  compute.dimension_names = {{"m", "k"}, {"m", "n"}};
  compute.accumulation.emplace();
  compute.accumulation->dim = "k";
  compute.accumulation->slices = slices;
  compute.accumulation->slice = shape[1] / slices;
  compute.accumulation->unit = ElementsPerStick(DataFormat::kSen169Fp16);
  compute.accumulation->workspace_bytes = 512;
  return compute;
}

TEST(LaunchAccesses, ATileOfASumReadsAndWritesItsAccumulators) {
  const flex::DeviceHandle workspace = flex::PFDeviceHandle{8192};
  const auto text = [&](bool carried, bool final) {
    return Text(LaunchAccesses(Sum({4, 128}),
                               {In({4, 128}), In({4, 128}, 4096),
                                AccumulationLocation(workspace, carried, final, /*spacing=*/2)}));
  };
  const std::string part = "0+1024 w4096+1024 8192+512 w8192+512 ";
  EXPECT_EQ(text(false, false), part) << "the first";
  EXPECT_EQ(text(true, false), part) << "one between";
  EXPECT_EQ(text(true, true), part) << "the last";
}

TEST(LaunchAccesses, ALaunchThatMakesTheWholeSumHasNoAccumulatorsElsewhere) {
  const SpyreCompute sum = Sum({4, 128});
  const TensorLocation whole = WholeResult(*sum.accumulation, flex::PFDeviceHandle{8192});
  EXPECT_EQ(Text(LaunchAccesses(sum, {In({4, 128}), In({4, 128}, 4096), whole})),
            "0+1024 w4096+1024 ");
}

TEST(LaunchAccesses, ADividedSumReadsItsPartOfEachSlice) {
  // Of 512 columns two slices of 256; a launch takes 64 of each, here the first.
  const auto accesses = LaunchAccesses(
      Sum({4, 128}, 2), {In({4, 512}), In({4, 128}, 4096),
                         AccumulationLocation(flex::PFDeviceHandle{8192}, false, false, 4)});
  EXPECT_EQ(Text(accesses), "0+512 2048+512 w4096+1024 8192+512 w8192+512 ");
}

TEST(LaunchAccesses, AnAccumulateKernelOfAPlanReadsWhatItWrites) {
  SpyreCompute add = Kernel({4, 128});
  add.arguments.insert(add.arguments.begin(), add.arguments.front());
  EXPECT_EQ(Text(LaunchAccesses(add, {In({4, 128}), In({4, 128}, 4096), In({4, 128})})),
            "0+1024 4096+1024 w0+1024 ");
}

TEST(LaunchAccesses, WithoutMetadataNothingIsKnown) {
  EXPECT_TRUE(LaunchAccesses(SpyreCompute{}, {In({4, 128})}).empty());
}

// The copy kernel of the fake card, compiled for [4, 128], on two streams.
class LaunchHazards : public testing::TestWithParam<driver::FunctionId> {
 protected:
  LaunchHazards() {
    test::WriteCopyKernel(directory.path(), test::CopyKernelJson(4, 128));
    if (GetParam() != 0) {
      driver::Device physical(card, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
    }
    kernel.InstallOn(card);
    flex::RuntimeOptions options;
    options.hazards = "error";
    context = std::make_unique<flex::RuntimeContext>(card, GetParam(), options);
    one = std::make_unique<SpyreStream>(*context, context->Stream(1));
    two = std::make_unique<SpyreStream>(*context, context->Stream(2));
    plan.emplace(directory.path());
    LoadPlan(*one, *plan);
  }
  void Launch(SpyreStream& stream, const SpyreTensor& from, const SpyreTensor& to, int64_t row) {
    const auto at = [&](const SpyreTensor& tensor) {
      return TensorLocation{LocationOf(tensor, row * static_cast<int64_t>(kStickBytes)),
                            CorrectionStrides(tensor.layout)};
    };
    stream.LaunchAt(plan->operations().front(), {at(from), at(to)}, {});
  }
  std::string ErrorOf(const std::function<void()>& call) {
    const uint64_t queued = context->Counts().queued;
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(context->Counts().queued, queued) << "no step of a refused launch is enqueued";
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  FakeCard card;
  test::CopyKernelImitation kernel{4, 128};
  test::TemporaryDirectory directory;
  std::unique_ptr<flex::RuntimeContext> context;
  std::optional<ExecutionPlan> plan;
  std::unique_ptr<SpyreStream> one, two;
};
INSTANTIATE_TEST_SUITE_P(Mode, LaunchHazards, testing::Values(0, 1),
                         [](const auto& mode) { return mode.param == 0 ? "PF" : "VF"; });

TEST_P(LaunchHazards, TilesOfOneOutputAreNoneEvenIfTheyInterleave) {
  one->Synchronize();
  const SpyreTensor from = AllocateTensor(*context, {8, 128});
  const SpyreTensor to = AllocateTensor(*context, {8, 128});
  Launch(*one, from, to, 0);
  Launch(*two, from, to, 4);
  EXPECT_THAT(ErrorOf([&] { Launch(*two, from, to, 3); }),
              testing::AllOf(HasSubstr("WAW: 128 bytes"), HasSubstr("[stream 2, launch of copy]"),
                             HasSubstr("(256 bytes in several places)")));
  EXPECT_EQ(context->Hazards().unknown, 0u);
  context->Synchronize();
  EXPECT_EQ(kernel.launches, 2);
}

TEST_P(LaunchHazards, LaunchesOfOneProgramAreNoneButLoadingItMayBe) {
  const SpyreTensor from = AllocateTensor(*context, {4, 128});
  const SpyreTensor to = AllocateTensor(*context, {4, 128});
  EXPECT_THAT(ErrorOf([&] { Launch(*two, from, to, 0); }), HasSubstr("RAW")) << "still loading";
  one->Synchronize();
  const SpyreTensor other = AllocateTensor(*context, {4, 128});
  Launch(*one, from, to, 0);
  Launch(*two, from, other, 0);
  std::vector<uint8_t> code(kStickBytes);
  const DeviceHandle program = plan->operations().front().compute()->device_handle;
  EXPECT_THAT(ErrorOf([&] { two->flex_stream().CopyToDevice(code.data(), program, kStickBytes); }),
              HasSubstr("WAR"));
  context->Synchronize();
  EXPECT_EQ(kernel.launches, 2);
}

TEST_P(LaunchHazards, ADependentLaunchOnAnotherStreamNeedsAnEvent) {
  one->Synchronize();
  const SpyreTensor a = AllocateTensor(*context, {4, 128});
  const SpyreTensor b = AllocateTensor(*context, {4, 128});
  const SpyreTensor c = AllocateTensor(*context, {4, 128});
  Launch(*one, a, b, 0);
  EXPECT_THAT(ErrorOf([&] { Launch(*two, b, c, 0); }),
              testing::AllOf(HasSubstr("RAW: 1024 bytes"), HasSubstr("stream 1, launch of copy")));
  const flex::Event copied(*context, "copied");
  one->flex_stream().Record(copied);
  two->flex_stream().Wait(copied);
  Launch(*two, b, c, 0);
  context->Synchronize();
}

}  // namespace
}  // namespace spyre::runtime::launch_accesses_test
