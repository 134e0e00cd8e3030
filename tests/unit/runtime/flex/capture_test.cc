// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/capture.h"

#include <gmock/gmock.h>

#include <array>

#include "base/error.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::capture_test {
namespace {

using test::ErrorOf;
using ::testing::HasSubstr;

constexpr uint64_t kBytes = 128;

class CaptureTest : public testing::Test {
 protected:
  uint32_t Doorbells() { return static_cast<uint32_t>(card.accesses[{regs::SQ_TAIL, true}]); }

  test::FakeCard card;
  RuntimeContext context{card, 0};
  FlexStream& stream = context.Stream(1);
  DeviceHandle x = context.Allocate(kBytes), y = context.Allocate(kBytes);
  std::array<uint64_t, 16> in{}, out{};
};

TEST_F(CaptureTest, NothingRunsUntilAReplayAndThenEachTime) {
  context.BeginCapture(stream);
  stream.CopyToDevice(in.data(), x, kBytes);
  stream.CopyFromDevice(out.data(), x, kBytes);
  const CapturedGraph graph = context.EndCapture(stream);
  EXPECT_EQ(graph.size(), 2u);
  EXPECT_TRUE(card.executed.empty());
  for (const uint64_t value : {7u, 9u}) {
    in.fill(value);
    graph.Launch(stream);
    stream.Synchronize();
    EXPECT_EQ(out[3], value);
  }
  EXPECT_EQ(card.executed.size(), 4u);
}

TEST_F(CaptureTest, AReplayRingsOnceAndMapsNothing) {
  context.BeginCapture(stream);
  for (int i = 0; i < 20; ++i) stream.CopyToDevice(in.data(), x, kBytes);
  const CapturedGraph graph = context.EndCapture(stream);
  const uint32_t doorbells = Doorbells();
  const size_t mappings = card.host_mappings();
  const uint64_t before = context.NowPs();
  graph.Launch(stream);
  const uint64_t replay_ps = context.NowPs() - before;
  EXPECT_EQ(Doorbells(), doorbells + 1);
  EXPECT_EQ(card.host_mappings(), mappings);
  stream.Synchronize();
  const uint64_t again = context.NowPs();
  for (int i = 0; i < 20; ++i) stream.CopyToDevice(in.data(), x, kBytes);
  EXPECT_LT(3 * replay_ps, 2 * (context.NowPs() - again));
}

TEST_F(CaptureTest, HostMemoryIsMappedAsLongAsTheGraphOrAReplayLives) {
  const size_t before = card.host_mappings();
  {
    context.BeginCapture(stream);
    stream.CopyToDevice(in.data(), x, kBytes);
    const CapturedGraph graph = context.EndCapture(stream);
    graph.Launch(stream);
    EXPECT_EQ(card.host_mappings(), before + 1);
  }
  EXPECT_EQ(card.host_mappings(), before + 1);
  stream.Synchronize();
  EXPECT_EQ(card.host_mappings(), before);
}

TEST_F(CaptureTest, WhatOperationsKeepAliveLivesWithTheGraph) {
  auto buffer = std::make_shared<std::array<uint64_t, 16>>();
  const std::weak_ptr<void> watched = buffer;
  {
    OperationInfo info;
    info.keep_alive = buffer;
    context.BeginCapture(stream);
    stream.CopyToDevice(buffer->data(), x, kBytes, info);
    info.keep_alive.reset();
    buffer.reset();
    const CapturedGraph graph = context.EndCapture(stream);
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST_F(CaptureTest, AnotherStreamJoinsByAnEventAndIsJoinedBack) {
  card.pipelined = true;
  FlexStream& other = context.Stream(2);
  Event forked(context, "forked"), joined(context, "joined");
  context.BeginCapture(stream);
  stream.CopyToDevice(in.data(), x, kBytes);
  stream.Record(forked);
  other.Wait(forked);
  other.CopyFromDevice(out.data(), x, kBytes);
  other.Record(joined);
  stream.Wait(joined);
  stream.Fill(x, kBytes, 0);
  const CapturedGraph graph = context.EndCapture(stream);
  for (uint64_t value = 1; value <= 3; ++value) {
    in.fill(value);
    graph.Launch(stream);
    stream.Synchronize();
    EXPECT_EQ(out[0], value);
  }
  for (const auto& done : card.executed) EXPECT_NE(done.block.stream, 2u);
}

TEST_F(CaptureTest, OtherStreamsAreNotCaptured) {
  context.BeginCapture(stream);
  stream.Fill(x, kBytes, 1);
  context.Stream(2).Fill(y, kBytes, 2);
  context.Stream(2).Synchronize();
  EXPECT_EQ(card.executed.size(), 1u);
  EXPECT_EQ(context.EndCapture(stream).size(), 1u);
}

TEST_F(CaptureTest, CallbacksAreCalledInEachReplay) {
  int calls = 0;
  context.BeginCapture(stream);
  stream.Fill(x, kBytes, 1);
  stream.Callback([&] { ++calls; });
  const CapturedGraph graph = context.EndCapture(stream);
  EXPECT_EQ(calls, 0);
  for (int i = 0; i < 3; ++i) graph.Launch(stream);
  stream.Synchronize();
  EXPECT_EQ(calls, 3);
}

TEST_F(CaptureTest, AGraphRunsOnAnotherStreamThanItWasCapturedOn) {
  context.BeginCapture(stream);
  stream.Fill(x, kBytes, 1);
  const CapturedGraph graph = context.EndCapture(stream);
  graph.Launch(context.Stream(7));
  context.Stream(7).Synchronize();
  EXPECT_EQ(card.executed.front().block.stream, 7u);
}

TEST_F(CaptureTest, AStreamInErrorTakesNoReplay) {
  context.BeginCapture(stream);
  stream.Fill(x, kBytes, 1);
  const CapturedGraph graph = context.EndCapture(stream);
  card.fail[1] = Status::BUS_ERROR;
  graph.Launch(stream);
  EXPECT_THAT(ErrorOf(ErrorKind::kDeviceFault, [&] { stream.Synchronize(); }),
              HasSubstr("BUS_ERROR"));
  EXPECT_THAT(ErrorOf(ErrorKind::kDeviceFault, [&] { graph.Launch(stream); }),
              HasSubstr("refused"));
  card.fail.clear();
  context.Reset();
  graph.Launch(stream);
  stream.Synchronize();
}

TEST_F(CaptureTest, WaitingDuringACaptureIsRefused) {
  context.BeginCapture(stream);
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { stream.Synchronize(); }),
              HasSubstr("Synchronize while it is captured"));
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { stream.Query(); }), HasSubstr("captured"));
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { context.Reset(); }), HasSubstr("capture"));
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { context.BeginCapture(context.Stream(2)); }),
              HasSubstr("under way already, on stream 1"));
  context.EndCapture(stream);
}

TEST_F(CaptureTest, EventsDoNotCrossItsBorder) {
  Event outside(context, "outside"), inside(context, "inside");
  context.Stream(2).Record(outside);
  context.BeginCapture(stream);
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { stream.Wait(outside); }),
              HasSubstr("'outside' in a capture"));
  stream.Record(inside);
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { stream.Record(inside); }),
              HasSubstr("recorded already"));
  context.EndCapture(stream);
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(2).Wait(inside); }),
              HasSubstr("only in its replays"));
}

TEST_F(CaptureTest, AStreamThatNobodyWaitedForEndsTheCaptureInAnError) {
  const size_t before = card.host_mappings();
  Event forked(context, "forked");
  context.BeginCapture(stream);
  stream.Record(forked);
  context.Stream(2).Wait(forked);
  context.Stream(2).CopyToDevice(in.data(), x, kBytes);
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { context.EndCapture(stream); }),
              HasSubstr("stream 2 has 2 operations of which stream 1 has waited for 0"));
  EXPECT_EQ(card.host_mappings(), before);
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { context.EndCapture(stream); }),
              HasSubstr("no capture is under way"));
}

}  // namespace
}  // namespace spyre::flex::capture_test
