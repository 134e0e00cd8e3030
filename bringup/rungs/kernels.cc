// SPDX-License-Identifier: Apache-2.0
// Rung 7: the workload. Kernels of the compiler through the runtime, in physical and virtual
// function mode, resets in the middle of one, and two virtual functions at work at once.
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "bringup/rung.h"
#include "bringup/rungs/rungs.h"
#include "model/contract/formats.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace spyre::bringup {
namespace {

using runtime::SpyreStream;
using runtime::SpyreTensor;

constexpr int64_t kSide = 64;
constexpr size_t kCount = kSide * kSide;

class Rung7Kernels : public Rung {
 protected:
  // One kernel on one function: compiled, loaded, with tensors.
  struct Work {
    std::unique_ptr<flex::RuntimeContext> context;
    std::unique_ptr<SpyreStream> stream;
    std::unique_ptr<runtime::ExecutionPlan> plan;
    std::vector<std::vector<float>> inputs;
    std::vector<SpyreTensor> tensors;  // inputs, then the output
  };

  // `op` over 64 x 64 tensors (matmul: 64 x 64 x 64) of small integers.
  Work Prepare(driver::FunctionId function, const std::string& op, uint32_t seed) {
    Work work;
    work.context = Runtime(function);
    work.stream = std::make_unique<SpyreStream>(SpyreStream::Default(*work.context));
    compiler::KernelSpec spec;
    spec.op = op;
    spec.dims = op == "matmul"
                    ? std::map<std::string, int64_t>{{"m", kSide}, {"k", kSide}, {"n", kSide}}
                    : std::map<std::string, int64_t>{{"rows", kSide}, {"cols", kSide}};
    spec.cores = cores();
    const auto kernel = compiler::GenerateKernel(spec);
    const ScratchDirectory scratch("bringup");
    compiler::WriteSpyreCode(kernel, scratch.path());
    work.plan = std::make_unique<runtime::ExecutionPlan>(scratch.path());
    runtime::LoadPlan(*work.stream, *work.plan);
    std::mt19937 random(seed);
    for (const auto& argument : kernel.arguments) {
      if (argument.is_output) {
        work.tensors.push_back(runtime::AllocateTensor(*work.context, argument.layout));
        continue;
      }
      std::vector<float> values(kCount);
      for (float& value : values) value = static_cast<float>(random() % 9) - 4;
      work.inputs.push_back(values);
      work.tensors.push_back(runtime::TensorFromHost(
          *work.stream, argument.layout, work.inputs.back().data(), DataFormat::kIeeeFp32));
      work.stream->Synchronize();
    }
    return work;
  }
  static void Launch(Work& work) { runtime::LaunchKernel(*work.stream, *work.plan, work.tensors); }
  static std::vector<float> Result(Work& work) {
    std::vector<float> out(kCount);
    runtime::CopyTensorFromDevice(*work.stream, work.tensors.back(), out.data(),
                                  DataFormat::kIeeeFp32);
    work.stream->Synchronize();
    return out;
  }
  // What a reset dropped is an error of the stream, once. certainly: no time has passed between
  // launch and reset, unless it passes by itself.
  void ExpectDropped(Work& work, bool certainly) {
    bool dropped = false;
    try {
      work.stream->Synchronize();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault) << error.what();
      dropped = true;
    }
    EXPECT_TRUE(dropped || !certainly || board().backend().time_passes)
        << "a launch was dropped and nobody was told";
    EXPECT_NO_THROW(work.stream->Synchronize());
  }
  static void ExpectProduct(Work& work) {
    const auto out = Result(work);
    for (size_t i = 0; i < kSide; ++i) {
      for (size_t j = 0; j < kSide; ++j) {
        float sum = 0;
        for (size_t k = 0; k < kSide; ++k)
          sum += work.inputs[0][i * kSide + k] * work.inputs[1][k * kSide + j];
        ASSERT_EQ(out[i * kSide + j], DlfToFloat(DlfFromFloat(sum))) << i << ", " << j;
      }
    }
  }
  static void ExpectSum(Work& work) {
    const auto out = Result(work);
    for (size_t i = 0; i < kCount; ++i)
      ASSERT_EQ(out[i], work.inputs[0][i] + work.inputs[1][i]) << "element " << i;
  }
};

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
  for (size_t row = 0; row < kSide; ++row) {
    const float* x = &work.inputs[0][row * kSide];
    double total = 0;
    for (size_t i = 0; i < kSide; ++i) total += std::exp(static_cast<double>(x[i]) - 4);
    for (size_t i = 0; i < kSide; ++i) {
      const double ideal = std::exp(static_cast<double>(x[i]) - 4) / total;
      ASSERT_NEAR(out[row * kSide + i], ideal, ideal / 128) << row << ", " << i;
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
  EXPECT_EQ(Physical().queue().Wait().status, static_cast<uint16_t>(Status::OK));
}

}  // namespace

void LinkKernelsRung() {}

}  // namespace spyre::bringup
