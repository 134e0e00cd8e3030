// SPDX-License-Identifier: Apache-2.0
// The workflows of the runtime RFC, step by step through its API, in physical and in virtual
// function mode.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "cosim/reference/reference.h"
#include "cosim/tensors/reference_numbers.h"
#include "cosim/verify/check.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/integration/card_fixture.h"
#include "tests/integration/client/client.h"

namespace spyre::test::workflow_test {
namespace {

using runtime::ExecutionPlan;
using runtime::SpyreStream;
using runtime::SpyreTensor;
using ::testing::HasSubstr;

std::vector<uint16_t> Halves(int64_t count, uint32_t seed) {
  std::vector<uint16_t> halves;
  uint32_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    halves.push_back(cosim::NearestHalf((static_cast<int>(state >> 20) - 2048) / 2048.0));
  }
  return halves;
}

// What a tensor is after a round trip: SEN169_FP16 keeps 9 of float16's 10 fraction bits.
std::vector<uint16_t> AsOnDevice(std::vector<uint16_t> halves) {
  for (uint16_t& half : halves) half = cosim::HalfOfSen(cosim::SenOfHalf(half));
  return halves;
}

class Workflow : public CardFixture, public ::testing::WithParamInterface<unsigned> {
 protected:
  static constexpr int64_t kK = 128, kN = 192;

  void SetUp() override { Open(GetParam()); }

  // SpyreCode of a [rows, kK] x [kK, kN] matmul.
  std::filesystem::path Compile(int64_t rows) {
    compiler::KernelSpec spec;
    spec.op = "matmul";
    spec.dims = {{"m", rows}, {"k", kK}, {"n", kN}};
    spec.cores = 8;
    const auto dir =
        std::filesystem::path(::testing::TempDir()) /
        ("workflow_" + std::to_string(GetParam()) + "_" +
         ::testing::UnitTest::GetInstance()->current_test_info()->name()[0] + std::to_string(rows));
    compiler::WriteSpyreCode(compiler::GenerateKernel(spec), dir);
    return dir;
  }
  StickLayout Layout(int64_t rows, int64_t cols) const {
    return DefaultLayout({rows, cols}, DataFormat::kSen169Fp16);
  }
  std::vector<SpyreTensor> Tensors(SpyreStream& stream, int64_t rows) {
    a_ = Halves(rows * kK, 1);
    b_ = Halves(kK * kN, 2);
    return {runtime::TensorFromHost(stream, Layout(rows, kK), a_.data(), DataFormat::kIeeeFp16),
            runtime::TensorFromHost(stream, Layout(kK, kN), b_.data(), DataFormat::kIeeeFp16),
            runtime::AllocateTensor(*context_, Layout(rows, kN))};
  }
  void ExpectProduct(const std::vector<uint16_t>& out, int64_t rows) {
    cosim::ReferenceProblem problem;
    problem.op = "matmul";
    problem.m = rows, problem.k = kK, problem.n = kN;
    problem.a = a_.data(), problem.b = b_.data();
    const auto verification = cosim::Verify(*cosim::MakeReference(problem), out.data(), 0, 1);
    EXPECT_EQ(verification.mismatches, 0) << "of " << verification.elements;
  }
  std::vector<uint16_t> Fetch(SpyreStream& stream, const SpyreTensor& tensor) {
    std::vector<uint16_t> out(static_cast<size_t>(tensor.shape[0] * tensor.shape[1]));
    runtime::CopyTensorFromDevice(stream, tensor, out.data(), DataFormat::kIeeeFp16);
    stream.Synchronize();
    return out;
  }

  std::vector<uint16_t> a_, b_;
};

INSTANTIATE_TEST_SUITE_P(Mode, Workflow, ::testing::Values(0u, 1u), [](const auto& test) {
  return test.param == 0 ? "physical" : "virtual_function";
});

TEST_P(Workflow, OneTransferReturnsAtOnceAndArrivesIntact) {
  SpyreStream stream = SpyreStream::Default(*context_);
  const auto data = Halves(100 * 150, 5);
  const SpyreTensor tensor =
      runtime::TensorFromHost(stream, Layout(100, 150), data.data(), DataFormat::kIeeeFp16);
  EXPECT_FALSE(context_->DefaultStream().Query()) << "the copy is still to come";
  EXPECT_EQ(flex::IsPhysical(tensor.device_handle), GetParam() == 0);
  EXPECT_EQ(tensor.size_bytes, 3u * 100 * 128) << "150 columns are three sticks";
  EXPECT_EQ(Fetch(stream, tensor), AsOnDevice(data));
}

TEST_P(Workflow, TwoLoadingCopiesEveryBinaryAndGivesOperationsTheirHandles) {
  SpyreStream stream = SpyreStream::Default(*context_);
  ExecutionPlan plan(Compile(64));
  ASSERT_EQ(plan.operations().size(), 1u) << "visible before loading";
  EXPECT_FALSE(plan.operations()[0].loaded());
  runtime::LoadPlan(stream, plan);
  stream.Synchronize();
  const auto completed = context_->CompletedOperations();
  ASSERT_EQ(completed.size(), plan.init_packets().size());
  for (const auto& operation : completed) EXPECT_EQ(operation.opcode, Opcode::DMA_IN);
  ASSERT_EQ(plan.operations().size(), 1u);
  EXPECT_TRUE(plan.operations()[0].compute().has_value());
  EXPECT_TRUE(context_->FindAllocation(plan.operations()[0].compute()->device_handle).has_value());
  EXPECT_THAT(FailureOf([&] { runtime::LoadPlan(stream, plan); }), HasSubstr("already loaded"));
}

TEST_P(Workflow, ThreeExactShapesLaunchOnceAsCopyCorrectionCompute) {
  SpyreStream stream = SpyreStream::Default(*context_);
  const auto tensors = Tensors(stream, 64);
  ExecutionPlan plan(Compile(64));
  runtime::LoadPlan(stream, plan);
  stream.Synchronize();
  context_->ClearCompletedOperations();
  runtime::LaunchKernel(stream, plan, tensors);
  stream.Synchronize();
  const auto operations = context_->CompletedOperations();
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[0].opcode, Opcode::DMA_IN);
  EXPECT_THAT(operations[1].name, HasSubstr("correction"));
  EXPECT_EQ(operations[2].macs, 64ull * kK * kN);
  ExpectProduct(Fetch(stream, tensors[2]), 64);
}

TEST_P(Workflow, FourLargerTensorsAreTiledInFifoOrder) {
  SpyreStream stream = SpyreStream::Default(*context_);
  const auto tensors = Tensors(stream, 256);
  ExecutionPlan plan(Compile(64));
  runtime::LoadPlan(stream, plan);
  stream.Synchronize();
  context_->ClearCompletedOperations();
  runtime::LaunchKernel(stream, plan, tensors);
  stream.Synchronize();
  const auto operations = context_->CompletedOperations();
  ASSERT_EQ(operations.size(), 12u);
  for (size_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ(operations[i].opcode, i % 3 == 0 ? Opcode::DMA_IN : Opcode::COMPUTE) << i;
    EXPECT_EQ(operations[i].macs > 0, i % 3 == 2) << i;
    if (i == 0) continue;
    EXPECT_GE(operations[i].started_ps, operations[i - 1].finished_ps) << i;
  }
  ExpectProduct(Fetch(stream, tensors[2]), 256);
}

TEST_P(Workflow, FiveEndToEndFromAProgramThatKnowsOnlyDriverAndRuntime) {
  context_.reset();  // the program opens the function itself
  a_ = Halves(256 * kK, 1);
  b_ = Halves(kK * kN, 2);
  const client::Product product = client::Multiply(
      *transport_, static_cast<driver::FunctionId>(GetParam()), Compile(64), 256, kK, kN, a_, b_);
  EXPECT_EQ(product.operations, 12u);
  EXPECT_TRUE(product.returned_at_once);
  ExpectProduct(product.out, 256);
}

TEST_P(Workflow, SixTwoStreamsGiveTheSameNumbers) {
  SpyreStream first(*context_);
  SpyreStream second(*context_);
  const auto one = Tensors(first, 128);
  const auto two = Tensors(second, 128);
  ExecutionPlan plan_one(Compile(64));
  ExecutionPlan plan_two(Compile(32));
  runtime::LoadPlan(first, plan_one);
  runtime::LoadPlan(second, plan_two);
  runtime::LaunchKernel(first, plan_one, one);
  runtime::LaunchKernel(second, plan_two, two);
  ExpectProduct(Fetch(second, two[2]), 128);
  ExpectProduct(Fetch(first, one[2]), 128);
}

TEST_P(Workflow, TilingPreconditionsNameTensorDimensionAndWhatWouldFit) {
  SpyreStream stream = SpyreStream::Default(*context_);
  ExecutionPlan plan(Compile(64));
  runtime::LoadPlan(stream, plan);
  const auto message = [&](int64_t rows) {
    return FailureOf([&] { runtime::LaunchKernel(stream, plan, Tensors(stream, rows)); });
  };
  EXPECT_THAT(message(32), HasSubstr("dimension 0 ('m'): size 32 is smaller than the compiled "
                                     "tile 64"));
  EXPECT_THAT(message(100), HasSubstr("size 100 is not a multiple of the compiled tile 64"));
  stream.Synchronize();  // nothing was enqueued for the refused launches, the stream goes on
}

TEST_P(Workflow, LocationsOutsideAllocationsAndMisalignedOnesAreRefused) {
  flex::FlexStream& stream = context_->DefaultStream();
  std::vector<uint8_t> data(512);
  const flex::DeviceHandle memory = context_->Allocate(256);
  const auto copy = [&](const flex::DeviceHandle& where, uint64_t size) {
    return FailureOf([&] { stream.CopyToDevice(data.data(), where, size); });
  };
  EXPECT_EQ(copy(memory, 256), "no error");
  EXPECT_THAT(copy(memory, 512), HasSubstr("512"));
  EXPECT_NE(copy(flex::Offset(memory, 1 << 20), 128), "no error");
  EXPECT_THAT(copy(flex::Offset(memory, 64), 128), HasSubstr("128"));
  EXPECT_NE(copy(memory, 100), "no error");
  EXPECT_NE(FailureOf([&] { context_->Allocate(1ull << 50); }), "no error");
  stream.Synchronize();
}

}  // namespace
}  // namespace spyre::test::workflow_test
