// SPDX-License-Identifier: Apache-2.0
// An application of the runtime: loads a compiled kernel, copies two tensors to the card, launches,
// and compares what comes back. Its argument is the SpyreCode directory of `z = x + y`, made by
//   spyre-cosim compile add.json -o DIRECTORY
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "cosim/host/inprocess_transport.h"
#include "model/contract/formats.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"

namespace runtime = spyre::runtime;

constexpr int64_t kRows = 64, kColumns = 1024;

static int Run(const char* spyrecode) {
  spyre::cosim::InProcessTransport card(spyre::model::CardConfig{}, {}, nullptr);
  spyre::flex::RuntimeContext context(card, 0);
  runtime::SpyreStream stream = runtime::SpyreStream::Default(context);

  std::vector<uint16_t> x, y, z(kRows * kColumns);
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    x.push_back(spyre::HalfFromFloat(static_cast<float>(i % 100)));
    y.push_back(spyre::HalfFromFloat(static_cast<float>(i % 7)));
  }
  const auto layout = spyre::DefaultLayout({kRows, kColumns}, spyre::DataFormat::kSen169Fp16);
  const auto half = spyre::DataFormat::kIeeeFp16;
  const runtime::SpyreTensor device_x = runtime::TensorFromHost(stream, layout, x.data(), half);
  const runtime::SpyreTensor device_y = runtime::TensorFromHost(stream, layout, y.data(), half);
  const runtime::SpyreTensor device_z = runtime::AllocateTensor(context, layout);

  runtime::ExecutionPlan plan(spyrecode);
  runtime::LoadPlan(stream, plan);
  runtime::LaunchKernel(stream, plan, {device_x, device_y, device_z});
  runtime::CopyTensorFromDevice(stream, device_z, z.data(), half);
  stream.Synchronize();

  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    if (spyre::HalfToFloat(z[i]) == static_cast<float>(i % 100 + i % 7)) continue;
    std::printf("element %lld is wrong\n", static_cast<long long>(i));
    return EXIT_FAILURE;
  }
  std::printf("%lld sums are right\n", static_cast<long long>(kRows * kColumns));
  return EXIT_SUCCESS;
}

int main(int argc, char* argv[]) {
  try {
    if (argc == 2) return Run(argv[1]);
    std::fprintf(stderr, "usage: application SPYRECODE_DIRECTORY\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return EXIT_FAILURE;
}
