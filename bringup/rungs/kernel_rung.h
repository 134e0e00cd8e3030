// SPDX-License-Identifier: Apache-2.0
// Kernels of the compiler, loaded on a function with tensors, launched and compared, for the tests
// of rungs 7, 11 and 12. Values are small integers, so that results are exact.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "bringup/ladder/rung.h"
#include "model/contract/formats.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace spyre::bringup {

inline constexpr int64_t kKernelSide = 64;
inline constexpr size_t kKernelElements = kKernelSide * kKernelSide;

class KernelRung : public Rung {
 protected:
  // One kernel on one function: compiled, loaded, with tensors.
  struct Work {
    std::unique_ptr<flex::RuntimeContext> context;
    std::unique_ptr<runtime::SpyreStream> stream;
    std::unique_ptr<runtime::ExecutionPlan> plan;
    std::vector<std::vector<float>> inputs;
    std::vector<runtime::SpyreTensor> tensors;  // inputs, then the output
  };

  // `op` over 64 x 64 tensors (matmul: 64 x 64 x 64) of small integers.
  Work Prepare(driver::FunctionId function, const std::string& op, uint32_t seed) {
    Work work;
    work.context = Runtime(function);
    work.stream =
        std::make_unique<runtime::SpyreStream>(runtime::SpyreStream::Default(*work.context));
    compiler::KernelSpec spec;
    spec.op = op;
    spec.dims = op == "matmul"
                    ? std::map<std::string, int64_t>{{"m", kKernelSide},
                                                     {"k", kKernelSide},
                                                     {"n", kKernelSide}}
                    : std::map<std::string, int64_t>{{"rows", kKernelSide}, {"cols", kKernelSide}};
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
      std::vector<float> values(kKernelElements);
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
    std::vector<float> out(kKernelElements);
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
        << "a launch was dropped without an error";
    EXPECT_NO_THROW(work.stream->Synchronize());
  }
  static void ExpectProduct(Work& work) {
    const auto out = Result(work);
    for (size_t i = 0; i < kKernelSide; ++i) {
      for (size_t j = 0; j < kKernelSide; ++j) {
        float sum = 0;
        for (size_t k = 0; k < kKernelSide; ++k)
          sum += work.inputs[0][i * kKernelSide + k] * work.inputs[1][k * kKernelSide + j];
        ASSERT_EQ(out[i * kKernelSide + j], DlfToFloat(DlfFromFloat(sum))) << i << ", " << j;
      }
    }
  }
  static void ExpectSum(Work& work) {
    const auto out = Result(work);
    for (size_t i = 0; i < kKernelElements; ++i)
      ASSERT_EQ(out[i], work.inputs[0][i] + work.inputs[1][i]) << "element " << i;
  }
};

}  // namespace spyre::bringup
