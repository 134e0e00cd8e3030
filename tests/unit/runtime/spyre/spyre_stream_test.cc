// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/spyre_stream.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/program.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::runtime::spyre_stream_test {
namespace {

using test::FakeCard;

std::vector<uint16_t> HalfData(size_t count, int seed = 0) {
  std::vector<uint16_t> data(count);
  for (size_t i = 0; i < count; ++i) {
    data[i] = HalfFromFloat(static_cast<float>((i * 31 + static_cast<size_t>(seed)) % 1021) - 510);
  }
  return data;
}

std::vector<uint16_t> ToHost(SpyreStream& stream, const SpyreTensor& tensor) {
  std::vector<uint16_t> data(static_cast<size_t>(
      std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>())));
  CopyTensorFromDevice(stream, tensor, data.data(), DataFormat::kIeeeFp16);
  stream.Synchronize();
  return data;
}

class SpyreStreamModes : public testing::TestWithParam<driver::FunctionId> {
 protected:
  SpyreStreamModes() {
    if (GetParam() != 0) {
      driver::Device physical(card, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
    }
    kernel.InstallOn(card);
    test::WriteCopyKernel(directory.path(), test::CopyKernelJson(kernel.rows, kernel.cols));
  }
  FakeCard card;
  test::CopyKernelImitation kernel{4, 64};
  test::TemporaryDirectory directory;
};
INSTANTIATE_TEST_SUITE_P(Mode, SpyreStreamModes, testing::Values(0, 1),
                         [](const auto& mode) { return mode.param == 0 ? "PF" : "VF"; });

TEST_P(SpyreStreamModes, TensorsComeBackAsTheyWent) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream = SpyreStream::Default(context);
  const std::vector<uint16_t> data = HalfData(5 * 100);
  const SpyreTensor tensor = TensorFromHost(
      stream, DefaultLayout({5, 100}, DataFormat::kSen169Fp16), data.data(), DataFormat::kIeeeFp16);
  EXPECT_EQ(tensor.size_bytes, 2u * 5 * 128) << "two stick columns, the second partly filled";
  EXPECT_EQ(tensor.stride, (std::vector<int64_t>{128, 2}));
  EXPECT_EQ(ToHost(stream, tensor), data);
}

TEST_P(SpyreStreamModes, TensorMemoryIsFreedWithTheLastCopy) {
  flex::RuntimeContext context(card, GetParam());
  {
    const SpyreTensor first = AllocateTensor(context, {64, 64});
    const SpyreTensor second = first;
    EXPECT_EQ(context.Statistics(flex::MemoryKind::kTensor).used_bytes, first.size_bytes);
  }
  EXPECT_EQ(context.Statistics(flex::MemoryKind::kTensor).used_bytes, 0u);
}

TEST_P(SpyreStreamModes, LaunchIsThreeStreamOperations) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream = SpyreStream::Default(context);
  ExecutionPlan plan(directory.path());
  LoadPlan(stream, plan);
  const std::vector<uint16_t> data = HalfData(4 * 64);
  const SpyreTensor a = TensorFromHost(stream, DefaultLayout({4, 64}, DataFormat::kSen169Fp16),
                                       data.data(), DataFormat::kIeeeFp16);
  const SpyreTensor out = AllocateTensor(context, {4, 64});
  stream.Synchronize();
  context.ClearCompletedOperations();
  LaunchKernel(stream, plan, {a, out});
  stream.Synchronize();
  const std::vector<flex::CompletedOperation> done = context.CompletedOperations();
  ASSERT_EQ(done.size(), 3u);
  EXPECT_EQ(done[0].opcode, Opcode::DMA_IN);
  EXPECT_EQ(done[0].label, "correction input");
  EXPECT_EQ(done[1].name, "copy correction");
  EXPECT_EQ(done[2].name, "copy");
  EXPECT_TRUE(done[1].correction) << "whatever its name is";
  EXPECT_FALSE(done[2].correction);
  std::vector<bool> prepares;
  for (const FakeCard::Executed& operation : card.executed)
    if (operation.block.opcode == static_cast<uint8_t>(Opcode::COMPUTE))
      prepares.push_back((operation.block.flags & kFlagPrepare) != 0);
  EXPECT_EQ(prepares, (std::vector<bool>{true, false})) << "the correction, of core 0 alone";
  EXPECT_EQ(ToHost(stream, out), data);
}

TEST_P(SpyreStreamModes, CorrectionRecordsSayWhereTheTensorsAre) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream = SpyreStream::Default(context);
  ExecutionPlan plan(directory.path());
  LoadPlan(stream, plan);
  const SpyreTensor a = AllocateTensor(context, {4, 64});
  const SpyreTensor out = AllocateTensor(context, {4, 64});
  stream.Launch(plan.operations()[0], {a.device_handle, out.device_handle});
  stream.Synchronize();
  const CorrectionRecord& record = kernel.records[1];
  EXPECT_EQ(record.kind, GetParam() == 0 ? 0 : 1);
  EXPECT_EQ(record.offset, flex::RawOffset(out.device_handle));
  EXPECT_EQ(record.stride[0], 128u);
  EXPECT_EQ(record.stride[1], 4u * 128) << "one stick column";
  EXPECT_EQ(record.stride[2], 0u);
}

TEST_P(SpyreStreamModes, ValuesOfDimensionsAreCheckedAndReachTheCorrectionInput) {
  nlohmann::json code = test::CopyKernelJson(4, 64);
  code["JobExecPlan"][0]["properties"]["hcm"] = {
      {"version", 1}, {"records", {{{"argument", 0}}, {{"dimension", 0}}}}};
  code["Metadata"]["dimensions"] = {{{"name", "trips"}, {"max", 12}, {"granularity", 4}}};
  code["Metadata"]["arguments"].erase(1);
  test::WriteCopyKernel(directory.path(), code);
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream = SpyreStream::Default(context);
  ExecutionPlan plan(directory.path());
  LoadPlan(stream, plan);
  const SpyreTensor a = AllocateTensor(context, {4, 64});
  for (const std::vector<int64_t>& wrong :
       std::vector<std::vector<int64_t>>{{}, {0}, {-4}, {6}, {16}, {4, 4}}) {
    EXPECT_THROW(LaunchKernel(stream, plan, {a}, {}, wrong), Error) << wrong.size();
  }
  kernel.compute_runs = false;
  LaunchKernel(stream, plan, {a}, {}, {8});
  stream.Synchronize();
  EXPECT_EQ(kernel.records[1].kind, 2);
  EXPECT_EQ(kernel.records[1].offset, 8u);
  EXPECT_EQ(kernel.records[1].stride[0], 0u);
}

TEST_P(SpyreStreamModes, TiledLaunchCoversTheWholeTensorInBothDimensions) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream(context);
  ExecutionPlan plan(directory.path());
  LoadPlan(stream, plan);
  const std::vector<uint16_t> data = HalfData(12 * 192);
  const SpyreTensor a = TensorFromHost(stream, DefaultLayout({12, 192}, DataFormat::kSen169Fp16),
                                       data.data(), DataFormat::kIeeeFp16);
  const SpyreTensor out = AllocateTensor(context, {12, 192});
  stream.Synchronize();
  context.ClearCompletedOperations();
  LaunchKernel(stream, plan, {a, out});
  stream.Synchronize();
  EXPECT_EQ(kernel.launches, 9);
  ASSERT_EQ(context.CompletedOperations().size(), 27u) << "three for each tile";
  EXPECT_EQ(context.CompletedOperations()[26].label, "tile 8 of 9, rows=8..11, cols=128..191");
  EXPECT_EQ(context.CompletedOperations()[26].tag, 8u);
  EXPECT_EQ(ToHost(stream, out), data);
}

TEST_P(SpyreStreamModes, TiledLaunchByHandleAndShapeIsTheSame) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream(context);
  ExecutionPlan plan(directory.path());
  LoadPlan(stream, plan);
  const std::vector<uint16_t> data = HalfData(8 * 128);
  const SpyreTensor a = TensorFromHost(stream, DefaultLayout({8, 128}, DataFormat::kSen169Fp16),
                                       data.data(), DataFormat::kIeeeFp16);
  const SpyreTensor out = AllocateTensor(context, {8, 128});
  stream.LaunchTiled(plan.operations()[0], {a.device_handle, out.device_handle},
                     {{8, 128}, {8, 128}});
  EXPECT_EQ(ToHost(stream, out), data);
}

TEST_P(SpyreStreamModes, WorkKeepsTensorsAndBinariesUntilItIsDone) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream(context);
  {
    ExecutionPlan plan(directory.path());
    LoadPlan(stream, plan);
    LaunchKernel(stream, plan,
                 {AllocateTensor(context, {4, 64}), AllocateTensor(context, {4, 64})});
  }
  EXPECT_EQ(context.Statistics(flex::MemoryKind::kTensor).live_allocations, 2u);
  EXPECT_EQ(context.Statistics(flex::MemoryKind::kProgram).live_allocations, 1u);
  stream.Synchronize();
  EXPECT_EQ(kernel.launches, 1);
  EXPECT_EQ(context.Statistics(flex::MemoryKind::kTensor).live_allocations, 0u);
  EXPECT_EQ(context.Statistics(flex::MemoryKind::kProgram).live_allocations, 0u);
}

TEST_P(SpyreStreamModes, TwoThreadsShareOneKernelOnTwoStreams) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream loader(context);
  ExecutionPlan plan(directory.path());
  LoadPlan(loader, plan);
  loader.Synchronize();
  const auto work = [&](int seed) {
    SpyreStream stream(context);
    for (int round = 0; round < 20; ++round) {
      const std::vector<uint16_t> data = HalfData(8 * 128, seed + round);
      const SpyreTensor a = TensorFromHost(stream, DefaultLayout({8, 128}, DataFormat::kSen169Fp16),
                                           data.data(), DataFormat::kIeeeFp16);
      const SpyreTensor out = AllocateTensor(context, {8, 128});
      LaunchKernel(stream, plan, {a, out});
      EXPECT_EQ(ToHost(stream, out), data) << "seed " << seed << ", round " << round;
    }
  };
  std::thread first(work, 1);
  std::thread second(work, 500);
  first.join();
  second.join();
  EXPECT_EQ(kernel.launches, 160);
}

TEST_P(SpyreStreamModes, OlderInterfaceIsSynchronous) {
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream(context);
  DMAEngine dma(stream);
  Program program(stream, ExecutionPlan(directory.path()));
  const SpyreTensor out = AllocateTensor(context, {8, 64});
  std::vector<uint16_t> data = HalfData(8 * 64);
  const SpyreTensor place = AllocateTensor(context, {8, 64});
  const SpyreTensor a = dma.Copy(CPUTensor{data.data(), {8, 64}}, place.device_handle);
  EXPECT_THROW(program.LaunchTiled({a, out}), Error) << "not on the device yet";
  dma.Copy(program, context.Allocate(program.size_bytes(), flex::MemoryKind::kProgram));
  program.LaunchTiled({a, out});
  EXPECT_EQ(kernel.launches, 2) << "done when the call returns";
  std::vector<uint16_t> result(8 * 64);
  dma.Copy(out, CPUTensor{result.data(), {8, 64}});
  EXPECT_EQ(result, data);
  EXPECT_THROW(program.Launch({a, out}), Error) << "Launch is strict about shapes";
  const Instruction instruction = program.instructions().at(0);
  program.RemoveInstruction(instruction);
  EXPECT_TRUE(program.instructions().empty());
  EXPECT_THROW(program.RemoveInstruction(instruction), Error);
  program.AddInstruction(instruction);
  EXPECT_EQ(program.instructions().size(), 1u);
}

TEST_P(SpyreStreamModes, FaultNamesTheKernel) {
  card.on_compute = [](const FakeCard::Executed&) { return Status::ILLEGAL_INSTRUCTION; };
  flex::RuntimeContext context(card, GetParam());
  SpyreStream stream(context);
  ExecutionPlan plan(directory.path());
  LoadPlan(stream, plan);
  LaunchKernel(stream, plan, {AllocateTensor(context, {4, 64}), AllocateTensor(context, {4, 64})});
  try {
    stream.Synchronize();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
    const std::string text = error.what();
    EXPECT_NE(text.find("copy correction"), std::string::npos) << text;
    EXPECT_NE(text.find("ILLEGAL_INSTRUCTION"), std::string::npos) << text;
  }
}

TEST(SpyreStream, BadArgumentsEnqueueNothing) {
  FakeCard card;
  test::TemporaryDirectory directory;
  test::WriteCopyKernel(directory.path(), test::CopyKernelJson(4, 64));
  flex::RuntimeContext context(card, 0);
  SpyreStream stream(context);
  ExecutionPlan plan(directory.path());
  const SpyreTensor good = AllocateTensor(context, {4, 64});
  EXPECT_THROW(LaunchKernel(stream, plan, {good, good}), Error) << "not loaded";
  LoadPlan(stream, plan);
  EXPECT_THROW(LoadPlan(stream, plan), Error) << "loaded twice";
  stream.Synchronize();
  const uint64_t queued = context.Counts().queued;
  EXPECT_THROW(LaunchKernel(stream, plan, {good}), Error);
  EXPECT_THROW(LaunchKernel(stream, plan, {good, AllocateTensor(context, {6, 64})}), Error);
  EXPECT_THROW(stream.Launch(plan.operations()[0], {good.device_handle}), Error);
  EXPECT_THROW(stream.LaunchTiled(Operation(std::vector<PreProcessCompute>{}), {good}), Error);
  EXPECT_EQ(context.Counts().queued, queued);
}

TEST(SpyreStream, TimingOnlyMovesNoTensorDataAndNeedsNone) {
  FakeCard card;
  flex::RuntimeOptions options;
  options.timing_only = true;
  flex::RuntimeContext context(card, 0, options);
  SpyreStream stream(context);
  const StickLayout layout = DefaultLayout({64, 64}, DataFormat::kSen169Fp16);
  const SpyreTensor tensor = TensorFromHost(stream, layout, nullptr, DataFormat::kIeeeFp16);
  CopyTensorFromDevice(stream, tensor, nullptr, DataFormat::kIeeeFp16);
  stream.Synchronize();
  ASSERT_EQ(card.executed.size(), 2u);
  EXPECT_TRUE(card.executed[0].block.flags & kFlagTimingOnly);
  EXPECT_TRUE(card.executed[1].block.flags & kFlagTimingOnly);
}

TEST(SpyreStream, DataMovementAloneIsAnOperation) {
  FakeCard card;
  flex::RuntimeContext context(card, 0);
  SpyreStream stream = SpyreStream::Default(context);
  const DeviceHandle handle = context.Allocate(256);
  const std::vector<uint8_t> data(256, 7);
  std::vector<uint8_t> result(256);
  CopyToDevice in;
  in.host_address = data.data();
  in.device_handle = handle;
  in.size = 256;
  CopyFromDevice out;
  out.host_address = result.data();
  out.device_handle = handle;
  out.size = 256;
  stream.Launch(Operation({in, out}));
  stream.Synchronize();
  EXPECT_EQ(result, data);
}

}  // namespace
}  // namespace spyre::runtime::spyre_stream_test
