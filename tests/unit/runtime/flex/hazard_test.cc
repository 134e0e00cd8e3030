// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "model/contract/control_block.h"
#include "runtime/flex/access_history.h"
#include "runtime/flex/runtime_context.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::flex::hazard_test {
namespace {

using test::BadInputOf;
using test::FakeCard;
using testing::HasSubstr;

RuntimeOptions Mode(const char* hazards) {
  RuntimeOptions options;
  options.hazards = hazards;
  return options;
}

// Stream 1 and stream 2 on eight sticks of memory.
class Hazards : public testing::Test {
 protected:
  Hazards() { Open("error"); }
  void Open(const char* hazards) {
    if (context) context->Free(memory);
    context.reset();
    context = std::make_unique<RuntimeContext>(card, 0, Mode(hazards));
    memory = context->Allocate(1024);
  }
  FlexStream& S(uint32_t index) { return context->Stream(index); }
  DeviceHandle At(int64_t bytes) const { return Offset(memory, bytes); }
  void Write(uint32_t stream, int64_t offset = 0, uint64_t size = 128, const char* name = "") {
    OperationInfo info;
    info.name = name;
    S(stream).Fill(At(offset), size, 0, info);
  }
  void Read(uint32_t stream, int64_t offset = 0, uint64_t size = 128) {
    S(stream).CopyFromDevice(host.data(), At(offset), size);
  }
  uint64_t Found() const { return context->Hazards().found; }
  // Opcodes and streams in the order of execution.
  std::string Executed() const {
    std::string text;
    for (const auto& done : card.executed) {
      text += fmt::format("{}{} ", OpcodeName(static_cast<Opcode>(done.block.opcode)),
                          done.block.stream);
    }
    return text;
  }

  FakeCard card;
  std::vector<uint8_t> host = std::vector<uint8_t>(1024);
  std::unique_ptr<RuntimeContext> context;
  DeviceHandle memory;
};

TEST_F(Hazards, ModesAreNamedAndAnUnknownOneIsRefused) {
  for (const std::string& name : HazardModeNames()) {
    EXPECT_EQ(Name(HazardModeFromName(name)), name);
  }
  FakeCard other;
  EXPECT_EQ(BadInputOf([&] { RuntimeContext(other, 0, Mode("sometimes")); }),
            "hazards 'sometimes': it is one of off, error, warning, event");
}

TEST_F(Hazards, OffIsTheDefaultAndTracksNothing) {
  EXPECT_EQ(RuntimeOptions().hazards, "off");
  Open("off");
  Write(1);
  Write(2);
  EXPECT_FALSE(context->tracks_hazards());
  EXPECT_EQ(context->Hazards().mode, HazardMode::kOff);
  EXPECT_EQ(context->Hazards().checked, 0u);
}

TEST_F(Hazards, AnErrorNamesBothOperationsTheKindAndTheRange) {
  Write(1, 128, 256, "weights");
  const std::string text = BadInputOf([&] { Read(2, 256, 512); });
  EXPECT_THAT(text, HasSubstr("RAW: 128 bytes at physical 0x100 are read by [stream 2, "
                              "CopyFromDevice], and [stream 1, weights] writes them"));
  Read(3, 512);
  EXPECT_THAT(BadInputOf([&] { Write(2, 512); }), HasSubstr("WAR"));
  EXPECT_THAT(BadInputOf([&] { Write(2, 128); }), HasSubstr("WAW"));
  EXPECT_EQ(context->Counts().queued, 2u) << "nothing is enqueued";
  EXPECT_EQ(Found(), 3u);
}

TEST_F(Hazards, OneStreamOtherBytesAndReadersAreNone) {
  Write(1, 0, 256);
  Read(1, 0, 256);
  Write(1, 0, 128);
  Write(2, 256, 256);
  Read(3, 512);
  Read(4, 512);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(Hazards, EventsOrderAlsoThroughAThirdStream) {
  Event written(*context, "written");
  Event seen(*context, "seen");
  Write(1);
  S(1).Record(written);
  S(3).Wait(written);
  S(3).Record(seen);
  S(2).Wait(seen);
  Read(2);
  Write(1, 512);
  EXPECT_THAT(BadInputOf([&] { Read(2, 512); }), HasSubstr("RAW")) << "enqueued after the record";
}

TEST_F(Hazards, WhatTheHostWasToldIsOrdered) {
  const std::vector<std::function<void(const Event&)>> ways{
      [&](const Event&) { S(1).Synchronize(); },
      [&](const Event&) { context->Synchronize(); },
      [](const Event& event) { event.Synchronize(); },
      [](const Event& event) {
        while (!event.Query()) {
        }
      },
      [&](const Event&) {
        while (!S(1).Query()) {
        }
      },
  };
  for (const auto& way : ways) {
    Event event(*context);
    Write(1);
    S(1).Record(event);
    way(event);
    Write(2);
    S(2).Synchronize();
  }
  bool called = false;
  Write(1);
  S(1).Callback([&] {
    called = true;
    Write(2);
  });
  context->Synchronize();
  EXPECT_TRUE(called);
  EXPECT_EQ(Found(), 0u);
}

TEST_F(Hazards, CompletionThatTheHostWasNotToldOfOrdersNothing) {
  Write(1);
  card.Advance(1'000'000'000);
  Read(3, 512);  // the runtime has seen the response by now
  ASSERT_EQ(card.executed.size(), 1u);
  EXPECT_THAT(BadInputOf([&] { Write(2); }), HasSubstr("WAW"));
}

TEST_F(Hazards, AnOperationBehindAnEventThatIsRecordedLaterIsJudgedThen) {
  Event later(*context, "later");
  S(2).Wait(later);
  Write(2);
  Write(1);  // before `later`, as it turns out
  S(1).Record(later);
  context->Synchronize();
  EXPECT_EQ(Found(), 0u);
}

TEST_F(Hazards, ARecordThatReleasesAHazardIsRefusedAndCanBeRepeated) {
  Event later(*context, "later");
  Event inner(*context, "inner");
  S(2).Wait(later);
  Write(2, 0, 128, "released");
  S(2).Record(inner);
  Write(3, 0, 128, "third");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(BadInputOf([&] { S(1).Record(later); }),
                testing::AllOf(HasSubstr("WAW"), HasSubstr("[stream 2, released]"),
                               HasSubstr("[stream 3, third]")));
  }
  S(3).Synchronize();
  S(1).Record(later);
  S(4).Wait(inner);
  Read(4);
  context->Synchronize();
}

TEST_F(Hazards, AutomaticEventsCoverTheEarlierOperationAndServeSeveral) {
  Open("event");
  card.executed.clear();
  Write(1);
  Read(2);
  Read(3);
  Write(4);
  context->Synchronize();
  EXPECT_EQ(Executed(),
            "DMA_FILL1 EVENT_SIGNAL1 EVENT_WAIT2 DMA_OUT2 EVENT_WAIT3 DMA_OUT3 EVENT_SIGNAL3 "
            "EVENT_WAIT4 EVENT_SIGNAL2 EVENT_WAIT4 DMA_FILL4 ")
      << "stream 4 waits for stream 1 with either of the others";
  const HazardReport report = context->Hazards();
  EXPECT_EQ(report.found, 5u);
  EXPECT_EQ(report.events, 3u);
  EXPECT_EQ(report.waits, 4u);
}

TEST_F(Hazards, AnAutomaticEventIsTheApplicationsIfThatIsThere) {
  Open("event");
  Event mine(*context, "mine");
  Write(1);
  S(1).Record(mine);
  Read(2);
  context->Synchronize();
  EXPECT_EQ(context->Hazards().events, 0u);
  EXPECT_EQ(context->Hazards().waits, 1u);
}

TEST_F(Hazards, NoEventIsNeededForWhatHasCompleted) {
  Open("event");
  Write(1);
  card.Advance(1'000'000'000);
  Read(3, 512);
  Write(2);
  EXPECT_EQ(context->Hazards().found, 1u);
  EXPECT_EQ(context->Hazards().waits, 0u);
}

TEST_F(Hazards, AutomaticEventsNeedTheOrderWhenOperationsAreEnqueued) {
  Open("event");
  Event later(*context, "later");
  EXPECT_THAT(BadInputOf([&] { S(2).Wait(later); }),
              HasSubstr("'later', which is not recorded yet"));
}

TEST_F(Hazards, NothingIsPutBetweenJoinedOperations) {
  Open("event");
  Write(1);
  Write(2, 512);
  OperationInfo joined;
  joined.joined = true;
  EXPECT_THAT(BadInputOf([&] { S(2).Fill(memory, 128, 0, joined); }), HasSubstr("joined"));
}

TEST_F(Hazards, AnOperationWaitsForNoStreamInError) {
  Open("event");
  card.op_ps = 1'000'000'000;
  S(1).Callback([] { throw BadInput("stop"); });
  Write(2);
  EXPECT_NO_THROW(Write(3, 512));
  context->Stream(2).Synchronize();
  EXPECT_THROW(Write(1), Error);
}

TEST_F(Hazards, FreedMemoryIsNewWhenItsWorkHasCompleted) {
  Write(1);
  card.Advance(1'000'000'000);
  const DeviceHandle other = context->Allocate(128);
  S(3).Fill(other, 128, 0);  // the runtime sees the response
  context->Free(memory);
  memory = context->Allocate(1024);
  Write(2);
  EXPECT_EQ(Found(), 0u) << "the same bytes, another tensor";
  context->Free(memory);
  const DeviceHandle before = memory;
  memory = context->Allocate(1024);
  EXPECT_NE(memory, before) << "freed while in use: not handed out yet";
  EXPECT_NO_THROW(Write(1));
}

TEST_F(Hazards, ResetForgetsWhatWasOutstandingAndKeepsTheReport) {
  Open("warning");
  Write(1);
  Write(2);
  context->Reset();
  Write(3);
  EXPECT_THROW(S(1).Synchronize(), Error) << "its write was dropped";
  EXPECT_THROW(S(2).Synchronize(), Error) << "its write was dropped";
  context->Synchronize();
  EXPECT_EQ(Found(), 1u);
}

TEST_F(Hazards, LaunchesWithoutAccessesAreCounted) {
  const DeviceHandle program = context->Allocate(128, MemoryKind::kProgram);
  S(1).CopyToDevice(host.data(), program, 128);
  EXPECT_THAT(BadInputOf([&] { S(2).Launch(program); }), HasSubstr("RAW")) << "still being loaded";
  S(1).Synchronize();
  S(2).Launch(program);
  S(3).Launch(program);
  EXPECT_EQ(context->Hazards().unknown, 2u);
  OperationInfo info;
  info.accesses = {{memory, 256, true}};
  S(2).Launch(program, info);
  EXPECT_EQ(context->Hazards().unknown, 2u);
  EXPECT_THAT(BadInputOf([&] { Read(1, 128); }), HasSubstr("[stream 2, Launch] writes"));
}

TEST(AccessHistory, StaysAsSmallAsThePlacesThatAreTouched) {
  AccessHistory history;
  StreamClock before;
  for (uint64_t i = 1; i <= 1000; ++i) {
    const auto operation = std::make_shared<HazardOperation>();
    operation->stream = static_cast<uint32_t>(i % 4);
    operation->correlation = operation->last_correlation = i;
    history.Insert(i % 8 * 128, i % 8 * 128 + 256, {operation, i % 3 == 0}, before);
    before.Advance(operation->stream, i);
  }
  EXPECT_LE(history.segments(), 9u);
  size_t entries = 0;
  history.Query(0, 4096, [&](uint64_t, uint64_t, const auto&) { ++entries; });
  EXPECT_LE(entries, 18u) << "one write, and one read since";
  history.Forget([](const HazardOperation&) { return true; });
  EXPECT_EQ(history.segments(), 0u);
}

}  // namespace
}  // namespace spyre::flex::hazard_test
