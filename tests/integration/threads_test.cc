// SPDX-License-Identifier: Apache-2.0
// Several application threads on one simulated card: calls are serialised, streams stay
// independent, results stay right.
#include <atomic>
#include <filesystem>
#include <thread>

#include "model/contract/formats.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::threads_test {
namespace {

constexpr int64_t kRows = 64;
constexpr int64_t kCols = 128;

// Adds `a` and `b` on a stream of its own, `rounds` times, and counts wrong elements.
int AddOnOwnStream(flex::RuntimeContext& context, const std::filesystem::path& code, float a,
                   float b, int rounds) {
  runtime::SpyreStream stream(context);
  runtime::ExecutionPlan plan(code);
  runtime::LoadPlan(stream, plan);
  const StickLayout layout = DefaultLayout({kRows, kCols}, DataFormat::kSen169Fp16);
  const std::vector<uint16_t> left(kRows * kCols, HalfFromFloat(a));
  const std::vector<uint16_t> right(kRows * kCols, HalfFromFloat(b));
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto x = runtime::TensorFromHost(stream, layout, left.data(), DataFormat::kIeeeFp16);
    const auto y = runtime::TensorFromHost(stream, layout, right.data(), DataFormat::kIeeeFp16);
    const auto z = runtime::AllocateTensor(context, layout);
    runtime::LaunchKernel(stream, plan, {x, y, z});
    std::vector<uint16_t> out(kRows * kCols);
    runtime::CopyTensorFromDevice(stream, z, out.data(), DataFormat::kIeeeFp16);
    stream.Synchronize();
    for (const uint16_t value : out) wrong += value != HalfFromFloat(a + b) ? 1 : 0;
  }
  return wrong;
}

class ThreadsTest : public CardFixture {
 protected:
  std::filesystem::path CompileAdd() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    const auto directory =
        std::filesystem::path(::testing::TempDir()) / "spyre_threads" / info->name();
    compiler::KernelSpec spec;
    spec.op = "add";
    spec.dims = {{"rows", kRows}, {"cols", kCols}};
    spec.cores = 4;
    compiler::WriteSpyreCode(compiler::GenerateKernel(spec), directory);
    return directory;
  }
  void TwoThreadsGetTheirOwnSums() {
    const auto code = CompileAdd();
    std::atomic<int> wrong{0};
    std::thread one([&] { wrong += AddOnOwnStream(*context_, code, 1.5f, 2.0f, 8); });
    std::thread two([&] { wrong += AddOnOwnStream(*context_, code, -4.0f, 0.25f, 8); });
    one.join();
    two.join();
    EXPECT_EQ(wrong, 0) << "elements";
  }
};

TEST_F(ThreadsTest, TwoThreadsOnTwoStreamsOfThePhysicalFunctionGetTheirOwnSums) {
  Open();
  TwoThreadsGetTheirOwnSums();
}

TEST_F(ThreadsTest, TwoThreadsOnTwoStreamsOfAVirtualFunctionGetTheirOwnSums) {
  Open(1);
  TwoThreadsGetTheirOwnSums();
}

TEST_F(ThreadsTest, TwoThreadsOnPipelinedHardwareGetTheirOwnSums) {
  config_.concurrency = model::Concurrency::kPipelined;
  Open(1);
  TwoThreadsGetTheirOwnSums();
}

}  // namespace
}  // namespace spyre::test::threads_test
