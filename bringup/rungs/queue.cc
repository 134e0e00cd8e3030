// SPDX-License-Identifier: Apache-2.0
// Rung 3: the rings. Operations that touch no memory, interrupts, wrap, and the limits of the
// rings.
#include "bringup/ladder/raw_queue.h"
#include "bringup/ladder/rung.h"
#include "bringup/rungs/rungs.h"

namespace spyre::bringup {
namespace {

using driver::WaitResult;

class Rung3Queue : public Rung {
 protected:
  static driver::DeviceOptions Options(uint32_t entries, bool interrupts) {
    driver::DeviceOptions options;
    options.submission_entries = options.response_entries = entries;
    options.interrupts = interrupts;
    return options;
  }
  static driver::Entry Operation(Opcode opcode, bool physical = true, uint32_t stream = 0) {
    driver::Entry entry;
    if (!physical) entry = Message{};
    std::visit(
        [&](auto& e) {
          e.opcode = static_cast<uint8_t>(opcode);
          e.stream = stream;
        },
        entry);
    return entry;
  }
  static void RunNops(driver::Device& device, int count) {
    for (int i = 0; i < count; ++i) {
      driver::Entry entry = Operation(Opcode::NOP, device.is_physical());
      device.queue().Submit(entry);
      ASSERT_EQ(device.queue().Wait().status, static_cast<uint16_t>(Status::OK)) << i;
    }
  }
};

// The first operations of a ladder. One that is late once is right, and not what a good card does.
TEST_F(Rung3Queue, EveryOfManyNopsIsAnsweredAndToldAtOnce) {
  constexpr int kNops = 64;
  constexpr uint64_t kAgainPs = 50'000'000;  // a second interrupt for one response comes in 50 us
  for (const bool interrupts : {false, true}) {  // who polls sees halves of a response
    driver::Device& device = Physical(Options(16, interrupts));
    std::vector<double> card_ns, host_ns;
    int twice = 0;
    for (int i = 0; i < kNops; ++i) {
      driver::Entry entry = Operation(Opcode::NOP);
      const uint64_t begin = card().NowPs();
      device.queue().Submit(entry);
      const Response done = device.queue().Wait();
      host_ns.push_back(static_cast<double>(card().NowPs() - begin) / 1000);
      card_ns.push_back(static_cast<double>(done.posted_ps - done.fetched_ps) / 1000);
      ExpectOk(done);
      if (HasFailure()) return;
      if (interrupts && !board().backend().time_passes)  // else the response may come before it
        twice += card().WaitInterrupt(0, 0, card().NowPs() + kAgainPs) == WaitResult::kInterrupt;
    }
    const driver::QueueStatistics& seen = device.queue().statistics();
    if (seen.missed_interrupts > 0) {
      Marginal(fmt::format("{} of {} interrupts did not come", seen.missed_interrupts, kNops));
    }
    if (seen.torn_responses > 0 && !board().backend().time_passes)
      Marginal(fmt::format("{} of {} responses came in two halves", seen.torn_responses, kNops));
    if (twice > 0) Marginal(fmt::format("{} of {} interrupts came twice", twice, kNops));
    ExpectEven("an operation, from its entry to its response", card_ns);
    if (!board().backend().time_passes) ExpectEven("an operation, as its driver sees it", host_ns);
    ClosePhysical();
  }
}

TEST_F(Rung3Queue, ANopIsAnsweredAndItsInterruptComes) {
  driver::Device& device = Physical();
  RunNops(device, 1);
  // Where time passes by itself, the response may be there before anybody waits.
  if (!board().backend().time_passes) {
    EXPECT_EQ(device.queue().statistics().interrupts, 1u);
  }
  EXPECT_EQ(device.queue().statistics().missed_interrupts, 0u);
}

TEST_F(Rung3Queue, ANopIsAnsweredByPollingWithoutAnyInterrupt) {
  driver::Device& device = Physical(Options(16, false));
  device.registers().ReadIntCount();
  RunNops(device, 3);
  EXPECT_EQ(device.registers().ReadIntCount(), 0u);
  EXPECT_EQ(device.queue().statistics().interrupts, 0u);
}

TEST_F(Rung3Queue, AMaskedVectorWaitsAndComesWhenItIsUnmasked) {
  driver::Device& device = Physical();
  RequireOwnConfigSpace();
  const uint32_t msi = *driver::FindCapability(card(), 0, driver::pci::kCapabilityMsi);
  card().ConfigWrite(0, msi + 0x10, 0xFF);
  // One that an earlier test left may still be pending.
  while (card().WaitInterrupt(0, driver::kVectorResponse, card().NowPs()) ==
         WaitResult::kInterrupt) {
  }
  driver::Entry entry = Operation(Opcode::NOP);
  ASSERT_TRUE(device.queue().TrySubmit(entry));
  device.queue().RingDoorbell();
  EXPECT_NE(card().WaitInterrupt(0, driver::kVectorResponse, card().NowPs() + kMillisecondPs),
            WaitResult::kInterrupt);
  EXPECT_EQ(Config(0, msi + 0x14) & 1, 1u) << "pending";
  card().ConfigWrite(0, msi + 0x10, 0);
  EXPECT_EQ(card().WaitInterrupt(0, driver::kVectorResponse, card().NowPs() + kMillisecondPs),
            WaitResult::kInterrupt);
  EXPECT_TRUE(device.queue().Poll().has_value());
}

TEST_F(Rung3Queue, AStoppedQueueInterruptsOnItsOwnVector) {
  driver::Device& device = Physical();
  device.registers().WriteIntEnable(7);
  device.registers().WriteSqTail(1u << 20);
  EXPECT_EQ(card().WaitInterrupt(0, driver::kVectorError, card().NowPs() + kMillisecondPs),
            WaitResult::kInterrupt);
  EXPECT_TRUE(device.ReadError().stopped);
}

TEST_F(Rung3Queue, AVirtualFunctionCannotInterruptAnother) {
  RequireOwnConfigSpace();
  EnableVfs();
  driver::Device first(card(), 1);
  driver::Device second(card(), 2);
  const uint32_t msi = *driver::FindCapability(card(), 1, driver::pci::kCapabilityMsi);
  card().ConfigWrite(1, msi + 4, driver::kMsiAddressBase | 2u << 12);  // the address of VF 2
  driver::Entry entry = Operation(Opcode::NOP, false);
  first.queue().Submit(entry);
  first.queue().RingDoorbell();
  EXPECT_NE(card().WaitInterrupt(2, driver::kVectorResponse, card().NowPs() + kMillisecondPs),
            WaitResult::kInterrupt);
}

TEST_F(Rung3Queue, TimestampsRiseAndLieBetweenTheHostsReadings) {
  driver::Device& device = Physical();
  const uint64_t before = device.ReadTimePs();
  driver::Entry one = Operation(Opcode::TIMESTAMP);
  driver::Entry two = Operation(Opcode::TIMESTAMP);
  device.queue().Submit(one);
  device.queue().Submit(two);
  const Response first = device.queue().Wait();
  const Response second = device.queue().Wait();
  const uint64_t after = device.ReadTimePs();
  EXPECT_LT(before, first.queued_ps);
  EXPECT_LE(first.fetched_ps, first.started_ps);
  EXPECT_LE(first.finished_ps, first.posted_ps);
  EXPECT_LE(first.started_ps, second.started_ps);
  EXPECT_LT(second.posted_ps, after);
}

TEST_F(Rung3Queue, AFenceIsAnsweredAfterEverythingBeforeIt) {
  driver::Device& device = Physical();
  driver::PhysicalFunction(device).MapRange(0, 1 << 20, kPermissionRead | kPermissionWrite);
  driver::Entry fill = Operation(Opcode::DMA_FILL, true, 1);
  std::get<ControlBlock>(fill).size_bytes = 1 << 20;
  driver::Entry fence = Operation(Opcode::FENCE, true, 2);
  device.queue().Submit(fill);
  device.queue().Submit(fence);
  const Response filled = device.queue().Wait();
  const Response fenced = device.queue().Wait();
  ExpectOk(filled);
  ExpectOk(fenced);
  EXPECT_EQ(filled.sequence, 1u);
  EXPECT_EQ(fenced.sequence, 2u);
  EXPECT_GE(fenced.started_ps, filled.finished_ps);
}

TEST_F(Rung3Queue, AnEventHoldsOneStreamAndNotTheOthers) {
  EnableBars(0);
  RawQueue queue(card(), 0);
  ControlBlock wait = queue.Make<ControlBlock>(Opcode::EVENT_WAIT, 1);
  wait.value = EventValue(3, 1);
  queue.Put(wait);
  queue.Put(queue.Make<ControlBlock>(Opcode::NOP, 2));
  queue.Ring();
  EXPECT_EQ(queue.Settle(), (std::map<uint64_t, Status>{{2, Status::OK}}));
  ControlBlock signal = queue.Make<ControlBlock>(Opcode::EVENT_SIGNAL, 2);
  signal.value = EventValue(3, 1);
  queue.Put(signal);
  queue.Ring();
  EXPECT_EQ(queue.Settle(), (std::map<uint64_t, Status>{{1, Status::OK}, {3, Status::OK}}));
}

TEST_F(Rung3Queue, AStreamThatHasFailedAbortsAlsoWhatWaitsForAnEvent) {
  EnableBars(0);
  RawQueue queue(card(), 0);
  queue.Put(queue.Make<ControlBlock>(Opcode::DMA_FILL, 1));  // size 0, but nothing is mapped
  ControlBlock wait = queue.Make<ControlBlock>(Opcode::EVENT_WAIT, 1);
  wait.value = EventValue(99, 1);
  queue.Put(wait);
  queue.Ring();
  EXPECT_EQ(queue.Settle(),
            (std::map<uint64_t, Status>{{1, Status::PAGE_FAULT}, {2, Status::ABORTED}}));
}

TEST_F(Rung3Queue, RingsOfTwoEntriesWrapAThousandTimes) {
  driver::Device& device = Physical(Options(2, true));
  RunNops(device, 2000);
  EXPECT_EQ(device.registers().ReadSqHead(), 2000u);
  EXPECT_EQ(device.registers().ReadRqTail(), 2000u);
  EXPECT_EQ(device.queue().statistics().missed_interrupts, 0u);
}

TEST_F(Rung3Queue, AFullRingTakesNothingMoreUntilTheCardHasFetched) {
  driver::Device& device = Physical(Options(8, true));
  driver::QueuePair& queue = device.queue();
  for (int i = 0; i < 8; ++i) {
    driver::Entry entry = Operation(Opcode::NOP);
    EXPECT_TRUE(queue.TrySubmit(entry)) << i;
  }
  driver::Entry extra = Operation(Opcode::NOP);
  EXPECT_FALSE(queue.TrySubmit(extra)) << "no doorbell yet: nothing is fetched";
  queue.RingDoorbell();
  for (uint64_t i = 1; i <= 8; ++i) EXPECT_EQ(queue.Wait().sequence, i);
  EXPECT_TRUE(queue.TrySubmit(extra));
  EXPECT_EQ(queue.Wait().sequence, 9u);
}

class Rung3QueueLevel2 : public Rung3Queue {};

TEST_F(Rung3QueueLevel2, AHundredThousandOperationsPassInOrder) {
  driver::Device& device = Physical(Options(1024, false));
  driver::QueuePair& queue = device.queue();
  uint64_t answered = 0;
  for (int i = 0; i < 100'000; ++i) {
    driver::Entry entry = Operation(Opcode::NOP, true, static_cast<uint32_t>(i % 64));
    queue.Submit(entry);
    if (i % 512 != 511) continue;
    queue.RingDoorbell();
    while (auto response = queue.Poll()) ASSERT_EQ(response->sequence, ++answered);
  }
  while (answered < 100'000) ASSERT_EQ(queue.Wait().sequence, ++answered);
}

TEST_F(Rung3Queue, ResponsesOfOneFunctionThatNobodyTakesDoNotHoldUpAnother) {
  EnableVfs();
  EnableBars(1);
  EnableBars(2);
  RawQueue greedy(card(), 1, 64, 2);
  for (int i = 0; i < 64; ++i) greedy.Put(greedy.Make<Message>(Opcode::NOP));
  greedy.Ring();
  card().Advance(200'000'000);
  EXPECT_EQ(greedy.registers().ReadRqTail(), 2u) << "its response ring is full";
  RawQueue other(card(), 2);
  other.Put(other.Make<Message>(Opcode::NOP));
  other.Ring();
  EXPECT_EQ(other.Settle(), (std::map<uint64_t, Status>{{1, Status::OK}}));
}

TEST_F(Rung3Queue, WaitingOperationsOfOneFunctionDoNotHoldUpAnother) {
  EnableVfs();
  EnableBars(1);
  EnableBars(2);
  RawQueue greedy(card(), 1, 128);
  for (uint32_t i = 0; i < 128; ++i) {
    Message wait = greedy.Make<Message>(Opcode::EVENT_WAIT, i);
    wait.value = EventValue(1, 1);
    greedy.Put(wait);
  }
  greedy.Ring();
  card().Advance(200'000'000);
  RawQueue other(card(), 2);
  other.Put(other.Make<Message>(Opcode::NOP));
  other.Ring();
  EXPECT_EQ(other.Settle(), (std::map<uint64_t, Status>{{1, Status::OK}}));
}

TEST_F(Rung3Queue, AConsumerThatClaimsResponsesItNeverGotStopsItsQueue) {
  EnableBars(0);
  RawQueue queue(card(), 0);
  queue.registers().WriteRqHead(1000);
  queue.Put(queue.Make<ControlBlock>(Opcode::NOP));
  queue.Ring();
  queue.Settle();
  EXPECT_EQ(queue.registers().ReadErrorCode(), static_cast<uint32_t>(Status::BAD_FIELD));
}

TEST_F(Rung3Queue, ADeviceCanBeClosedAndOpenedAgain) {
  for (int life = 0; life < 3; ++life) {
    driver::Device device(card(), 0);
    RunNops(device, 5);
  }
}

TEST_F(Rung3Queue, AfterAResetTheQueueStartsFromItsFirstEntry) {
  driver::Device& device = Physical();
  RunNops(device, 3);
  device.Reset();
  EXPECT_EQ(device.registers().ReadSqHead(), 0u);
  RunNops(device, 3);
}

}  // namespace

void LinkQueueRung() {}

}  // namespace spyre::bringup
