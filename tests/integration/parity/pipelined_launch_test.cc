// SPDX-License-Identifier: Apache-2.0
// Two launches of one kernel, each with a copy of its program and a stream of its own: on pipelined
// hardware the correction of the second runs while the first computes; numbers are those of serial
// hardware, and the RTL control processor does the same as the timed one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cosim/host/inprocess_transport.h"
#include "cosim/measure/kernel_log.h"
#include "runtime/compiler/codegen/generate_kernel.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/kernels/kernel.h"
#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/execution_plan.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/card_choices.h"
#include "tests/integration/parity/two_cards.h"

namespace spyre::test::pipelined_launch_test {
namespace {

using flex::CompletedOperation;
using runtime::SpyreStream;
using runtime::SpyreTensor;

constexpr int64_t kM = 256, kK = 128, kN = 128;

std::vector<uint16_t> Halves(int64_t count, uint32_t seed) {
  std::vector<uint16_t> halves;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    halves.push_back(static_cast<uint16_t>(0x3000 | seed >> 22));  // 0.125 to 0.25
  }
  return halves;
}

// What the launch on stream `stream` did, by name of its operation.
std::map<std::string, CompletedOperation> LaunchOf(const flex::RuntimeContext& context,
                                                   uint32_t stream) {
  std::map<std::string, CompletedOperation> operations;
  for (const CompletedOperation& operation : context.CompletedOperations())
    if (operation.stream == stream) operations[operation.name] = operation;
  return operations;
}

// The second correction and the first compute: side by side on pipelined hardware, and each with
// the units of its own core in the report.
void ExpectTimes(const flex::RuntimeContext& context, const cosim::KernelUsages& usages,
                 const std::array<uint32_t, 2>& streams, const std::string& name, bool pipelined) {
  const CompletedOperation compute = LaunchOf(context, streams[0]).at(name);
  const CompletedOperation correction = LaunchOf(context, streams[1]).at(name + " correction");
  if (!pipelined) {
    EXPECT_GE(correction.started_ps, compute.finished_ps);
    return;
  }
  EXPECT_GT(correction.started_ps, compute.started_ps);
  EXPECT_LT(correction.finished_ps, compute.finished_ps);
  const cosim::KernelUsage& prepared = usages.at(correction.correlation);
  EXPECT_TRUE(prepared.cores.service);
  EXPECT_EQ(prepared.usage.cores, 1u);
  EXPECT_EQ(prepared.usage.pt_ps.sum, 0u) << "what the cores do meanwhile is not its own";
  EXPECT_GT(prepared.usage.vector_ps.sum, 0u);
  // Responses of the RTL count in clocks of 1 ns.
  const auto took = [](const CompletedOperation& operation) {
    return static_cast<double>(operation.finished_ps - operation.started_ps);
  };
  EXPECT_NEAR(static_cast<double>(prepared.usage.span_ps), took(correction), 1000) << "ps";
  const cosim::KernelUsage& computed = usages.at(compute.correlation);
  EXPECT_EQ(computed.usage.cores, 8u);
  EXPECT_GT(computed.usage.pt_ps.sum, 0u);
  EXPECT_NEAR(static_cast<double>(computed.usage.span_ps), took(compute), 1000) << "ps";
}

// The two products, as bytes.
std::string TwoLaunches(const model::CardConfig& config) {
  cosim::InProcessTransport transport(config, cosim::HostTiming{}, nullptr);
  flex::RuntimeContext context(transport, 0);
  compiler::KernelSpec spec;
  spec.op = "matmul";
  spec.dims = {{"m", kM}, {"k", kK}, {"n", kN}};
  spec.cores = 8;
  const auto directory = std::filesystem::path(::testing::TempDir()) /
                         fmt::format("pipelined_launch_{}_{}", static_cast<int>(config.concurrency),
                                     static_cast<int>(config.control.fidelity));
  compiler::WriteSpyreCode(compiler::GenerateKernel(spec), directory);

  const auto layout = [](int64_t rows, int64_t columns) {
    return DefaultLayout({rows, columns}, DataFormat::kSen169Fp16);
  };
  SpyreStream load = SpyreStream::Default(context);
  const std::array<uint32_t, 2> streams = {context.NewStream().stream_index(),
                                           context.NewStream().stream_index()};
  std::vector<SpyreTensor> outs;
  std::vector<std::vector<SpyreTensor>> arguments;
  std::vector<runtime::ExecutionPlan> plans;
  std::vector<std::vector<uint16_t>> data;
  for (uint32_t i = 0; i < streams.size(); ++i) {
    data.push_back(Halves(kM * kK, 1 + i));
    const SpyreTensor a =
        runtime::TensorFromHost(load, layout(kM, kK), data.back().data(), DataFormat::kIeeeFp16);
    data.push_back(Halves(kK * kN, 11 + i));
    const SpyreTensor b =
        runtime::TensorFromHost(load, layout(kK, kN), data.back().data(), DataFormat::kIeeeFp16);
    outs.push_back(runtime::AllocateTensor(context, layout(kM, kN)));
    arguments.push_back({a, b, outs.back()});
    plans.emplace_back(directory);
    // A stream that is the first to use a program after another one starts with a barrier.
    SpyreStream stream(context, context.Stream(streams[i]));
    runtime::LoadPlan(stream, plans.back());
    stream.Synchronize();
  }
  load.Synchronize();
  context.ClearCompletedOperations();
  cosim::KernelLog log(transport.card());
  {
    const flex::RuntimeContext::Batch one_doorbell(context);
    for (size_t i = 0; i < streams.size(); ++i) {
      SpyreStream stream(context, context.Stream(streams[i]));
      runtime::LaunchKernel(stream, plans[i], arguments[i]);
    }
  }
  for (const uint32_t stream : streams) context.Stream(stream).Synchronize();
  ExpectTimes(context, log.Take(), streams, plans[0].operations()[0].compute()->name,
              !config.serial());
  std::string bytes;
  for (const SpyreTensor& out : outs) {
    std::vector<uint16_t> product(kM * kN);
    runtime::CopyTensorFromDevice(load, out, product.data(), DataFormat::kIeeeFp16);
    load.Synchronize();
    bytes.append(reinterpret_cast<const char*>(product.data()), product.size() * sizeof(uint16_t));
  }
  return bytes;
}

// card.control.fidelity and card.concurrency of the card that is not serial.
class PipelinedLaunch : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(PipelinedLaunch, CorrectsTheSecondWhileTheFirstComputesWithTheNumbersOfSerialHardware) {
  model::CardConfig pipelined, serial;
  pipelined.control.fidelity = test::Named(std::get<0>(GetParam()));
  pipelined.concurrency = test::Named(std::get<1>(GetParam()));
  const auto [side_by_side, in_turn] = OnTwoCards(TwoLaunches, pipelined, serial);
  ASSERT_EQ(in_turn.size(), 2 * kM * kN * sizeof(uint16_t));
  EXPECT_NE(in_turn.substr(in_turn.size() / 2), in_turn.substr(0, in_turn.size() / 2))
      << "two different products";
  EXPECT_TRUE(side_by_side == in_turn);
}

INSTANTIATE_TEST_SUITE_P(Card, PipelinedLaunch,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Values("pipelined", "concurrent")));

}  // namespace
}  // namespace spyre::test::pipelined_launch_test
