// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/runtime_context.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::runtime_context_test {
namespace {

using test::ErrorOf;
using test::FakeCard;

TEST(RuntimeContext, StreamIndicesAndPrioritiesAreThePublicOnes) {
  FakeCard card;
  RuntimeContext context(card, 0);
  EXPECT_EQ(context.DefaultStream().stream_index(), 0u);
  EXPECT_EQ(context.NewStream().stream_index(), 1u);
  EXPECT_EQ(context.NewStream().stream_index(), 2u);
  EXPECT_EQ(context.NewStream(true).stream_index(), 33u);
  EXPECT_EQ(context.Stream(33).priority(), -1);
  EXPECT_EQ(context.Stream(1).priority(), 0);
  EXPECT_EQ(&context.Stream(5), &context.Stream(5));
  EXPECT_THROW(context.Stream(65), Error);
}

TEST(RuntimeContext, RoundRobinInterleavesWhatFifoKeepsInArrivalOrder) {
  for (const char* policy : {"fifo", "round_robin"}) {
    FakeCard card;
    RuntimeOptions options;
    options.scheduling = policy;
    options.device.submission_entries = 2;
    card.op_ps = 1'000'000'000;
    RuntimeContext context(card, 0, options);
    const DeviceHandle handle = context.Allocate(128);
    for (const uint32_t stream : {1u, 2u}) {
      for (uint64_t i = 0; i < 6; ++i) context.Stream(stream).Fill(handle, 128, stream);
    }
    context.Synchronize();
    std::string order;
    for (const auto& done : card.executed) order += std::to_string(done.block.stream);
    // The ring had room for two of stream 1 before stream 2 had anything queued.
    EXPECT_EQ(order, std::string(policy) == "fifo" ? "111111222222" : "112121212122") << policy;
  }
}

TEST(RuntimeContext, PriorityAndItsLimitAreThoseOfTheOptions) {
  FakeCard card;
  RuntimeOptions options;
  options.scheduling = "priority";
  options.starvation_limit = 2;
  options.device.submission_entries = 2;
  RuntimeContext context(card, 0, options);
  const DeviceHandle handle = context.Allocate(128);
  {
    const RuntimeContext::Batch together(context);
    for (const uint32_t stream : {1u, 40u}) {
      for (int i = 0; i < 6; ++i) context.Stream(stream).Fill(handle, 128, stream);
    }
  }
  context.Synchronize();
  std::string order;
  for (const auto& done : card.executed) order += done.block.stream == 40 ? 'H' : 'n';
  EXPECT_EQ(order, "HHnHHnHHnnnn");
}

TEST(RuntimeContext, EveryPolicyCompletesEveryStreamInItsOrder) {
  for (const std::string& name : SchedulingPolicyNames()) {
    FakeCard card;
    RuntimeOptions options;
    options.scheduling = name;
    options.device.submission_entries = 4;
    RuntimeContext context(card, 0, options);
    const DeviceHandle handle = context.Allocate(128);
    const std::vector<uint32_t> streams = {0, 1, 2, 33, 34, 64};
    constexpr uint64_t kRounds = 40;
    for (uint64_t round = 0; round < kRounds; ++round) {
      for (const uint32_t stream : streams) {
        context.Stream(stream).Fill(handle, 128, round);
      }
      Event event(context);
      context.Stream(streams[round % 6]).Wait(event);
      context.Stream(streams[(round + 1) % 6]).Record(event);
    }
    context.Synchronize();
    std::map<uint32_t, uint64_t> next;
    for (const auto& done : card.executed) {
      if (static_cast<Opcode>(done.block.opcode) != Opcode::DMA_FILL) continue;
      ASSERT_EQ(done.block.value, next[done.block.stream]++) << name;
    }
    EXPECT_EQ(context.Counts().completed, kRounds * 8) << name;
  }
}

TEST(RuntimeContext, JoinedOperationsStayTogether) {
  FakeCard card;
  card.op_ps = 1'000'000'000;
  RuntimeOptions options;
  options.scheduling = "round_robin";
  options.device.submission_entries = 2;
  RuntimeContext context(card, 0, options);
  const DeviceHandle handle = context.Allocate(128);
  OperationInfo joined;
  joined.joined = true;
  for (int i = 0; i < 4; ++i) {
    for (const uint32_t stream : {1u, 2u}) {
      context.Stream(stream).Fill(handle, 128, 0);
      context.Stream(stream).Fill(handle, 128, 1, joined);
    }
  }
  context.Synchronize();
  ASSERT_EQ(card.executed.size(), 16u);
  for (size_t i = 0; i < 16; i += 2) {
    EXPECT_EQ(card.executed[i].block.stream, card.executed[i + 1].block.stream) << "pair " << i / 2;
    EXPECT_EQ(card.executed[i].block.value, 0u);
    EXPECT_EQ(card.executed[i + 1].block.value, 1u);
  }
}

TEST(RuntimeContext, AnotherStreamOnTheSameProgramWaitsForTheFirst) {
  FakeCard card;
  RuntimeContext context(card, 0);
  const DeviceHandle program = context.Allocate(1024, MemoryKind::kProgram);
  context.Stream(1).Launch(program);
  context.Stream(1).Launch(program);
  context.Stream(2).Launch(program);
  context.Stream(2).Launch(program);
  context.Stream(1).Launch(program);
  context.Synchronize();
  std::vector<bool> barriers;
  for (const auto& done : card.executed) barriers.push_back(done.block.flags & kFlagBarrier);
  EXPECT_EQ(barriers, (std::vector<bool>{false, false, true, false, true}));
}

TEST(RuntimeContext, AProgramThatIsKnownToBeDoneHoldsNobodyUp) {
  FakeCard card;
  RuntimeContext context(card, 0);
  const DeviceHandle program = context.Allocate(1024, MemoryKind::kProgram);
  context.Stream(1).Launch(program);
  context.Stream(1).Synchronize();
  context.Stream(2).Launch(program);
  context.Synchronize();
  for (const auto& done : card.executed) EXPECT_EQ(done.block.flags & kFlagBarrier, 0);
}

TEST(RuntimeContext, TimingOnlyMarksBulkCopiesOnly) {
  FakeCard card;
  RuntimeOptions options;
  options.timing_only = true;
  RuntimeContext context(card, 0, options);
  const DeviceHandle handle = context.Allocate(128);
  std::vector<uint8_t> data(128, 5);
  OperationInfo bulk;
  bulk.bulk = true;
  context.DefaultStream().CopyToDevice(data.data(), handle, 128, bulk);
  context.DefaultStream().CopyToDevice(data.data(), handle, 128);
  context.Synchronize();
  EXPECT_TRUE(card.executed[0].block.flags & kFlagTimingOnly);
  EXPECT_FALSE(card.executed[1].block.flags & kFlagTimingOnly);
}

TEST(RuntimeContext, CompletedOperationsCarryTimesLabelsAndFlows) {
  FakeCard card;
  RuntimeContext context(card, 0);
  const DeviceHandle handle = context.Allocate(256);
  OperationInfo info;
  info.label = "weights";
  info.tag = 42;
  context.DefaultStream().Fill(handle, 256, 0, info);
  context.DefaultStream().Fill(handle, 256, 0, info);
  context.Synchronize();
  const std::vector<CompletedOperation> done = context.CompletedOperations();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].opcode, Opcode::DMA_FILL);
  EXPECT_EQ(done[0].label, "weights");
  EXPECT_EQ(done[0].tag, 42u);
  EXPECT_EQ(done[0].size_bytes, 256u);
  EXPECT_EQ(done[0].finished_ps - done[0].started_ps, card.op_ps);
  EXPECT_LE(done[0].finished_ps, done[1].started_ps) << "FIFO on the card";
  EXPECT_NE(done[0].correlation, done[1].correlation);
}

TEST(RuntimeContext, LostDeviceFailsEveryBusyStreamOnce) {
  FakeCard card;
  card.lose = {1};
  RuntimeContext context(card, 0);
  const DeviceHandle handle = context.Allocate(128);
  std::vector<uint8_t> data(128);
  context.Stream(1).CopyToDevice(data.data(), handle, 128);
  const std::string error =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(1).Synchronize(); });
  EXPECT_NE(error.find("DMA_IN"), std::string::npos) << error;
  EXPECT_NE(error.find("nothing left to do"), std::string::npos) << error;
  const std::string other =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(2).Fill(handle, 128, 0); });
  EXPECT_NE(other.find("lost"), std::string::npos) << other;
  EXPECT_EQ(context.Counts(1).not_executed, 1u);
  EXPECT_EQ(card.host_mappings(), 2u);
}

TEST(RuntimeContext, KeepsWhatAnOperationNeedsUntilItHasCompleted) {
  FakeCard card;
  card.op_ps = 1'000'000'000;
  RuntimeContext context(card, 0);
  const DeviceHandle handle = context.Allocate(128);
  auto data = std::make_shared<std::vector<uint8_t>>(128, 9);
  const std::weak_ptr<std::vector<uint8_t>> watch = data;
  int called = 0;
  OperationInfo info;
  info.keep_alive = data;
  info.then = [&] { ++called; };
  context.DefaultStream().CopyToDevice(data->data(), handle, 128, info);
  info.keep_alive.reset();
  data.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(called, 0);
  context.Synchronize();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(called, 1);
}

TEST(RuntimeContext, HostCallsAreOnTheTrackOfTheirStreamWithTheirFlow) {
  FakeCard card;
  trace::Recorder recorder;
  RuntimeOptions options;
  options.device.recorder = &recorder;
  RuntimeContext context(card, 0, options);
  const DeviceHandle handle = context.Allocate(256);
  context.Stream(2).Fill(handle, 256, 0);
  context.Synchronize();
  const uint64_t flow = context.CompletedOperations().at(0).correlation;
  bool found = false;
  for (const trace::Record& record : recorder.Records()) {
    if (recorder.names()[record.name] != "Fill") continue;
    found = true;
    EXPECT_EQ(recorder.tracks()[record.track].name, "stream 2");
    EXPECT_EQ(record.flow, flow);
    EXPECT_EQ(record.bytes, 256u);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace spyre::flex::runtime_context_test
