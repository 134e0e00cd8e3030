// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/client/client.h"

#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/spyre_stream.h"
#include "runtime/spyre/tensor_copy.h"

#ifdef SYSTEMC_VERSION
#error "an application must not see SystemC"
#endif

namespace spyre::client {

Product Multiply(driver::Transport& transport, driver::FunctionId function,
                 const std::filesystem::path& spyrecode, int64_t m, int64_t k, int64_t n,
                 const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
  flex::RuntimeContext context(transport, function);
  runtime::SpyreStream stream = runtime::SpyreStream::Default(context);

  const auto layout = [](int64_t rows, int64_t cols) {
    return DefaultLayout({rows, cols}, DataFormat::kSen169Fp16);
  };
  const DataFormat half = DataFormat::kIeeeFp16;
  const runtime::SpyreTensor device_a =
      runtime::TensorFromHost(stream, layout(m, k), a.data(), half);
  const runtime::SpyreTensor device_b =
      runtime::TensorFromHost(stream, layout(k, n), b.data(), half);
  const runtime::SpyreTensor device_out = runtime::AllocateTensor(context, layout(m, n));

  runtime::ExecutionPlan plan(spyrecode);
  runtime::LoadPlan(stream, plan);
  const uint64_t before = context.Counts().queued;
  runtime::LaunchKernel(stream, plan, {device_a, device_b, device_out});
  Product product;
  product.operations = context.Counts().queued - before;
  product.returned_at_once = !context.DefaultStream().Query();
  stream.Synchronize();

  product.out.resize(static_cast<size_t>(m * n));
  runtime::CopyTensorFromDevice(stream, device_out, product.out.data(), half);
  stream.Synchronize();
  return product;
}

}  // namespace spyre::client
