// SPDX-License-Identifier: Apache-2.0
// Rung 7: the workload. Kernels of the compiler through the runtime, in physical and virtual
// function mode, resets in the middle of one, and two virtual functions at work at once.
#include <cmath>

#include "bringup/rungs/kernel_rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

class Rung7Kernels : public KernelRung {};

class Rung7KernelsInBothModes : public Rung7Kernels,
                                public ::testing::WithParamInterface<driver::FunctionId> {
 protected:
  void SetUp() override {
    if (GetParam() != 0) EnableVfs();
  }
};
INSTANTIATE_TEST_SUITE_P(Function, Rung7KernelsInBothModes, ::testing::Values(0, 1),
                         [](const auto& test) { return test.param == 0 ? "PF" : "VF"; });

TEST_P(Rung7KernelsInBothModes, AMatmulIsExactOnIntegers) {
  Work work = Prepare(GetParam(), "matmul", 1);
  Launch(work);
  ExpectProduct(work);
}

TEST_P(Rung7KernelsInBothModes, AnAdditionIsExactOnIntegers) {
  Work work = Prepare(GetParam(), "add", 2);
  Launch(work);
  ExpectSum(work);
}

TEST_P(Rung7KernelsInBothModes, ASoftmaxIsCloseToTheRealFunction) {
  Work work = Prepare(GetParam(), "softmax", 3);
  Launch(work);
  const auto out = Result(work);
  for (size_t row = 0; row < kKernelSide; ++row) {
    const float* x = &work.inputs[0][row * kKernelSide];
    double total = 0;
    for (size_t i = 0; i < kKernelSide; ++i) total += std::exp(static_cast<double>(x[i]) - 4);
    for (size_t i = 0; i < kKernelSide; ++i) {
      const double ideal = std::exp(static_cast<double>(x[i]) - 4) / total;
      ASSERT_NEAR(out[row * kKernelSide + i], ideal, ideal / 128) << row << ", " << i;
    }
  }
}

TEST_P(Rung7KernelsInBothModes, AHundredLaunchesGiveTheSameResult) {
  Work work = Prepare(GetParam(), "matmul", 4);
  for (int i = 0; i < 100; ++i) Launch(work);
  ExpectProduct(work);
}

TEST_F(Rung7Kernels, AResetInTheMiddleOfALaunchIsSurvived) {
  EnableVfs();
  Work work = Prepare(1, "matmul", 5);
  work.stream->Synchronize();
  // How long one launch takes, to reset at every part of the next ones.
  const uint64_t begin = work.context->NowPs();
  Launch(work);
  work.stream->Synchronize();
  const uint64_t launch_ps = work.context->NowPs() - begin;
  for (uint64_t part = 0; part < 10; ++part) {
    Launch(work);
    card().Advance(launch_ps * part / 10);
    work.context->Reset();
    ExpectDropped(work, part == 0);
    runtime::CopyTensorToDevice(*work.stream, work.tensors[0], work.inputs[0].data(),
                                DataFormat::kIeeeFp32);
    Launch(work);
    ExpectProduct(work);
  }
}

TEST_F(Rung7Kernels, AResetOfOneFunctionDoesNotDisturbTheLaunchOfAnother) {
  EnableVfs();
  Work first = Prepare(1, "matmul", 6);
  Work second = Prepare(2, "add", 7);
  for (uint64_t delay_ps = 0; delay_ps < 20'000'000; delay_ps += 2'500'000) {
    Launch(first);
    Launch(second);
    card().Advance(delay_ps);
    first.context->Reset();
    ExpectDropped(first, delay_ps == 0);
    ExpectSum(second);
    Launch(first);
    ExpectProduct(first);
  }
}

TEST_F(Rung7Kernels, TwoVirtualFunctionsWorkAtOnceAndBothAreRight) {
  EnableVfs();
  Work first = Prepare(1, "matmul", 8);
  Work second = Prepare(2, "matmul", 9);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 3; ++i) {
      Launch(first);
      Launch(second);
    }
    ExpectProduct(second);
    ExpectProduct(first);
  }
}

TEST_F(Rung7Kernels, DisablingTheVirtualFunctionsInTheMiddleOfALaunchLeavesThePhysicalUsable) {
  EnableVfs();
  Work work = Prepare(1, "matmul", 10);
  work.stream->Synchronize();
  for (int i = 0; i < 20; ++i) Launch(work);
  driver::PhysicalFunction(Physical()).EnableVirtualFunctions(0);
  const std::string failure = FailureOf([&] { work.stream->Synchronize(); });
  if (!board().backend().time_passes) {
    EXPECT_NE(failure, "no error") << "twenty launches were on their way";
  }
  driver::Entry nop = ControlBlock{};
  Physical().queue().Submit(nop);
  ExpectOk(Physical().queue().Wait());
}

}  // namespace

void LinkKernelsRung() {}

}  // namespace spyre::bringup
