// SPDX-License-Identifier: Apache-2.0
// Host callbacks in stream order, and streams that are destroyed.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::callback_test {
namespace {

using test::ErrorOf;
using test::FakeCard;

class Callbacks : public testing::Test {
 protected:
  void Fill(uint32_t stream) { context.Stream(stream).Fill(memory, 128, 0); }

  FakeCard card;
  RuntimeContext context{card, 0};
  DeviceHandle memory = context.Allocate(128);
};

TEST_F(Callbacks, ACallbackRunsBetweenWhatIsEnqueuedBeforeAndAfter) {
  card.op_ps = 1'000'000'000;
  size_t seen = 0;
  int calls = 0;
  Fill(1);
  Fill(1);
  context.Stream(1).Callback([&] {
    seen = card.executed.size();
    ++calls;
  });
  Fill(1);
  EXPECT_EQ(calls, 0);
  context.Synchronize();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen, 2u) << "both earlier operations, and not the later one";
  EXPECT_EQ(card.executed.size(), 3u);
  EXPECT_EQ(context.Counts(1).completed, 4u);
  EXPECT_EQ(context.Counts(1).on_host, 1u);
  EXPECT_EQ(context.CompletedOperations().size(), 3u) << "those of the card";
}

TEST_F(Callbacks, OnAnIdleStreamItRunsAtOnce) {
  bool called = false;
  context.Stream(1).Callback([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_TRUE(context.Stream(1).Query());
}

TEST_F(Callbacks, ItMayEnqueueRecordAndAsk) {
  Event event(context);
  bool idle = true;
  context.Stream(2).Wait(event);
  Fill(2);
  context.Stream(1).Callback([&] {
    idle = context.Stream(1).Query();
    Fill(1);
    context.Stream(1).Callback([&] { Fill(3); });
    context.Stream(1).Record(event);
  });
  context.Synchronize();
  context.Synchronize();  // for what the inner callback has enqueued during the first
  EXPECT_FALSE(idle) << "the stream is busy with the callback";
  EXPECT_EQ(context.Counts(1).completed, 4u);
  EXPECT_EQ(context.Counts(2).completed, 2u);
  EXPECT_EQ(context.Counts(3).completed, 1u);
}

TEST_F(Callbacks, SynchronizeInsideIsAnErrorThatFailsTheStream) {
  std::string inside;
  Event event(context);
  context.Stream(1).Callback([&] {
    ErrorOf(ErrorKind::kBadInput, [&] { context.Synchronize(); });
    ErrorOf(ErrorKind::kBadInput, [&] { event.Synchronize(); });
    ErrorOf(ErrorKind::kBadInput, [&] { context.Reset(); });
    context.Stream(2).Synchronize();
  });
  const std::string error =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(1).Synchronize(); });
  EXPECT_NE(error.find("stream 1: host callback: stream 2: Synchronize inside a callback"),
            std::string::npos)
      << error;
}

TEST_F(Callbacks, AnExceptionIsTheStreamsError) {
  card.op_ps = 1'000'000'000;
  Event event(context, "after");
  Fill(1);
  context.Stream(1).Callback([] { throw std::runtime_error("disk full"); });
  Fill(1);
  context.Stream(1).Record(event);
  const std::string error =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(1).Synchronize(); });
  EXPECT_NE(error.find("stream 1: host callback: disk full"), std::string::npos) << error;
  EXPECT_EQ(card.executed.size(), 1u);
  EXPECT_EQ(event.status(), EventStatus::kFailed);
  EXPECT_EQ(context.Counts(1).failed, 1u);
  EXPECT_EQ(context.Counts(1).not_executed, 2u);
  context.Stream(2).Callback([] { throw 7; });
  EXPECT_NE(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(2).Synchronize(); })
                .find("not a std::exception"),
            std::string::npos);
}

TEST_F(Callbacks, ItIsNotCalledAfterAFailure) {
  card.fail[1] = Status::BUS_ERROR;
  card.op_ps = 1'000'000'000;
  bool called = false;
  Fill(1);
  context.Stream(1).Callback([&] { called = true; });
  EXPECT_THROW(context.Synchronize(), Error);
  EXPECT_FALSE(called);
  EXPECT_THROW(context.Stream(1).Callback([&] { called = true; }), Error);
  EXPECT_FALSE(called);
  EXPECT_THROW(context.Stream(2).Callback({}), Error) << "an empty function";
}

TEST_F(Callbacks, AThenCallbackThatThrowsStopsItsStream) {
  card.op_ps = 1'000'000'000;
  OperationInfo info;
  info.then = [] { throw std::runtime_error("too late"); };
  context.Stream(1).Fill(memory, 128, 0, info);
  context.Stream(1).Callback([] { FAIL() << "not after a failure"; });
  const std::string error =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(1).Synchronize(); });
  EXPECT_NE(error.find("after DMA_FILL"), std::string::npos) << error;
  EXPECT_NE(error.find("too late"), std::string::npos) << error;
}

TEST_F(Callbacks, AskingOnlyIsEnoughToCompleteMoreThanTheRingHolds) {
  RuntimeOptions options;
  options.device.submission_entries = 2;
  FakeCard small;
  RuntimeContext other(small, 0, options);
  const DeviceHandle handle = other.Allocate(128);
  for (int i = 0; i < 20; ++i) other.DefaultStream().Fill(handle, 128, 0);
  int asked = 0;
  while (!other.DefaultStream().Query()) ASSERT_LT(++asked, 1000);
  EXPECT_EQ(small.executed.size(), 20u);
}

TEST_F(Callbacks, ADestroyedStreamRunsWhatItHasAndRefusesMore) {
  card.op_ps = 1'000'000'000;
  FlexStream& stream = context.NewStream();
  ASSERT_EQ(stream.stream_index(), 1u);
  bool called = false;
  stream.Fill(memory, 128, 0);
  stream.Callback([&] { called = true; });
  context.DestroyStream(1);
  EXPECT_EQ(card.executed.size(), 0u) << "returns at once";
  Event event(context);
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { stream.Fill(memory, 128, 0); }, [&] { stream.Launch(memory); },
           [&] { stream.CopyToDevice(&called, memory, 128); }, [&] { stream.Record(event); },
           [&] { stream.Wait(event); }, [&] { stream.Callback([] {}); },
           [&] { stream.Synchronize(); }, [&] { stream.Query(); }}) {
    EXPECT_NE(ErrorOf(ErrorKind::kBadInput, use).find("stream 1 was destroyed"), std::string::npos);
  }
  EXPECT_NE(ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(1); }).find("outstanding"),
            std::string::npos);
  EXPECT_EQ(context.NewStream().stream_index(), 2u) << "1 is busy";
  context.Synchronize();
  EXPECT_TRUE(called);
  EXPECT_NE(&context.Stream(1), &stream) << "a new stream of the same index";
  EXPECT_NO_THROW(context.Stream(1).Fill(memory, 128, 0));
  EXPECT_THROW(stream.Fill(memory, 128, 0), Error) << "the old one stays destroyed";
}

TEST_F(Callbacks, AnErrorOfADestroyedStreamIsNotLost) {
  card.fail[1] = Status::BUS_ERROR;
  card.op_ps = 1'000'000'000;
  Fill(4);
  context.DestroyStream(4);
  EXPECT_NE(
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Synchronize(); }).find("stream 4: DMA_FILL"),
      std::string::npos);
  EXPECT_NE(ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(4); }).find("Reset"),
            std::string::npos);
  card.fail.clear();
  context.Reset();
  Fill(4);
  EXPECT_NO_THROW(context.Synchronize());
}

TEST_F(Callbacks, OnlyStreamsThatAreThereCanBeDestroyed) {
  context.DefaultStream();
  ErrorOf(ErrorKind::kBadInput, [&] { context.DestroyStream(0); });
  ErrorOf(ErrorKind::kBadInput, [&] { context.DestroyStream(9); });
  ErrorOf(ErrorKind::kBadInput, [&] { context.DestroyStream(65); });
  context.Stream(9);
  context.DestroyStream(9);
  ErrorOf(ErrorKind::kBadInput, [&] { context.DestroyStream(9); });
}

TEST_F(Callbacks, NewStreamsAreNeverShared) {
  context.Stream(1);
  EXPECT_EQ(context.NewStream().stream_index(), 2u) << "1 is in use";
  for (uint32_t index = 3; index <= 32; ++index) {
    EXPECT_EQ(context.NewStream().stream_index(), index);
  }
  const std::string error = ErrorOf(ErrorKind::kBadInput, [&] { context.NewStream(); });
  EXPECT_NE(error.find("no normal stream is free"), std::string::npos) << error;
  context.DestroyStream(20);
  EXPECT_EQ(context.NewStream().stream_index(), 20u) << "free again";
}

TEST_F(Callbacks, SynchronizeWaitsForWhatWasEnqueuedBeforeItAndNotForWhatACallbackAddsForEver) {
  int calls = 0;
  std::function<void()> again = [&] {
    if (++calls < 100'000) context.Stream(1).Callback(again);
  };
  context.Stream(1).Callback(again);
  Fill(1);
  context.Stream(1).Synchronize();
  EXPECT_LT(calls, 100) << "callbacks";
  EXPECT_EQ(card.executed.size(), 1u) << "what was enqueued before is done";
  context.Synchronize();
  EXPECT_LT(calls, 100) << "callbacks";
  calls = 200'000;  // the next call is the last
  context.Synchronize();
  EXPECT_EQ(calls, 200'001) << "nothing is left that would call what this frame owns";
}

TEST_F(Callbacks, AreCalledWithoutTheRuntimesLock) {
  std::mutex applications;
  card.op_ps = 1'000'000'000;
  std::atomic<bool> inside{false};
  std::thread other;
  context.Stream(1).Fill(memory, 128, 0);
  context.Stream(1).Callback([&] {
    // The other thread has the application's lock and wants the runtime's.
    other = std::thread([&] {
      const std::lock_guard<std::mutex> lock(applications);
      inside = true;
      Fill(2);
    });
    while (!inside) std::this_thread::yield();
    const std::lock_guard<std::mutex> lock(applications);
  });
  context.Stream(1).Synchronize();
  other.join();
  context.Synchronize();
  EXPECT_EQ(context.Counts(2).completed, 1u);
}

TEST_F(Callbacks, WaitForTheEndOfWorkThatHoldsTheLock) {
  std::vector<int> order;
  context.Stream(1).Fill(memory, 128, 0);
  {
    const auto lock = context.Lock();
    context.Stream(1).Callback([&] { order.push_back(2); });
    while (!card.executed.empty() && !context.Stream(1).Query()) card.Advance(card.op_ps);
    context.Stream(2).Callback([&] { order.push_back(3); });
    order.push_back(1);
  }
  context.Synchronize();
  ASSERT_EQ(order.size(), 3u);
  EXPECT_EQ(order[0], 1) << "no callback while the lock is held";
}

TEST_F(Callbacks, TheDefaultStreamWaitsForNoOther) {
  Event never(context);
  context.Stream(1).Wait(never);
  Fill(1);
  Fill(0);
  EXPECT_NO_THROW(context.DefaultStream().Synchronize());
  EXPECT_EQ(card.executed.size(), 1u);
}

}  // namespace
}  // namespace spyre::flex::callback_test
