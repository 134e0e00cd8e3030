// SPDX-License-Identifier: Apache-2.0
// A million random messages, requests and resets on the firmware as host code, one at a time, and
// bursts of them.
#include <gtest/gtest.h>

#include "tests/fuzz/firmware/traffic.h"
#include "tests/unit/firmware/fake_bus.h"
#include "tests/unit/firmware/translated.h"

namespace spyre::firmware {
namespace {

constexpr uint64_t kMessages = 500'000;  // in each of two tests

bool Inside(const Range& range, uint64_t address, uint64_t bytes) {
  return address >= range.base && address - range.base <= range.length &&
         bytes <= range.length - (address - range.base);
}

// Whatever the firmware thinks: may this block of `vf` be run?
bool Harmless(const FakeCard& card, uint32_t vf, const ControlBlock& block) {
  const auto reaches_only_its_own = [&](uint64_t address, uint64_t bytes) {
    for (uint32_t i = 0; i < kFunctionRegions; ++i) {
      if (Inside(card.region(vf, i), address, bytes)) return true;
    }
    return false;
  };
  if (Check(block) != Status::OK || block.function != vf || block.segment_table != 0) return false;
  switch (static_cast<Opcode>(block.opcode)) {
    case Opcode::DMA_IN:
    case Opcode::DMA_OUT:
    case Opcode::DMA_FILL:
      return reaches_only_its_own(block.device_address, block.size_bytes);
    case Opcode::COMPUTE:
      return reaches_only_its_own(block.program_base, block.program_bytes);
    default:
      return block.device_address == 0 && block.program_base == 0;
  }
}

bool OverlapsAnother(const FakeCard& card, uint32_t vfs, uint32_t vf, uint32_t index) {
  const Range& range = card.region(vf, index);
  for (uint32_t other = 1; other <= vfs; ++other) {
    for (uint32_t i = 0; i < kFunctionRegions; ++i) {
      const Range& region = card.region(other, i);
      if ((other != vf || i != index) && range.base < region.base + region.length &&
          region.base < range.base + range.length)
        return true;
    }
  }
  return false;
}

void Note(const Request& request, std::array<Limits, kMaxFunctions>* limits) {
  Limits& of_function = (*limits)[request.vf];
  if (request.command == AdminCommand::DISABLE) of_function.disabled = true;
  if (request.command == AdminCommand::ENABLE) of_function.disabled = false;
  if (request.command == AdminCommand::SET_TRANSFER_QUOTA)
    of_function.transfer_quota = request.range.length;
}

class FirmwareFuzz : public ::testing::TestWithParam<uint32_t> {};

TEST_P(FirmwareFuzz, NothingReachesBeyondTheSendersRegionsAndAllIsAnsweredOnce) {
  const Card card{GetParam(), 32, 127 * kGiB};
  FakeBus bus(card);
  Traffic traffic(169 + GetParam(), card);
  std::array<Limits, kMaxFunctions> limits{};
  uint64_t accepted = 0, refused = 0, granted = 0;
  for (uint64_t i = 0; accepted + refused < kMessages; ++i) {
    const Event event = traffic.Next();
    const uint64_t answers = bus.answers();
    const uint64_t commands = bus.protection_commands();
    if (event.kind == Event::kMessage) {
      const MessageAnswer answer = bus.Send(event.function, event.message);
      ASSERT_TRUE(
          Same(answer, Translated(bus, event.function, event.message, limits[event.function])))
          << "event " << i;
      ASSERT_TRUE(!answer.has_block || Harmless(bus, event.function, answer.block)) << i;
      ASSERT_EQ(answer.has_block, answer.status == Status::OK) << "event " << i;
      ++(answer.has_block ? accepted : refused);
    } else if (event.kind == Event::kRequest) {
      const AdminStatus status = bus.Ask(event.request);
      if (status == AdminStatus::DONE) {
        ++granted;
        ASSERT_LE(event.request.vf, card.vfs);
        Note(event.request, &limits);
        if (event.request.region < kFunctionRegions) {
          ASSERT_FALSE(OverlapsAnother(bus, card.vfs, event.request.vf, event.request.region)) << i;
        }
      } else {
        ASSERT_EQ(bus.protection_commands(), commands) << "event " << i;
      }
    } else if (event.kind == Event::kLetter) {
      bus.PostLetter(event.letter[0], event.letter[1], event.letter[2]);
      bus.Service();
    } else {
      bus.Reset(event.function);
      if (event.function == 0) limits = {};
    }
    ASSERT_EQ(bus.answers(), answers + 1) << "event " << i;
    ASSERT_EQ(bus.pending(), 0u) << "event " << i;
    ASSERT_EQ(bus.violations(), 0u) << "event " << i;
    const bool of_pf = event.kind == Event::kReset && event.function == 0;
    if (event.kind != Event::kRequest && !of_pf) {
      ASSERT_EQ(bus.protection_commands(), commands) << "event " << i;
    }
  }
  EXPECT_EQ(bus.CounterOf(Counter::MESSAGES), accepted + refused);
  EXPECT_EQ(bus.CounterOf(Counter::REFUSED), refused);
  // The traffic is worth its time.
  EXPECT_GT(accepted, kMessages / 4);
  EXPECT_GT(refused, kMessages / 4);
  EXPECT_GT(granted, kMessages / 100);
}

TEST(FirmwareBursts, AreAnsweredOnceEachAndTheMessageKnowsWhatThePfHasJustChanged) {
  const Card card;
  FakeBus bus(card);
  Traffic traffic(171, card);
  std::array<Limits, kMaxFunctions> limits{};
  for (int burst = 0; burst < 50'000; ++burst) {
    const uint64_t answers = bus.answers();
    Event events[4];  // the last one of each kind
    bool has[4] = {};
    for (int i = 0; i < 8; ++i) {
      const Event event = traffic.Next();
      events[event.kind] = event;
      has[event.kind] = true;
    }
    const Event& message = events[Event::kMessage];
    if (has[Event::kMessage]) bus.Post(message.function, message.message);
    if (has[Event::kRequest]) bus.Post(events[Event::kRequest].request);
    if (has[Event::kReset]) bus.PostReset(events[Event::kReset].function);
    if (has[Event::kLetter]) bus.PostLetter(events[Event::kLetter].letter[0]);
    bus.Service();
    ASSERT_EQ(bus.answers(), answers + has[0] + has[1] + has[2] + has[3]) << "burst " << burst;
    ASSERT_EQ(bus.pending(), 0u);
    ASSERT_EQ(bus.violations(), 0u);
    // Resets come first.
    if (has[Event::kReset] && events[Event::kReset].function == 0) limits = {};
    const Request& request = events[Event::kRequest].request;
    if (has[Event::kRequest] && bus.Register(regs::MC_REQUEST_DONE) == 0) Note(request, &limits);
    if (has[Event::kMessage]) {
      ASSERT_TRUE(Same(bus.Answer(), Translated(bus, message.function, message.message,
                                                limits[message.function])))
          << "burst " << burst;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(VirtualFunctions, FirmwareFuzz, ::testing::Values(2, 16));

}  // namespace
}  // namespace spyre::firmware
