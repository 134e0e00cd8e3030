// SPDX-License-Identifier: Apache-2.0
// The order in which the fake card runs what it is given: as the card does, for tests of the
// runtime's streams and events.
#include "tests/unit/driver/fake_card.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "driver/device.h"

namespace spyre::test::fake_card_test {
namespace {

using Answer = std::pair<uint64_t, Status>;  // of a sequence number
using Answers = std::vector<Answer>;

class FakeCardOrder : public ::testing::Test {
 protected:
  void Put(Opcode opcode, uint32_t stream, uint64_t value = 0, uint16_t flags = 0) {
    ControlBlock block;
    block.opcode = static_cast<uint8_t>(opcode);
    block.stream = stream;
    block.value = value;
    block.flags = flags;
    block.size_bytes = opcode == Opcode::DMA_FILL ? kStickBytes : 0;  // nothing is mapped: fails
    driver::Entry entry = block;
    device_.queue().Submit(entry);
  }
  Answers Run() {
    device_.queue().RingDoorbell();
    card_.Advance(1'000'000'000);
    Answers answers;
    while (std::optional<Response> response = device_.queue().Poll())
      answers.emplace_back(response->sequence, static_cast<Status>(response->status));
    return answers;
  }

  FakeCard card_;
  driver::Device device_{card_, 0};
};

TEST_F(FakeCardOrder, AWaitHoldsItsStreamUntilTheSlotHasTheCounterAndOthersPass) {
  Put(Opcode::EVENT_WAIT, 1, EventValue(7, 2));
  Put(Opcode::NOP, 1);
  Put(Opcode::EVENT_SIGNAL, 2, EventValue(7, 1));
  Put(Opcode::NOP, 2);
  EXPECT_EQ(Run(), (Answers{{3, Status::OK}, {4, Status::OK}}));
  Put(Opcode::EVENT_SIGNAL, 3, EventValue(7, 3));
  EXPECT_EQ(Run(), (Answers{{5, Status::OK}, {1, Status::OK}, {2, Status::OK}}));
}

TEST_F(FakeCardOrder, AnAbortedSignalFailsTheWaitsForWhatWasNotReached) {
  Put(Opcode::EVENT_SIGNAL, 1, EventValue(7, 1));
  Put(Opcode::DMA_FILL, 1);
  Put(Opcode::EVENT_WAIT, 2, EventValue(7, 2));
  Put(Opcode::EVENT_SIGNAL, 1, EventValue(7, 2));
  Put(Opcode::EVENT_WAIT, 3, EventValue(7, 1));
  Put(Opcode::EVENT_WAIT, 4, EventValue(7, 2));
  EXPECT_EQ(Run(), (Answers{{1, Status::OK},
                            {2, Status::PAGE_FAULT},
                            {4, Status::ABORTED},
                            {3, Status::EVENT_FAILED},
                            {5, Status::OK},
                            {6, Status::EVENT_FAILED}}));
}

TEST_F(FakeCardOrder, ABarrierBehindAHeldOperationHoldsWhatFollows) {
  Put(Opcode::EVENT_WAIT, 1, EventValue(7, 1));
  Put(Opcode::NOP, 2, 0, kFlagBarrier);
  Put(Opcode::EVENT_SIGNAL, 3, EventValue(7, 1));
  EXPECT_EQ(Run(), Answers{});
}

}  // namespace
}  // namespace spyre::test::fake_card_test
