// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/flex_stream.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::flex_stream_test {
namespace {

using test::ErrorOf;
using test::FakeCard;

std::vector<uint8_t> Pattern(size_t size, int seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<uint8_t>(i * 7 + static_cast<size_t>(seed));
  return bytes;
}

// Everything in both modes: function 0 is PF, function 1 VF.
class FlexStreamModes : public testing::TestWithParam<driver::FunctionId> {
 protected:
  FlexStreamModes() {
    if (GetParam() == 0) return;
    driver::Device physical(card, 0);
    driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
  }
  FakeCard card;
};
INSTANTIATE_TEST_SUITE_P(Mode, FlexStreamModes, testing::Values(0, 1),
                         [](const auto& mode) { return mode.param == 0 ? "PF" : "VF"; });

TEST_P(FlexStreamModes, CopiesThereAndBack) {
  RuntimeContext context(card, GetParam());
  const std::vector<uint8_t> data = Pattern(4096, 1);
  std::vector<uint8_t> result(4096);
  context.Allocate(1024);
  const DeviceHandle handle = context.Allocate(4096);
  FlexStream& stream = context.DefaultStream();
  stream.CopyToDevice(data.data(), handle, 4096);
  stream.CopyFromDevice(result.data(), handle, 4096);
  EXPECT_NE(result, data) << "both calls return before the card has run";
  stream.Synchronize();
  EXPECT_EQ(result, data);
  EXPECT_EQ(card.host_mappings(), 2u) << "only the rings are still mapped";
}

TEST_P(FlexStreamModes, LaunchNamesTheProgramAllocationAndTheBinaryInIt) {
  RuntimeContext context(card, GetParam());
  context.Allocate(1024, MemoryKind::kProgram);
  const DeviceHandle program = context.Allocate(8192, MemoryKind::kProgram);
  OperationInfo info;
  info.name = "kernel";
  context.DefaultStream().Launch(Offset(program, 512), info);
  context.DefaultStream().Synchronize();
  ASSERT_EQ(card.executed.size(), 1u);
  const ControlBlock& block = card.executed[0].block;
  EXPECT_EQ(block.device_address, 512u);
  EXPECT_EQ(block.program_bytes, 8192u);
  EXPECT_EQ(block.program_base, GetParam() == 0 ? RawOffset(program) : kProgramBase + 1024);
  EXPECT_EQ(context.CompletedOperations().at(0).name, "kernel");
}

TEST_P(FlexStreamModes, FillWritesThePattern) {
  RuntimeContext context(card, GetParam());
  const DeviceHandle handle = context.Allocate(256);
  context.DefaultStream().Fill(handle, 256, 0x0123456789ABCDEF);
  std::array<uint64_t, 32> result{};
  context.DefaultStream().CopyFromDevice(result.data(), handle, 256);
  context.DefaultStream().Synchronize();
  EXPECT_EQ(result[31], 0x0123456789ABCDEFu);
}

TEST_P(FlexStreamModes, OutOfBoundsIsRefusedWithHandleSizeAndBounds) {
  RuntimeContext context(card, GetParam());
  const DeviceHandle handle = context.Allocate(1024);
  std::vector<uint8_t> data(4096);
  FlexStream& stream = context.DefaultStream();
  const std::string past =
      ErrorOf(ErrorKind::kBadInput, [&] { stream.CopyToDevice(data.data(), handle, 1152); });
  EXPECT_NE(past.find(ToString(handle)), std::string::npos) << past;
  EXPECT_NE(past.find("1152 bytes"), std::string::npos) << past;
  EXPECT_NE(past.find("has 1024 bytes"), std::string::npos) << past;
  const std::string outside = ErrorOf(
      ErrorKind::kBadInput, [&] { stream.CopyFromDevice(data.data(), Offset(handle, 1024), 128); });
  EXPECT_NE(outside.find("nothing is allocated"), std::string::npos) << outside;
  const std::string program = ErrorOf(ErrorKind::kBadInput, [&] { stream.Launch(handle); });
  EXPECT_NE(program.find("tensor allocation"), std::string::npos) << program;
  ErrorOf(ErrorKind::kBadInput, [&] { stream.CopyToDevice(data.data(), Offset(handle, 64), 128); });
  ErrorOf(ErrorKind::kBadInput, [&] { stream.CopyToDevice(data.data(), handle, 100); });
  ErrorOf(ErrorKind::kBadInput, [&] { stream.CopyToDevice(data.data(), handle, 0); });
  ErrorOf(ErrorKind::kBadInput, [&] { stream.CopyToDevice(nullptr, handle, 128); });
  EXPECT_EQ(context.Counts().queued, 0u) << "a refused call enqueues nothing";
}

TEST_P(FlexStreamModes, WithoutBoundsCheckTheCardFaults) {
  RuntimeOptions options;
  options.bounds_check = false;
  RuntimeContext context(card, GetParam(), options);
  const DeviceHandle handle = context.Allocate(1024);
  std::vector<uint8_t> data(2 << 20);
  context.DefaultStream().CopyToDevice(data.data(), handle, data.size());
  const std::string error =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.DefaultStream().Synchronize(); });
  EXPECT_NE(error.find("PAGE_FAULT"), std::string::npos) << error;
  EXPECT_NE(error.find("stream 0"), std::string::npos) << error;
  EXPECT_NE(error.find(ToString(handle)), std::string::npos) << error;
  EXPECT_EQ(card.host_mappings(), 2u) << "also a failed copy is unmapped";
}

TEST_P(FlexStreamModes, FirstErrorIsStickyAndLaterOperationsDoNotRun) {
  card.fail[2] = Status::BUS_ERROR;
  card.op_ps = 1'000'000'000;
  RuntimeOptions options;
  options.device.submission_entries = 4;
  RuntimeContext context(card, GetParam(), options);
  const DeviceHandle handle = context.Allocate(128);
  FlexStream& stream = context.Stream(3);
  for (uint64_t i = 0; i < 10; ++i) stream.Fill(handle, 128, i);
  const std::string first = ErrorOf(ErrorKind::kDeviceFault, [&] { stream.Synchronize(); });
  EXPECT_NE(first.find("BUS_ERROR"), std::string::npos) << first;
  EXPECT_NE(first.find("stream 3"), std::string::npos) << first;
  EXPECT_NE(first.find("DMA_FILL"), std::string::npos) << first;
  EXPECT_EQ(ErrorOf(ErrorKind::kDeviceFault, [&] { stream.Synchronize(); }), first);
  const std::string refused =
      ErrorOf(ErrorKind::kDeviceFault, [&] { stream.Fill(handle, 128, 0); });
  EXPECT_NE(refused.find(first), std::string::npos) << refused;
  EXPECT_EQ(card.executed.size(), 1u) << "only the operation before the failure ran";
  const OperationCounts counts = context.Counts(3);
  EXPECT_EQ(counts.queued, 10u);
  EXPECT_EQ(counts.completed, 1u);
  EXPECT_EQ(counts.failed, 1u);
  EXPECT_EQ(counts.not_executed, 8u);
}

TEST_P(FlexStreamModes, OtherStreamsGoOnAfterAnError) {
  card.fail[1] = Status::BUS_ERROR;
  RuntimeContext context(card, GetParam());
  const DeviceHandle handle = context.Allocate(128);
  context.Stream(1).Fill(handle, 128, 1);
  context.Stream(2).Fill(handle, 128, 2);
  EXPECT_THROW(context.Stream(1).Synchronize(), Error);
  EXPECT_NO_THROW(context.Stream(2).Synchronize());
  EXPECT_NE(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Synchronize(); }).find("stream 1"),
            std::string::npos);
}

TEST_P(FlexStreamModes, ResetClearsErrorsAndKeepsMemory) {
  card.fail[1] = Status::BUS_ERROR;
  RuntimeContext context(card, GetParam());
  const DeviceHandle handle = context.Allocate(128);
  context.DefaultStream().Fill(handle, 128, 1);
  EXPECT_THROW(context.DefaultStream().Synchronize(), Error);
  card.fail.clear();
  context.Reset();
  context.DefaultStream().Fill(handle, 128, 1);
  EXPECT_NO_THROW(context.DefaultStream().Synchronize());
}

TEST_P(FlexStreamModes, ManyMoreOperationsThanTheRingHasPlaces) {
  RuntimeOptions options;
  options.device.submission_entries = 4;
  options.device.response_entries = 2;
  RuntimeContext context(card, GetParam(), options);
  const DeviceHandle handle = context.Allocate(128);
  for (uint64_t i = 0; i < 1000; ++i) context.DefaultStream().Fill(handle, 128, i);
  context.DefaultStream().Synchronize();
  ASSERT_EQ(card.executed.size(), 1000u);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(card.executed[i].block.value, i) << "FIFO";
  EXPECT_EQ(context.Counts().completed, 1000u);
}

TEST_P(FlexStreamModes, AskingAgainAndAgainSeesTheWorkComplete) {
  RuntimeContext context(card, GetParam());
  const DeviceHandle handle = context.Allocate(128);
  FlexStream& stream = context.DefaultStream();
  stream.Fill(handle, 128, 1);
  EXPECT_FALSE(stream.Query());
  int asked = 1;
  while (!stream.Query()) ASSERT_LT(++asked, 100);
  EXPECT_EQ(context.Counts().completed, 1u);
}

TEST_P(FlexStreamModes, TwoThreadsOnTwoStreamsGetTheirOwnData) {
  RuntimeContext context(card, GetParam());
  const auto work = [&context](uint32_t index) {
    FlexStream& stream = context.Stream(index);
    for (int round = 0; round < 50; ++round) {
      const std::vector<uint8_t> data = Pattern(1024, round * 2 + static_cast<int>(index));
      std::vector<uint8_t> result(1024);
      const DeviceHandle handle = context.Allocate(1024);
      stream.CopyToDevice(data.data(), handle, 1024);
      stream.CopyFromDevice(result.data(), handle, 1024);
      stream.Synchronize();
      EXPECT_EQ(result, data) << "stream " << index << ", round " << round;
      context.Free(handle);
    }
  };
  std::thread first(work, 1);
  std::thread second(work, 2);
  first.join();
  second.join();
  EXPECT_EQ(context.Counts().completed, 200u);
  EXPECT_EQ(context.Statistics(MemoryKind::kTensor).live_allocations, 0u);
}

}  // namespace
}  // namespace spyre::flex::flex_stream_test
