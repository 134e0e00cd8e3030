// SPDX-License-Identifier: Apache-2.0
#include "driver/queue_pair.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "driver/device.h"
#include "model/contract/control_block.h"
#include "tests/unit/driver/fake_card.h"

namespace spyre::driver::queue_pair_test {
namespace {

using test::FakeCard;

Entry Nop(uint64_t correlation = 0) {
  ControlBlock block;
  block.opcode = static_cast<uint8_t>(Opcode::NOP);
  block.correlation = correlation;
  return block;
}

DeviceOptions SmallRings(uint32_t submission, uint32_t response, bool interrupts = true) {
  DeviceOptions options;
  options.submission_entries = submission;
  options.response_entries = response;
  options.interrupts = interrupts;
  return options;
}

std::string FaultOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no fault";
  return {};
}

class QueueModes : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Completion, QueueModes, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "interrupts" : "polled"; });

TEST_P(QueueModes, RingsWrapManyTimesInOrder) {
  FakeCard card;
  Device device(card, 0, SmallRings(4, 2, GetParam()));
  for (uint64_t i = 1; i <= 100; ++i) {
    Entry entry = Nop(1000 + i);
    device.queue().Submit(entry);
    if (i % 3 != 0) continue;
    device.queue().RingDoorbell();
    for (uint64_t due = i - 2; due <= i; ++due) {
      const Response response = device.queue().Wait();
      EXPECT_EQ(response.sequence, due);
      EXPECT_EQ(response.correlation, 1000 + due);
    }
  }
  EXPECT_EQ(device.queue().outstanding(), 1u);
}

TEST_P(QueueModes, SubmitWaitsForRoomAndLosesNoResponse) {
  FakeCard card;
  Device device(card, 0, SmallRings(2, 2, GetParam()));
  for (int i = 0; i < 20; ++i) {
    Entry entry = Nop();
    device.queue().Submit(entry);
  }
  for (uint64_t i = 1; i <= 20; ++i) EXPECT_EQ(device.queue().Wait().sequence, i);
  EXPECT_EQ(device.queue().outstanding(), 0u);
}

TEST(QueuePair, FullRingRefusesWithoutWaiting) {
  FakeCard card;
  card.op_ps = 1'000'000'000;
  Device device(card, 0, SmallRings(4, 4));
  Entry entry = Nop();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(device.queue().TrySubmit(entry));
  EXPECT_FALSE(device.queue().TrySubmit(entry));
  EXPECT_EQ(device.queue().statistics().full, 1u);
  device.queue().Wait();
  EXPECT_TRUE(device.queue().TrySubmit(entry)) << "one response, one place";
}

TEST(QueuePair, OneDoorbellForABatch) {
  FakeCard card;
  Device device(card, 0);
  const int before = card.accesses[{regs::SQ_TAIL, true}];
  Entry entry = Nop();
  for (int i = 0; i < 10; ++i) device.queue().TrySubmit(entry);
  device.queue().RingDoorbell();
  device.queue().RingDoorbell();
  const int doorbells = card.accesses[{regs::SQ_TAIL, true}] - before;
  EXPECT_EQ(doorbells, 1);
}

TEST(QueuePair, ResponseHeadIsWrittenBackInBatches) {
  FakeCard card;
  Device device(card, 0, SmallRings(8, 8));
  const int before = card.accesses[{regs::RQ_HEAD, true}];
  for (int i = 0; i < 16; ++i) {
    Entry entry = Nop();
    device.queue().Submit(entry);
    device.queue().Wait();
  }
  const int doorbells = card.accesses[{regs::RQ_HEAD, true}] - before;
  EXPECT_EQ(doorbells, 4) << "one for each half of the ring";
}

TEST(QueuePair, WorkingQueueReadsNoRegisters) {
  FakeCard card;
  Device device(card, 0);
  card.accesses.clear();
  for (int i = 0; i < 50; ++i) {
    Entry entry = Nop();
    device.queue().Submit(entry);
    device.queue().Wait();
  }
  for (const auto& [access, count] : card.accesses) {
    EXPECT_TRUE(access.second) << "read of register 0x" << std::hex << access.first;
  }
}

TEST(QueuePair, CorruptResponseIsAFault) {
  FakeCard card;
  card.corrupt = {2};
  Device device(card, 0);
  for (int i = 0; i < 2; ++i) {
    Entry entry = Nop();
    device.queue().Submit(entry);
  }
  device.queue().Wait();
  const std::string fault = FaultOf([&] { device.queue().Wait(); });
  EXPECT_NE(fault.find("BAD_CRC"), std::string::npos) << fault;
  EXPECT_NE(fault.find("slot 1"), std::string::npos) << fault;
}

TEST(QueuePair, RepeatedSequenceIsAFault) {
  FakeCard card;
  card.repeat_previous = {2};
  Device device(card, 0);
  for (int i = 0; i < 2; ++i) {
    Entry entry = Nop();
    device.queue().Submit(entry);
  }
  device.queue().Wait();
  const std::string fault = FaultOf([&] { device.queue().Wait(); });
  EXPECT_NE(fault.find("sequence 1"), std::string::npos) << fault;
}

TEST(QueuePair, SerialCardMustAnswerInOrder) {
  FakeCard card;
  card.hold_until_next = 1;
  Device device(card, 0);
  for (int i = 0; i < 2; ++i) {
    Entry entry = Nop();
    device.queue().Submit(entry);
  }
  const std::string fault = FaultOf([&] { device.queue().Wait(); });
  EXPECT_NE(fault.find("in order"), std::string::npos) << fault;
}

TEST(QueuePair, PipelinedCardMayAnswerOutOfOrder) {
  FakeCard card;
  card.pipelined = true;
  card.hold_until_next = 1;
  Device device(card, 0);
  for (int i = 0; i < 2; ++i) {
    Entry entry = Nop();
    device.queue().Submit(entry);
  }
  EXPECT_EQ(device.queue().Wait().sequence, 2u);
  EXPECT_EQ(device.queue().outstanding(), 2u) << "the window starts at the oldest";
  EXPECT_EQ(device.queue().Wait().sequence, 1u);
  EXPECT_EQ(device.queue().outstanding(), 0u);
}

TEST(QueuePair, LostInterruptDoesNotLoseTheResponse) {
  FakeCard card;
  card.lose_interrupts = true;
  Device device(card, 0);
  Entry entry = Nop();
  device.queue().Submit(entry);
  EXPECT_EQ(device.queue().Wait().sequence, 1u);
  EXPECT_EQ(device.queue().statistics().missed_interrupts, 1u);
}

TEST(QueuePair, ALostInterruptCostsOneLookAtTheRing) {
  FakeCard card;
  card.lose_interrupts = true;
  card.op_ps = 100'000;
  Device device(card, 0);
  Entry entry = Nop();
  for (int i = 1; i <= 3; ++i) {
    device.queue().Submit(entry);
    device.queue().RingDoorbell();
    Entry other = Nop();
    device.queue().Submit(other);
    const uint64_t start = card.NowPs();
    device.queue().Wait();
    device.queue().Wait();
    EXPECT_LE(card.NowPs() - start, 2'000'000'000u) << "ps: two milliseconds, not ten seconds";
  }
}

// Other interrupts of the function fire all the time, and the card answers nothing.
class StormyCard : public FakeCard {
 public:
  WaitResult WaitInterrupt(FunctionId, int, uint64_t deadline_ps) override {
    const uint64_t now = NowPs();
    if (now >= deadline_ps) return WaitResult::kDeadline;
    Advance(std::min<uint64_t>(deadline_ps - now, 1'000'000));
    return WaitResult::kInterrupt;
  }
};

TEST(QueuePair, SpuriousInterruptsDoNotProlongTheDeadline) {
  StormyCard card;
  card.lose = {1};
  DeviceOptions options;
  options.timeout_ns = 10e6;
  Device device(card, 0, options);
  Entry entry = Nop();
  device.queue().Submit(entry);
  const uint64_t start = card.NowPs();
  EXPECT_NE(FaultOf([&] { device.queue().Wait(); }).find("10.000 ms"), std::string::npos);
  const double waited_ms = static_cast<double>(card.NowPs() - start) / 1e9;
  EXPECT_GE(waited_ms, 10.0);
  EXPECT_LT(waited_ms, 10.1);
}

TEST(QueuePair, SilentCardIsAFaultWithTheDiagnosis) {
  FakeCard card;
  card.lose = {1};
  Device device(card, 0);
  Entry entry = Nop();
  device.queue().Submit(entry);
  const std::string fault = FaultOf([&] { device.queue().Wait(); });
  EXPECT_NE(fault.find("nothing left to do"), std::string::npos) << fault;
  EXPECT_NE(fault.find("oldest has sequence 1"), std::string::npos) << fault;
  EXPECT_NE(fault.find("fake card"), std::string::npos) << fault;
}

TEST(QueuePair, PollingGivesUpAfterTheTimeout) {
  FakeCard card;
  card.lose = {1};
  DeviceOptions options = SmallRings(2, 2, false);
  options.timeout_ns = 1e6;
  Device device(card, 0, options);
  Entry entry = Nop();
  device.queue().Submit(entry);
  const uint64_t start = card.NowPs();
  const std::string fault = FaultOf([&] { device.queue().Wait(); });
  EXPECT_NE(fault.find("1.000 ms"), std::string::npos) << fault;
  const double waited_ms = static_cast<double>(card.NowPs() - start) / 1e9;
  EXPECT_GE(waited_ms, 1.0);
  EXPECT_LT(waited_ms, 1.01);
}

TEST(QueuePair, LateCardIsAFaultAtTheDeadline) {
  FakeCard card;
  card.op_ps = 2'000'000'000;
  DeviceOptions options;
  options.timeout_ns = 1e6;
  Device device(card, 0, options);
  Entry entry = Nop();
  device.queue().Submit(entry);
  EXPECT_NE(FaultOf([&] { device.queue().Wait(); }).find("1.000 ms"), std::string::npos);
}

TEST(QueuePair, LostCardIsNamed) {
  FakeCard card;
  Device device(card, 0);
  Entry entry = Nop();
  device.queue().Submit(entry);
  card.gone = true;
  const std::string fault = FaultOf([&] { device.queue().Wait(); });
  EXPECT_NE(fault.find("does not answer"), std::string::npos) << fault;
}

TEST(QueuePair, AFullRingIsFollowedByItsResponsesWithoutReadingTheCard) {
  FakeCard card;
  card.op_ps = 1'000'000'000;
  Device device(card, 0, SmallRings(4, 4));
  Entry entry = Nop();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(device.queue().TrySubmit(entry));
  for (int i = 0; i < 20; ++i) {
    const uint64_t start = card.NowPs();
    EXPECT_FALSE(device.queue().TrySubmit(entry));
    EXPECT_EQ(card.NowPs(), start) << "a refusal costs the host no simulated time";
    device.queue().Wait();
    EXPECT_TRUE(device.queue().TrySubmit(entry)) << "the response tells that there is room";
  }
  EXPECT_EQ((card.accesses[{regs::SQ_HEAD, false}]), 0);
}

TEST(QueuePair, TakesOnlyEntriesOfItsMode) {
  FakeCard card;
  Device device(card, 0);
  Entry message = Message{};
  EXPECT_THROW(device.queue().TrySubmit(message), Error);
}

TEST(QueuePair, HostWorkIsChargedInSimulatedTime) {
  FakeCard card;
  DeviceOptions options;
  options.costs.submit_ns = 150;
  options.costs.completion_ns = 100;
  Device device(card, 0, options);
  const uint64_t start = card.NowPs();
  Entry entry = Nop();
  device.queue().TrySubmit(entry);
  EXPECT_EQ(card.NowPs() - start, 150'000u) << "ps";
  device.queue().RingDoorbell();
  device.queue().Wait();
  EXPECT_EQ(card.NowPs() - start, 150'000u + card.op_ps + 100'000u) << "ps";
}

TEST(QueuePair, HostSlicesAreRecorded) {
  FakeCard card;
  trace::Recorder recorder;
  DeviceOptions options;
  options.recorder = &recorder;
  Device device(card, 0, options);
  Entry entry = Nop();
  device.queue().Submit(entry);
  device.queue().Wait();
  std::vector<std::string> names;
  for (const trace::Record& record : recorder.Records()) {
    EXPECT_EQ(record.category, trace::kHost);
    EXPECT_EQ(recorder.tracks()[record.track].process, "host");
    names.push_back(recorder.names()[record.name]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"submit", "doorbell", "wait for interrupt",
                                             "take response"}));
}

}  // namespace
}  // namespace spyre::driver::queue_pair_test
