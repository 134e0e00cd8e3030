// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/reduction_tiling.h"

#include <gmock/gmock.h>

#include <functional>

#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/execution_plan.h"
#include "tests/unit/error_of.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::runtime::reduction_tiling_test {
namespace {

using compiler::Accumulator;
using test::FailureOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

LaunchOptions With(ReductionTiling reduction) {
  LaunchOptions options;
  options.reduction = reduction;
  return options;
}

// A matmul kernel for [64, 128] x [128, 64] on a fake card that keeps the correction input of every
// launch.
class ReductionLaunch : public ::testing::Test {
 protected:
  void Compile(Accumulator home, int slices = 1) {
    compiler::KernelSpec spec;
    spec.op = "matmul";
    spec.dims = {{"m", 64}, {"k", 128}, {"n", 64}};
    spec.split = {{"k", slices}};
    spec.accumulator = home;
    kernel_ = compiler::GenerateKernel(spec);
    compiler::WriteSpyreCode(kernel_, directory_.path());
  }

  // What a fake card must have before its context.
  void Open() {
    card_.on_compute = [this](const test::FakeCard::Executed& operation) {
      if (operation.block.device_address != kernel_.correction_offset) {
        launches_.push_back(records_);
        return Status::OK;
      }
      records_.resize(kernel_.arguments.size() + 1);
      card_.ReadMemory(operation.block.program_base + kernel_.correction_input_offset,
                       records_.data(), records_.size() * sizeof(CorrectionRecord));
      if (records_.back().stride[0] == 1 && leaves_mark_) {
        const std::vector<uint16_t> mark(kernel_.accumulation.workspace_bytes / 2,
                                         compiler::kAccumulatorMark);
        card_.WriteMemory(records_.back().offset, mark.data(), mark.size() * 2);
      }
      return Status::OK;
    };
    flex::RuntimeOptions options;
    options.scheduling = "round_robin";
    options.hazards = hazards_;
    context_ = std::make_unique<flex::RuntimeContext>(card_, driver::FunctionId{0}, options);
    stream_ = std::make_unique<SpyreStream>(SpyreStream::Default(*context_));
    plan_ = std::make_unique<ExecutionPlan>(directory_.path());
    LoadPlan(*stream_, *plan_);
  }
  const Operation& operation() const { return plan_->operations()[0]; }
  std::vector<SpyreTensor> Tensors(int64_t m, int64_t k, int64_t n) {
    return {AllocateTensor(*context_, {m, k}), AllocateTensor(*context_, {k, n}),
            AllocateTensor(*context_, {m, n})};
  }
  void Run(int64_t m, int64_t k, int64_t n, const LaunchOptions& options) {
    tensors_ = Tensors(m, k, n);
    stream_->LaunchTiled(operation(), tensors_, options);
    stream_->Synchronize();
  }
  // Of each launch.
  std::vector<int64_t> Numbers(int stride) const {
    std::vector<int64_t> numbers;
    for (const auto& launch : launches_)
      numbers.push_back(static_cast<int64_t>(launch.back().stride[stride]));
    return numbers;
  }
  std::vector<int64_t> Workspaces() const {
    std::vector<int64_t> places;
    for (const auto& launch : launches_)
      places.push_back(static_cast<int64_t>(launch.back().offset - launches_[0].back().offset));
    return places;
  }
  std::vector<int64_t> Offsets(size_t argument) const {
    std::vector<int64_t> offsets;
    for (const auto& launch : launches_)
      offsets.push_back(static_cast<int64_t>(launch[argument].offset) -
                        static_cast<int64_t>(flex::RawOffset(tensors_[argument].device_handle)));
    return offsets;
  }

  test::FakeCard card_;
  test::TemporaryDirectory directory_;
  compiler::Kernel kernel_;
  bool leaves_mark_ = true;
  const char* hazards_ = "off";
  std::vector<CorrectionRecord> records_;
  std::vector<std::vector<CorrectionRecord>> launches_;
  std::unique_ptr<flex::RuntimeContext> context_;
  std::unique_ptr<SpyreStream> stream_;
  std::unique_ptr<ExecutionPlan> plan_;
  std::vector<SpyreTensor> tensors_;
};

TEST_F(ReductionLaunch, TilesOfOneResultFollowEachOtherAndShareAWorkspace) {
  Compile(Accumulator::kDevice);
  Open();
  Run(128, 384, 64, With(ReductionTiling::kDevice));
  EXPECT_THAT(Numbers(0), ElementsAre(0, 1, 1, 0, 1, 1)) << "carried in";
  EXPECT_THAT(Numbers(1), ElementsAre(0, 0, 1, 0, 0, 1)) << "final";
  EXPECT_THAT(Workspaces(), ElementsAre(0, 0, 0, 0, 0, 0));
  // A tile of k is two stick columns of a, of 128 rows each; 128 rows of b.
  EXPECT_THAT(Offsets(0), ElementsAre(0, 2 * 128 * 128, 4 * 128 * 128, 64 * 128,
                                      64 * 128 + 2 * 128 * 128, 64 * 128 + 4 * 128 * 128));
  EXPECT_THAT(Offsets(1), ElementsAre(0, 128 * 128, 256 * 128, 0, 128 * 128, 256 * 128));
}

TEST_F(ReductionLaunch, ResultsThatTakeTurnsHaveWorkspacesOfTheirOwn) {
  Compile(Accumulator::kDevice);
  Open();
  LaunchOptions options = With(ReductionTiling::kDevice);
  options.order = {"k", "m"};
  Run(128, 256, 64, options);
  const auto bytes = static_cast<int64_t>(kernel_.accumulation.workspace_bytes);
  EXPECT_THAT(Numbers(0), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Numbers(1), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Workspaces(), ElementsAre(0, bytes, 0, bytes));
}

TEST_F(ReductionLaunch, SlicesAreTheirPartsOfTheWholeDimension) {
  Compile(Accumulator::kDevice, 2);
  Open();
  Run(64, 512, 64, With(ReductionTiling::kDevice));
  EXPECT_THAT(Numbers(2), ElementsAre(4, 4, 4, 4)) << "sticks of half of k";
  EXPECT_THAT(Offsets(1), ElementsAre(0, 64 * 128, 128 * 128, 192 * 128))
      << "each launch takes 64 of each half";
}

TEST_F(ReductionLaunch, OtherStreamsAreKeptFromTheAccumulators) {
  Compile(Accumulator::kDevice);
  hazards_ = "error";
  Open();
  stream_->Synchronize();
  tensors_ = Tensors(64, 256, 64);
  std::vector<uint8_t> host(128);
  flex::FlexStream& other = context_->Stream(1);
  const auto failure = [&](const std::function<void(const flex::DeviceHandle&)>& touch) {
    launches_.clear();
    stream_->LaunchTiled(operation(), tensors_, With(ReductionTiling::kDevice));
    card_.Advance(1'000'000'000);  // the launches are done, and the host was not told
    EXPECT_EQ(launches_.size(), 2u);
    const flex::DeviceHandle workspace = flex::PFDeviceHandle{launches_[0].back().offset};
    const std::string message = FailureOf([&] { touch(workspace); });
    stream_->Synchronize();
    return message;
  };
  EXPECT_THAT(failure([&](const auto& workspace) {
                other.CopyFromDevice(host.data(), workspace, host.size());
              }),
              HasSubstr("RAW: 128 bytes"));
  EXPECT_THAT(failure([&](const auto& workspace) { other.Fill(workspace, 128, 0); }),
              HasSubstr("WAW: 128 bytes"));
  EXPECT_EQ(context_->Hazards().unknown, 0u);
}

TEST_F(ReductionLaunch, ALaunchThatMakesTheWholeResultCarriesNothing) {
  Compile(Accumulator::kDevice);
  Open();
  stream_->Launch(operation(), Tensors(64, 128, 64));
  Run(64, 128, 64, With(ReductionTiling::kDevice));
  EXPECT_THAT(Numbers(0), ElementsAre(0, 0));
  EXPECT_THAT(Numbers(1), ElementsAre(1, 1));
}

TEST_F(ReductionLaunch, InLxOtherStreamsWaitForTheWholeResult) {
  Compile(Accumulator::kLx);
  Open();
  SpyreStream other(*context_);
  const SpyreTensor memory = AllocateTensor(*context_, {64, 64});
  {
    const flex::RuntimeContext::Batch batch(*context_);
    tensors_ = Tensors(64, 384, 64);
    stream_->LaunchTiled(operation(), tensors_, With(ReductionTiling::kLx));
    for (int i = 0; i < 5; ++i)
      other.flex_stream().Fill(memory.device_handle, memory.size_bytes, 0, {});
  }
  context_->ClearCompletedOperations();
  context_->Synchronize();
  std::string streams;
  for (const auto& done : context_->CompletedOperations()) streams += done.stream == 0 ? 'a' : 'b';
  EXPECT_THAT(streams, HasSubstr(std::string(3 * 3 + 1, 'a'))) << "three launches and the mark";
}

TEST_F(ReductionLaunch, InLxALostMarkPutsTheStreamInError) {
  Compile(Accumulator::kLx);
  leaves_mark_ = false;
  Open();
  EXPECT_THAT(FailureOf([&] { Run(64, 384, 64, With(ReductionTiling::kLx)); }),
              HasSubstr("the sums that core 0 kept in LX are lost"));
}

TEST_F(ReductionLaunch, InLxIsRefusedWhereItCannotBeKept) {
  Compile(Accumulator::kLx);
  card_.pipelined = true;
  Open();
  EXPECT_THAT(FailureOf([&] { Run(64, 384, 64, With(ReductionTiling::kLx)); }),
              HasSubstr("pipelined"));
  LaunchOptions options = With(ReductionTiling::kLx);
  options.order = {"k", "m"};
  EXPECT_THAT(FailureOf([&] { Run(128, 384, 64, options); }),
              HasSubstr("the tiles of 'k' must follow each other"));
}

TEST_F(ReductionLaunch, IsRefusedWithTheOptionsThatWouldWork) {
  Compile(Accumulator::kDevice);
  Open();
  const auto failure = [&](int64_t k, const LaunchOptions& options) {
    return FailureOf([&] { Run(64, k, 64, options); });
  };
  EXPECT_THAT(failure(256, {}),
              HasSubstr("size 128 would fit, or reduction 'device', 'lx' or 'plan'"));
  EXPECT_THAT(failure(256, With(ReductionTiling::kLx)),
              HasSubstr("this one has them for 'device'"));
  EXPECT_THAT(failure(256, With(ReductionTiling::kPlan)),
              HasSubstr("a kernel that adds partial results of shape [64, 64]"));
  EXPECT_THAT(failure(200, With(ReductionTiling::kDevice)), HasSubstr("not a multiple"));
  LaunchOptions remainder = With(ReductionTiling::kDevice);
  remainder.remainder = Remainder::kKernel;
  EXPECT_THAT(failure(200, remainder), HasSubstr("no remainder kernel was given"));
}

TEST_F(ReductionLaunch, AKernelWithoutAccumulatorsIsRefused) {
  Compile(Accumulator::kNone);
  Open();
  EXPECT_THAT(FailureOf([&] { Run(64, 256, 64, With(ReductionTiling::kDevice)); }),
              HasSubstr("and this one has none"));
}

}  // namespace
}  // namespace spyre::runtime::reduction_tiling_test
