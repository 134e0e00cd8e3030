// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/event.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::event_test {
namespace {

using test::ErrorOf;
using test::FakeCard;

void ExpectNames(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
  }
}

class Events : public testing::Test {
 protected:
  // Opcode and stream of everything that the card has executed: "F1 S1 W2".
  std::string Executed() const {
    std::string text;
    for (const auto& done : card.executed) {
      const auto opcode = static_cast<Opcode>(done.block.opcode);
      text += opcode == Opcode::EVENT_SIGNAL ? " S" : opcode == Opcode::EVENT_WAIT ? " W" : " F";
      text += std::to_string(done.block.stream);
    }
    return text.empty() ? text : text.substr(1);
  }
  void Fill(uint32_t stream, uint64_t value = 0) {
    context.Stream(stream).Fill(memory, 128, value);
  }

  FakeCard card;
  RuntimeContext context{card, 0};
  DeviceHandle memory = context.Allocate(128);
};

TEST_F(Events, TheCardHoldsAWaitingStreamWithoutTheHost) {
  card.op_ps = 1'000'000'000;
  Event event(context, "loaded");
  Fill(1);
  context.Stream(1).Record(event);
  context.Stream(2).Wait(event);
  Fill(2);
  context.Stream(2).Synchronize();
  EXPECT_EQ(Executed(), "F1 S1 W2 F2") << "all four were in the ring at once";
  EXPECT_EQ(card.executed[1].block.value, EventValue(1, 1)) << "slot 1, first record";
  EXPECT_EQ(card.executed[2].block.value, EventValue(1, 1));
  EXPECT_EQ(event.status(), EventStatus::kComplete);
}

TEST_F(Events, AWaitEntersTheRingAfterItsRecord) {
  Event event(context);
  context.Stream(2).Wait(event);
  Fill(2);
  EXPECT_EQ(event.status(), EventStatus::kUnrecorded);
  Fill(1);
  context.Stream(1).Record(event);
  context.Synchronize();
  EXPECT_EQ(Executed(), "F1 S1 W2 F2");
}

TEST_F(Events, EveryRecordOfAStreamHasItsOwnCount) {
  card.op_ps = 1'000'000'000;
  Event first(context);
  Event second(context);
  context.Stream(40).Record(first);
  context.Stream(40).Record(second);
  context.Stream(1).Wait(second);
  context.Synchronize();
  EXPECT_EQ(card.executed[1].block.value, EventValue(40, 2));
  EXPECT_EQ(card.executed[2].block.value, EventValue(40, 2));
}

TEST_F(Events, AWaitForACompleteEventIsDroppedOnTheHost) {
  Event event(context);
  context.Stream(1).Record(event);
  context.Synchronize();
  context.Stream(2).Wait(event);
  Fill(2);
  context.Synchronize();
  EXPECT_EQ(Executed(), "S1 F2");
  EXPECT_EQ(context.Counts(2).completed, 2u);
  EXPECT_EQ(context.Counts(2).on_host, 1u);
}

TEST_F(Events, AWaitBehindTheRecordInTheSameStreamIsDropped) {
  card.op_ps = 1'000'000'000;
  Event event(context);
  context.Stream(1).Record(event);
  context.Stream(1).Wait(event);
  Fill(1);
  context.Synchronize();
  EXPECT_EQ(Executed(), "S1 F1");
}

TEST_F(Events, ManyStreamsMayWaitForOneEvent) {
  Event event(context);
  for (uint32_t stream = 2; stream <= 64; ++stream) {
    context.Stream(stream).Wait(event);
    Fill(stream, stream);
  }
  Fill(1);
  context.Stream(1).Record(event);
  context.Synchronize();
  ASSERT_EQ(card.executed.size(), 2 + 63 + 63u - context.Counts().on_host);
  EXPECT_EQ(Executed().substr(0, 5), "F1 S1");
}

TEST_F(Events, QueryAndSynchronizeSeeTheRecordComplete) {
  Event event(context);
  EXPECT_FALSE(event.Query()) << "not recorded";
  Fill(1);
  context.Stream(1).Record(event);
  event.Synchronize();
  EXPECT_TRUE(event.Query());
  Event other(context);
  context.Stream(1).Record(other);
  int asked = 0;
  while (!other.Query()) ASSERT_LT(++asked, 100);
  EXPECT_EQ(other.status(), EventStatus::kComplete);
}

TEST_F(Events, TimesAreThoseOfTheDevice) {
  Event start(context, "start");
  Event stop(context, "stop");
  context.Stream(1).Record(start);
  for (int i = 0; i < 5; ++i) Fill(1);
  context.Stream(1).Record(stop);
  ErrorOf(ErrorKind::kBadInput, [&] { ElapsedPs(start, stop); });
  stop.Synchronize();
  EXPECT_EQ(start.TimePs(), context.CompletedOperations().front().finished_ps);
  EXPECT_EQ(ElapsedPs(start, stop), static_cast<int64_t>(6 * card.op_ps));
  EXPECT_EQ(ElapsedPs(stop, start), -static_cast<int64_t>(6 * card.op_ps));
  Event never(context, "never");
  ExpectNames(ErrorOf(ErrorKind::kBadInput, [&] { ElapsedPs(start, never); }),
              {"'never'", "unrecorded"});
}

TEST_F(Events, NamesAreOfTheCallerOrCounted) {
  EXPECT_EQ(Event(context).name(), "event 1");
  EXPECT_EQ(Event(context, "weights").name(), "weights");
  EXPECT_EQ(Event(context).name(), "event 3");
}

TEST_F(Events, ASecondRecordIsRefused) {
  Event event(context, "once");
  const Event copy = event;
  context.Stream(1).Record(event);
  ExpectNames(ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(2).Record(copy); }),
              {"stream 2", "'once'", "stream 1", "once"});
  context.Synchronize();
  ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(1).Record(event); });
  EXPECT_EQ(context.Counts().queued, 1u);
}

TEST_F(Events, AnotherContextsEventIsRefused) {
  FakeCard second_card;
  RuntimeContext second(second_card, 0);
  Event event(second, "theirs");
  ExpectNames(ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(1).Wait(event); }),
              {"stream 1", "'theirs'", "another context"});
  ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(1).Record(event); });
  EXPECT_EQ(context.Counts().queued, 0u);
  Event mine(context);
  ErrorOf(ErrorKind::kBadInput, [&] { ElapsedPs(mine, event); });
}

TEST_F(Events, ADestroyedEventIsRefusedButWhatIsEnqueuedStays) {
  card.op_ps = 1'000'000'000;
  Event event(context, "gone");
  Event copy = event;
  context.Stream(2).Wait(event);
  Fill(2);
  context.Stream(1).Record(event);
  event.Destroy();
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { context.Stream(3).Wait(copy); }, [&] { context.Stream(3).Record(copy); },
           [&] { copy.Synchronize(); }, [&] { copy.Query(); }, [&] { copy.TimePs(); }}) {
    ExpectNames(ErrorOf(ErrorKind::kBadInput, use), {"'gone'", "destroyed"});
  }
  context.Synchronize();
  EXPECT_EQ(context.Counts(2).completed, 2u);
}

TEST_F(Events, AFailureBeforeTheRecordReachesEveryWaitingStream) {
  card.fail[1] = Status::BUS_ERROR;
  card.op_ps = 1'000'000'000;
  Event event(context, "loaded");
  Event after(context, "computed");
  Fill(1);
  context.Stream(1).Record(event);
  context.Stream(2).Wait(event);
  Fill(2);
  context.Stream(2).Record(after);
  context.Stream(3).Wait(after);
  Fill(3);
  Fill(4);
  const std::string first =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(1).Synchronize(); });
  const std::string second =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(2).Synchronize(); });
  const std::string third =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(3).Synchronize(); });
  ExpectNames(second, {"stream 2: EVENT_WAIT 'loaded' failed", "stream 1", first});
  ExpectNames(third, {"stream 3: EVENT_WAIT 'computed' failed", "stream 2", second});
  EXPECT_NO_THROW(context.Stream(4).Synchronize());
  EXPECT_EQ(event.status(), EventStatus::kFailed);
  EXPECT_TRUE(event.Query()) << "Synchronize would not wait";
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { event.Synchronize(); }),
              {"'loaded'", "stream 1", first});
  EXPECT_EQ(Executed(), "W2 W3 F4") << "the waits failed on the card, and nothing after them ran";
}

TEST_F(Events, AFailureIsPassedOnWhenNothingIsInTheRingYet) {
  card.fail[1] = Status::BUS_ERROR;
  Event event(context, "loaded");
  context.Stream(2).Wait(event);
  Fill(2);
  Fill(1);
  const std::string first =
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(1).Synchronize(); });
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(1).Record(event); }), {first});
  EXPECT_EQ(event.status(), EventStatus::kFailed) << "nobody can record it any more";
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(2).Synchronize(); }),
              {"stream 2: EVENT_WAIT 'loaded' failed", first});
  EXPECT_EQ(context.Counts(2).failed, 1u);
  EXPECT_EQ(context.Counts(2).not_executed, 1u);
}

TEST_F(Events, AFailedWaitKeepsTheOrderOfItsStream) {
  card.op_ps = 1'000'000'000;
  card.fail[1] = Status::BUS_ERROR;
  Event event(context, "loaded");
  Fill(1);
  EXPECT_THROW(context.Stream(1).Synchronize(), Error);
  EXPECT_THROW(context.Stream(1).Record(event), Error);
  card.fail[3] = Status::PAGE_FAULT;
  Fill(2);
  Fill(2);
  context.Stream(2).Wait(event);
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(2).Synchronize(); }),
              {"PAGE_FAULT"});
}

TEST_F(Events, ResetFailsEveryEarlierEvent) {
  Event complete(context, "complete");
  Event pending(context, "pending");
  context.Stream(1).Record(complete);
  context.Synchronize();
  context.Stream(2).Wait(pending);
  context.Reset();
  for (Event* event : {&complete, &pending}) {
    EXPECT_EQ(event->status(), EventStatus::kFailed);
    ExpectNames(ErrorOf(ErrorKind::kBadInput, [&] { event->Synchronize(); }),
                {event->name(), "reset"});
    ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(1).Wait(*event); });
    ErrorOf(ErrorKind::kBadInput, [&] { context.Stream(1).Record(*event); });
  }
  Event fresh(context);
  context.Stream(1).Record(fresh);
  context.Stream(2).Wait(fresh);
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Synchronize(); }),
              {"stream 2", "pending", "the function was reset"});
  EXPECT_NO_THROW(context.Synchronize()) << "what was dropped is said once";
}

TEST_F(Events, ALostDeviceFailsEvents) {
  card.lose = {1};
  Event event(context, "loaded");
  Event never(context, "never");
  Fill(1);
  context.Stream(1).Record(event);
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { event.Synchronize(); }),
              {"'loaded'", "stream 1", "lost"});
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { never.Synchronize(); }), {"'never'", "lost"});
}

TEST_F(Events, WaitingForWhatNobodyRecordsIsADeadlockThatIsNamed) {
  Event event(context, "weights");
  context.Stream(3).Wait(event);
  Fill(3);
  for (const auto& wait : std::vector<std::function<void()>>{
           [&] { context.Stream(3).Synchronize(); }, [&] { context.Synchronize(); },
           [&] { event.Synchronize(); }}) {
    ExpectNames(ErrorOf(ErrorKind::kDeviceFault, wait),
                {"deadlock", "stream 3 waits for event 'weights', which no stream has recorded"});
  }
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { event.Synchronize(); }),
              {"the host waits for event 'weights'"});
  EXPECT_FALSE(context.ErrorOf(3)) << "nothing has failed";
  context.Stream(1).Record(event);
  EXPECT_NO_THROW(context.Synchronize()) << "the stream goes on";
  EXPECT_EQ(context.Counts(3).completed, 2u);
}

TEST_F(Events, ACycleIsNamedWithItsStreams) {
  Event first(context, "first");
  Event second(context, "second");
  context.Stream(5).Wait(second);
  context.Stream(5).Record(first);
  context.Stream(7).Wait(first);
  context.Stream(7).Record(second);
  context.Stream(8).Wait(second);
  ExpectNames(
      ErrorOf(ErrorKind::kDeviceFault, [&] { context.Synchronize(); }),
      {"stream 5 waits for event 'second', which stream 7 is to record after its own wait",
       "stream 7 waits for event 'first', which stream 5 is to record after its own wait",
       "stream 8 waits for event 'second'", "they wait for each other: streams 5 -> 7 -> 5"});
}

TEST_F(Events, AStreamThatWaitsForItselfIsNamed) {
  Event event(context, "self");
  context.Stream(6).Wait(event);
  context.Stream(6).Record(event);
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Stream(6).Synchronize(); }),
              {"stream 6 waits for event 'self'", "streams 6 -> 6"});
}

TEST_F(Events, AnEventDestroyedBeforeItsRecordIsNamedSo) {
  Event event(context, "dropped");
  context.Stream(1).Wait(event);
  event.Destroy();
  ExpectNames(ErrorOf(ErrorKind::kDeviceFault, [&] { context.Synchronize(); }),
              {"'dropped', which was destroyed before any stream recorded it"});
}

TEST_F(Events, SynchronizeOfAStreamThatIsNotBlockedIsNoDeadlock) {
  Event event(context);
  context.Stream(1).Wait(event);
  Fill(2);
  EXPECT_NO_THROW(context.Stream(2).Synchronize());
}

TEST_F(Events, ABlockedStreamsMemoryIsGivenBackWithTheContext) {
  FakeCard other;
  std::vector<uint8_t> data(128);
  {
    RuntimeContext short_lived(other, 0);
    const DeviceHandle handle = short_lived.Allocate(128);
    Event event(short_lived);
    short_lived.Stream(1).Wait(event);
    short_lived.Stream(1).CopyToDevice(data.data(), handle, 128);
  }
  EXPECT_EQ(other.host_mappings(), 0u);
}

TEST_F(Events, ThreadsMayWaitForEachOthersEvents) {
  constexpr int kRounds = 50;
  std::vector<Event> ping;
  std::vector<Event> pong;
  for (int i = 0; i < kRounds; ++i) {
    ping.emplace_back(context);
    pong.emplace_back(context);
  }
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      context.Stream(2).Wait(ping[static_cast<size_t>(i)]);
      Fill(2);
      context.Stream(2).Record(pong[static_cast<size_t>(i)]);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    Fill(1);
    context.Stream(1).Record(ping[static_cast<size_t>(i)]);
    context.Stream(1).Wait(pong[static_cast<size_t>(i)]);
  }
  other.join();
  context.Synchronize();
  EXPECT_EQ(context.Counts().completed, 6u * kRounds);
}

}  // namespace
}  // namespace spyre::flex::event_test
