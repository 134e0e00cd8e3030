// SPDX-License-Identifier: Apache-2.0
// Events of the card: a slot is a counter that EVENT_SIGNAL raises and EVENT_WAIT waits for. Each
// promise on the timed and on the RTL control processor.
#include <gmock/gmock.h>

#include <map>
#include <optional>

#include "bringup/ladder/raw_queue.h"
#include "model/contract/control_block.h"
#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::event_test {
namespace {

using bringup::RawQueue;
using Answers = std::map<uint64_t, Status>;  // by sequence number

// card.control.fidelity.
class EventTest : public CardFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr uint32_t kSlot = 255;

  EventTest() { config_.control.fidelity = test::Named(GetParam()); }

  void OpenByHand() {
    transport_ =
        std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, &*recorder_);
    admin_ = std::make_unique<driver::Device>(*transport_, 0);
    queue_.emplace(*transport_, 0, 64, 64);
  }
  template <typename Entry = ControlBlock>
  static void Put(RawQueue& queue, Opcode opcode, uint32_t stream, uint64_t value = 0) {
    Entry entry = queue.Make<Entry>(opcode, stream);
    entry.value = value;
    queue.Put(entry);
  }
  void Signal(uint32_t stream, uint64_t counter, uint32_t slot = kSlot) {
    Put(*queue_, Opcode::EVENT_SIGNAL, stream, EventValue(slot, counter));
  }
  void Wait(uint32_t stream, uint64_t counter, uint32_t slot = kSlot) {
    Put(*queue_, Opcode::EVENT_WAIT, stream, EventValue(slot, counter));
  }
  void Nop(uint32_t stream) { Put(*queue_, Opcode::NOP, stream); }
  // Nothing is mapped: PAGE_FAULT.
  void Fail(uint32_t stream) { Put(*queue_, Opcode::DMA_FILL, stream); }
  Answers Run() {
    queue_->Ring();
    return queue_->Settle();
  }

  std::optional<RawQueue> queue_;
};

INSTANTIATE_TEST_SUITE_P(Fidelity, EventTest, ::testing::Values("timed", "rtl"));

TEST_P(EventTest, AWaitEndsWhenTheCounterHasComeThatFarOrFurther) {
  OpenByHand();
  Wait(1, 3);
  Nop(1);
  Wait(2, 4);
  Signal(3, 2);
  EXPECT_EQ(Run(), (Answers{{4, Status::OK}})) << "2 is less than 3";
  Signal(3, 3);
  EXPECT_EQ(Run(), (Answers{{1, Status::OK}, {2, Status::OK}, {5, Status::OK}}));
  Signal(3, uint64_t{1} << 55);
  EXPECT_EQ(Run(), (Answers{{3, Status::OK}, {6, Status::OK}})) << "56 bits of counter";
}

TEST_P(EventTest, ASmallerSignalDoesNotTakeTheCounterBack) {
  OpenByHand();
  Signal(1, 5);
  Signal(1, 4);
  Wait(2, 5);
  EXPECT_EQ(Run(), (Answers{{1, Status::OK}, {2, Status::OK}, {3, Status::OK}}));
}

TEST_P(EventTest, EveryCounterStartsAtZeroAndSlotsAreApart) {
  OpenByHand();
  Wait(1, 0, 0);
  Signal(2, 1, 7);
  Wait(3, 1, 8);
  EXPECT_EQ(Run(), (Answers{{1, Status::OK}, {2, Status::OK}}));
}

TEST_P(EventTest, AnAbortedSignalFailsAWaitThatIsHeldAndItsStreamWithIt) {
  OpenByHand();
  Wait(1, 1);
  Nop(1);
  Nop(2);
  EXPECT_EQ(Run(), (Answers{{3, Status::OK}}));
  Fail(2);
  Signal(2, 1);
  queue_->Ring();
  transport_->Advance(200'000'000);
  std::map<uint64_t, uint64_t> faults;
  Answers answers;
  for (const Response& response : queue_->Take()) {
    answers[response.sequence] = static_cast<Status>(response.status);
    faults[response.sequence] = response.fault_address;
  }
  EXPECT_EQ(answers, (Answers{{1, Status::EVENT_FAILED},
                              {2, Status::ABORTED},
                              {4, Status::PAGE_FAULT},
                              {5, Status::ABORTED}}));
  EXPECT_EQ(faults[1], EventValue(kSlot, 1)) << "which event";
}

TEST_P(EventTest, AfterAnAbortedSignalWhatTheCounterHasReachedStillHolds) {
  OpenByHand();
  Signal(1, 4);
  Fail(1);
  Signal(1, 5);
  EXPECT_EQ(Run(), (Answers{{1, Status::OK}, {2, Status::PAGE_FAULT}, {3, Status::ABORTED}}));
  Wait(2, 4);
  Wait(3, 5);
  Wait(4, 1, 0);
  Signal(5, 6);
  Wait(6, 6);
  EXPECT_EQ(Run(),
            (Answers{{4, Status::OK}, {5, Status::EVENT_FAILED}, {7, Status::OK}, {8, Status::OK}}))
      << "another slot is not concerned";
}

TEST_P(EventTest, AFailedWaitFailsTheEventsOfItsOwnStreamInTurn) {
  OpenByHand();
  Fail(1);
  Signal(1, 1, 1);
  Wait(2, 1, 1);
  Signal(2, 1, 2);
  Wait(3, 1, 2);
  EXPECT_EQ(Run(), (Answers{{1, Status::PAGE_FAULT},
                            {2, Status::ABORTED},
                            {3, Status::EVENT_FAILED},
                            {4, Status::ABORTED},
                            {5, Status::EVENT_FAILED}}));
}

TEST_P(EventTest, ASignalThatIsRefusedSaysNothing) {
  OpenByHand();
  ControlBlock bad = queue_->Make<ControlBlock>(Opcode::EVENT_SIGNAL, 1);
  bad.value = EventValue(kSlot, 1);
  bad.reserved0 = 1;
  queue_->Put(bad);
  Wait(2, 1);
  EXPECT_EQ(Run(), (Answers{{1, Status::BAD_FIELD}})) << "neither reached nor failed";
}

TEST_P(EventTest, AResetClearsCountersAndFailures) {
  OpenByHand();
  Signal(1, 9, 1);
  Fail(2);
  Signal(2, 1, 2);
  EXPECT_EQ(Run().size(), 3u);
  queue_->Start();
  Wait(1, 1, 1);
  Wait(2, 1, 2);
  EXPECT_EQ(Run(), Answers{});
  Signal(3, 1, 1);
  Signal(3, 1, 2);
  EXPECT_EQ(Run(), (Answers{{1, Status::OK}, {2, Status::OK}, {3, Status::OK}, {4, Status::OK}}));
}

TEST_P(EventTest, SlotsServeAnyNumberOfEvents) {
  OpenByHand();
  uint64_t ended = 0;
  for (uint64_t counter = 1; counter <= 2 * kEventSlots; ++counter) {
    const auto slot = static_cast<uint32_t>(counter % 3);
    Wait(1, counter, slot);
    Signal(2, counter, slot);
    if (counter % 16 != 0) continue;
    for (const auto& [sequence, status] : Run()) {
      EXPECT_EQ(status, Status::OK) << "sequence " << sequence;
      ++ended;
    }
  }
  EXPECT_EQ(ended, 4 * kEventSlots);
}

TEST_P(EventTest, FunctionsDoNotSeeEachOthersEventsAndMessagesCarryTheWholeValue) {
  config_.num_vfs = 2;
  OpenByHand();
  driver::PhysicalFunction physical(*admin_);
  physical.EnableVirtualFunctions(2);
  const driver::Device first(*transport_, 1), second(*transport_, 2);
  RawQueue one(*transport_, 1), two(*transport_, 2);
  const uint64_t high = (uint64_t{1} << 56) - 1;
  Put<Message>(one, Opcode::EVENT_WAIT, 1, EventValue(kSlot, high));
  one.Ring();
  Signal(1, high);
  Put<Message>(two, Opcode::EVENT_SIGNAL, 1, EventValue(kSlot, high));
  two.Ring();
  EXPECT_EQ(Run(), (Answers{{1, Status::OK}}));
  EXPECT_EQ(two.Settle(), (Answers{{1, Status::OK}}));
  EXPECT_EQ(one.Settle(), Answers{});
  Put<Message>(one, Opcode::EVENT_SIGNAL, 2, EventValue(kSlot, high - 1));
  one.Ring();
  EXPECT_EQ(one.Settle(), (Answers{{2, Status::OK}}));
  EXPECT_THAT(transport_->Diagnose(), ::testing::HasSubstr("event slot 255 has reached"));
  Put<Message>(one, Opcode::EVENT_SIGNAL, 2, EventValue(kSlot, high));
  one.Ring();
  EXPECT_EQ(one.Settle(), (Answers{{1, Status::OK}, {3, Status::OK}}));
}

}  // namespace
}  // namespace spyre::test::event_test
