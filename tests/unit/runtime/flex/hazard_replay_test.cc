// SPDX-License-Identifier: Apache-2.0
// Captured graphs and the hazard tracker: a replay is looked at as if its operations were enqueued
// then, and a capture as if they were not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::hazard_replay_test {
namespace {

using test::BadInputOf;
using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kBytes = 128;

class HazardReplay : public testing::Test {
 protected:
  HazardReplay() { Open("warning"); }
  void Open(const char* hazards) {
    if (context) context->Free(memory);
    context.reset();
    RuntimeOptions options;
    options.hazards = hazards;
    context = std::make_unique<RuntimeContext>(card, 0, options);
    memory = context->Allocate(4 * kBytes);
  }
  FlexStream& S(uint32_t index) { return context->Stream(index); }
  static OperationInfo Named(const char* name) {
    OperationInfo info;
    info.name = name;
    return info;
  }
  void Write(uint32_t stream, const char* name, uint64_t value = 0, int64_t stick = 0) {
    S(stream).Fill(Offset(memory, stick * static_cast<int64_t>(kBytes)), kBytes, value,
                   Named(name));
  }
  void Read(uint32_t stream, const char* name) {
    S(stream).CopyFromDevice(host.data(), memory, kBytes, Named(name));
  }
  // What `enqueue` does on stream 1.
  template <typename Enqueue>
  CapturedGraph Captured(const Enqueue& enqueue) {
    context->BeginCapture(S(1));
    enqueue();
    return context->EndCapture(S(1));
  }
  CapturedGraph CapturedWrite(uint64_t value = 0) {
    return Captured([&] { Write(1, "captured write", value); });
  }
  // "RAW captured write -> read", in the order in which they were found.
  std::vector<std::string> Found() const {
    std::vector<std::string> found;
    for (const Hazard& hazard : context->Hazards().hazards) {
      found.push_back(std::string(Name(hazard.kind)) + " " + hazard.earlier.name + " -> " +
                      hazard.later.name);
    }
    return found;
  }
  std::string LastFound() const {
    const std::vector<std::string> found = Found();
    return found.empty() ? "none" : found.back();
  }

  test::FakeCard card;
  std::array<uint64_t, kBytes / 8> host{};
  std::unique_ptr<RuntimeContext> context;
  DeviceHandle memory;
};

TEST_F(HazardReplay, ACaptureAloneTouchesNothing) {
  Write(2, "write");
  const CapturedGraph graph = CapturedWrite();
  Read(3, "read");
  EXPECT_THAT(Found(), testing::ElementsAre("RAW write -> read"));
  EXPECT_EQ(context->Hazards().checked, 2u);
}

TEST_F(HazardReplay, WithoutAnEventItIsReportedAgainstCopiesBeforeAndAfterIt) {
  const CapturedGraph writes = CapturedWrite();
  const CapturedGraph reads = Captured([&] { Read(1, "captured read"); });
  Read(2, "read before");
  writes.Launch(S(1));
  ASSERT_THAT(Found(), testing::ElementsAre("WAR read before -> captured write"));
  EXPECT_EQ(context->Hazards().hazards[0].later.stream, 1u) << "where it was replayed";
  Read(2, "read after");
  EXPECT_EQ(LastFound(), "RAW captured write -> read after");
  Write(2, "write after");
  EXPECT_EQ(LastFound(), "WAW captured write -> write after");
  reads.Launch(S(1));
  EXPECT_EQ(LastFound(), "RAW write after -> captured read");
  Write(2, "last write");
  EXPECT_EQ(LastFound(), "WAR captured read -> last write");
  EXPECT_EQ(Found().size(), 6u) << "the last write is in no order with the captured one either";
}

TEST_F(HazardReplay, WithEventsOnBothSidesItIsSilent) {
  Open("error");
  const CapturedGraph graph = CapturedWrite(7);
  Event before(*context, "before"), after(*context, "after");
  Write(2, "write before");
  S(2).Record(before);
  S(1).Wait(before);
  graph.Launch(S(1));
  S(1).Record(after);
  S(2).Wait(after);
  Read(2, "read after");
  S(2).Synchronize();
  EXPECT_EQ(host[3], 7u);
  EXPECT_EQ(context->Hazards().checked, 3u);
  EXPECT_EQ(context->Hazards().found, 0u);
}

TEST_F(HazardReplay, AnEventBetweenTwoReplaysOrdersOnlyTheFirst) {
  const CapturedGraph graph = CapturedWrite();
  Event between(*context, "between");
  graph.Launch(S(1));
  S(1).Record(between);
  graph.Launch(S(1));
  S(2).Wait(between);
  Read(2, "read");
  ASSERT_THAT(Found(), testing::ElementsAre("RAW captured write -> read"));
  const HazardReport report = context->Hazards();
  context->Synchronize();
  const std::vector<CompletedOperation> completed = context->CompletedOperations();
  std::vector<uint64_t> writes;
  for (const CompletedOperation& operation : completed) {
    if (operation.name == "captured write") writes.push_back(operation.correlation);
  }
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(report.hazards[0].earlier.correlation, writes[1]);
}

TEST_F(HazardReplay, ReplaysOnTwoStreamsAreAHazardAndOnOneStreamNone) {
  const CapturedGraph graph = CapturedWrite();
  graph.Launch(S(1));
  graph.Launch(S(1));
  EXPECT_EQ(context->Hazards().found, 0u);
  graph.Launch(S(2));
  EXPECT_THAT(Found(), testing::ElementsAre("WAW captured write -> captured write"));
}

TEST_F(HazardReplay, StreamsThatJoinedAreOrderedByTheEventsOfEachReplay) {
  Event forked(*context, "forked"), joined(*context, "joined");
  const CapturedGraph graph = Captured([&] {
    Write(1, "first write", 5);
    S(1).Record(forked);
    S(2).Wait(forked);
    Read(2, "read of the other stream");
    S(2).Record(joined);
    S(1).Wait(joined);
    Write(1, "second write", 6);
  });
  for (int i = 0; i < 3; ++i) graph.Launch(S(1));
  EXPECT_EQ(context->Hazards().checked, 9u);
  EXPECT_EQ(context->Hazards().found, 0u);
  Write(3, "write");
  EXPECT_THAT(Found(), testing::ElementsAre("WAW second write -> write"));
  context->Synchronize();
}

TEST_F(HazardReplay, AHazardInsideAGraphIsFoundInEachReplay) {
  Event forked(*context, "forked"), joined(*context, "joined");
  const CapturedGraph graph = Captured([&] {
    S(1).Record(forked);
    S(2).Wait(forked);
    Write(1, "write");
    Read(2, "read of the other stream");
    S(2).Record(joined);
    S(1).Wait(joined);
  });
  for (uint64_t replay = 1; replay <= 3; ++replay) {
    graph.Launch(S(1));
    EXPECT_EQ(context->Hazards().found, replay);
    EXPECT_EQ(LastFound(), "RAW write -> read of the other stream");
  }
}

TEST_F(HazardReplay, AccessesOfLaunchesAreReplayedWithThem) {
  Open("error");
  const DeviceHandle program = context->Allocate(kBytes, MemoryKind::kProgram);
  const CapturedGraph graph = Captured([&] {
    OperationInfo step = Named("input");
    step.launch = "mix";
    step.accesses = {{memory, kBytes, true}};
    S(1).CopyToDevice(host.data(), program, kBytes, step);
    OperationInfo compute = Named("compute");
    compute.joined = true;
    S(1).Launch(program, compute);
  });
  graph.Launch(S(1));
  EXPECT_EQ(context->Hazards().checked, 1u) << "one launch of two steps";
  EXPECT_EQ(context->Hazards().unknown, 0u);
  EXPECT_THAT(BadInputOf([&] { Read(2, "read"); }),
              AllOf(HasSubstr("RAW"), HasSubstr("[stream 1, launch of mix] writes")));
  context->Synchronize();
  Write(2, "write");
  EXPECT_THAT(BadInputOf([&] { graph.Launch(S(1)); }),
              AllOf(HasSubstr("WAW"), HasSubstr("[stream 2, write]")));
}

TEST_F(HazardReplay, InModeErrorTheOperationIsRefusedAndCanBeReplayedWhenItIsOrdered) {
  Open("error");
  const CapturedGraph graph = CapturedWrite(3);
  Write(2, "write", 1);
  const uint64_t queued = context->Counts().queued;
  EXPECT_THAT(BadInputOf([&] { graph.Launch(S(1)); }), HasSubstr("WAW"));
  EXPECT_EQ(context->Counts().queued, queued);
  S(2).Synchronize();
  graph.Launch(S(1));
  S(1).Synchronize();
  Read(1, "read");
  S(1).Synchronize();
  EXPECT_EQ(host[0], 3u);
}

TEST_F(HazardReplay, AutomaticEventsOrderReplaysWithCopies) {
  card.pipelined = true;
  card.shuffle.emplace(1);
  Open("event");
  std::array<uint64_t, kBytes / 8> captured{};
  const CapturedGraph graph = Captured([&] {
    S(1).CopyFromDevice(captured.data(), memory, kBytes);
    Write(1, "captured write", 100);
  });
  for (uint64_t value = 1; value <= 10; ++value) {
    Write(2, "write", value);
    graph.Launch(S(1));
    Read(3, "read");
    context->Synchronize();
    EXPECT_EQ(captured[0], value);
    EXPECT_EQ(host[0], 100u);
  }
  EXPECT_EQ(context->Hazards().waits, 20u);
}

}  // namespace
}  // namespace spyre::flex::hazard_replay_test
