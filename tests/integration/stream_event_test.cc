// SPDX-License-Identifier: Apache-2.0
// Events between streams on the simulated card: the right data, no host in between, failures that
// are passed on, and deadlocks that are named.
#include <gmock/gmock.h>

#include <tuple>

#include "tests/card_choices.h"
#include "tests/integration/card_fixture.h"

namespace spyre::test::stream_event_test {
namespace {

using ::testing::HasSubstr;

// Virtual functions, card.concurrency, card.control.fidelity.
using Card = std::tuple<unsigned, const char*, const char*>;

class StreamEvents : public CardFixture, public ::testing::WithParamInterface<Card> {
 protected:
  StreamEvents() {
    config_.concurrency = test::Named(std::get<1>(GetParam()));
    config_.control.fidelity = test::Named(std::get<2>(GetParam()));
  }
  void OpenCard(const flex::RuntimeOptions& options = {}) {
    Open(std::get<0>(GetParam()), options);
  }
  flex::CompletedOperation Done(uint32_t stream, Opcode opcode) {
    for (const flex::CompletedOperation& operation : context_->CompletedOperations()) {
      if (operation.stream == stream && operation.opcode == opcode) return operation;
    }
    ADD_FAILURE() << "stream " << stream << " has completed no " << static_cast<int>(opcode);
    return {};
  }
};

std::string CardName(const ::testing::TestParamInfo<Card>& card) {
  const auto [vfs, concurrency, fidelity] = card.param;
  return std::string(vfs > 0 ? "VF_" : "PF_") + concurrency + "_" + fidelity;
}
INSTANTIATE_TEST_SUITE_P(Cards, StreamEvents,
                         ::testing::Combine(::testing::Values(0u, 1u),
                                            ::testing::Values("serial", "pipelined"),
                                            ::testing::Values("timed", "rtl")),
                         CardName);

// Stream 1 writes, stream 2 reads the same memory: on pipelined hardware the engines are different
// ones, so only the event keeps the read behind the write.
TEST_P(StreamEvents, TheReaderGetsTheDataWithoutTheHostInBetween) {
  OpenCard();
  constexpr size_t kBytes = 256 << 10;
  std::vector<uint8_t> data(kBytes);
  for (size_t i = 0; i < kBytes; ++i) data[i] = static_cast<uint8_t>(i * 31 >> 3);
  std::vector<uint8_t> result(kBytes);
  const flex::DeviceHandle memory = context_->Allocate(kBytes);
  const flex::Event written(*context_, "written");
  const flex::Event read(*context_, "read");
  {
    const flex::RuntimeContext::Batch together(*context_);
    context_->Stream(1).CopyToDevice(data.data(), memory, kBytes);
    context_->Stream(1).Record(written);
    context_->Stream(2).Wait(written);
    context_->Stream(2).CopyFromDevice(result.data(), memory, kBytes);
    context_->Stream(2).Record(read);
  }
  read.Synchronize();
  EXPECT_EQ(result, data);
  const flex::CompletedOperation signal = Done(1, Opcode::EVENT_SIGNAL);
  const flex::CompletedOperation wait = Done(2, Opcode::EVENT_WAIT);
  const flex::CompletedOperation copy = Done(2, Opcode::DMA_OUT);
  EXPECT_EQ(written.TimePs(), signal.finished_ps);
  EXPECT_GE(wait.finished_ps, signal.finished_ps);
  EXPECT_GE(copy.started_ps, wait.finished_ps);
  EXPECT_LT(copy.fetched_ps, signal.finished_ps) << "the card had the read before the event";
  const double handover_ns = static_cast<double>(copy.started_ps - signal.finished_ps) / 1000;
  EXPECT_LT(handover_ns, config_.control.dispatch_ns + 100) << "a host would take a microsecond";
  EXPECT_EQ(flex::ElapsedPs(written, read),
            static_cast<int64_t>(Done(2, Opcode::EVENT_SIGNAL).finished_ps - signal.finished_ps));
}

TEST_P(StreamEvents, AFailedCopyFailsWhoWaitsForItOnTheCard) {
  flex::RuntimeOptions options;
  options.bounds_check = false;
  OpenCard(options);
  std::vector<uint8_t> data(256);
  const flex::DeviceHandle memory = context_->Allocate(128);
  const flex::DeviceHandle nowhere = flex::Offset(memory, 15ll << 30);
  flex::Event loaded(*context_, "loaded");
  {
    const flex::RuntimeContext::Batch together(*context_);
    context_->Stream(1).CopyToDevice(data.data(), nowhere, data.size());
    context_->Stream(1).Record(loaded);
    context_->Stream(2).Wait(loaded);
    context_->Stream(2).Fill(memory, 128, 1);
    context_->Stream(3).Fill(memory, 128, 2);
  }
  const std::string first = FailureOf([&] { context_->Stream(1).Synchronize(); });
  const std::string second = FailureOf([&] { context_->Stream(2).Synchronize(); });
  EXPECT_THAT(first, HasSubstr("PAGE_FAULT"));
  EXPECT_THAT(second, HasSubstr("stream 2: EVENT_WAIT 'loaded' failed"));
  EXPECT_THAT(second, HasSubstr(first)) << "the cause";
  EXPECT_EQ(Done(2, Opcode::EVENT_WAIT).status, Status::EVENT_FAILED) << "found by the card";
  EXPECT_FALSE(Done(2, Opcode::DMA_FILL).executed);
  EXPECT_EQ(FailureOf([&] { context_->Stream(3).Synchronize(); }), "no error");
  EXPECT_THAT(FailureOf([&] { loaded.Synchronize(); }), HasSubstr(first));
}

TEST_P(StreamEvents, ADeadlockIsNamedAndOverWhenTheEventIsRecorded) {
  OpenCard();
  const flex::DeviceHandle memory = context_->Allocate(128);
  const flex::Event event(*context_, "weights");
  context_->Stream(2).Wait(event);
  context_->Stream(2).Fill(memory, 128, 7);
  context_->Stream(40).Fill(memory, 128, 5);
  EXPECT_THAT(FailureOf([&] { context_->Synchronize(); }),
              HasSubstr("stream 2 waits for event 'weights', which no stream has recorded"));
  context_->Stream(40).Record(event);
  EXPECT_EQ(FailureOf([&] { context_->Synchronize(); }), "no error");
  EXPECT_EQ(Download<uint64_t>(memory, 16)[15], 7u) << "stream 2 came last";
}

// More waits and records than a function can have in the card at once.
TEST_P(StreamEvents, LongChainsOverManyStreamsKeepTheirOrder) {
  OpenCard();
  constexpr uint32_t kStreams = 12;
  constexpr uint32_t kRounds = 16;
  const flex::DeviceHandle memory = context_->Allocate(128);
  std::vector<flex::Event> events;
  for (uint32_t i = 0; i < kStreams * kRounds; ++i) events.emplace_back(*context_);
  // Stream by stream: almost every wait is enqueued long before its record.
  for (uint32_t first = 0; first < kStreams; ++first) {
    flex::FlexStream& stream = context_->Stream(1 + first);
    for (uint32_t i = first; i < kStreams * kRounds; i += kStreams) {
      if (i > 0) stream.Wait(events[i - 1]);
      stream.Fill(memory, 128, i);
      stream.Record(events[i]);
    }
  }
  context_->Synchronize();
  EXPECT_EQ(Download<uint64_t>(memory, 16)[0], kStreams * kRounds - 1);
  for (uint32_t i = 1; i < events.size(); ++i) {
    EXPECT_GT(flex::ElapsedPs(events[i - 1], events[i]), 0) << "event " << i;
  }
}

}  // namespace
}  // namespace spyre::test::stream_event_test
