// SPDX-License-Identifier: Apache-2.0
// Random traffic on the firmware's image on the RTL controller, beside the same firmware as host
// code: every answer and everything that the card's registers hold must be the same.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/fuzz/firmware/rtl_firmware.h"
#include "tests/fuzz/firmware/traffic.h"
#include "tests/unit/firmware/fake_bus.h"
#include "tests/unit/firmware/translated.h"

namespace spyre::firmware {
namespace {

constexpr int kMessages = 10'000;
constexpr uint64_t kClockMhz = 500;

TEST(FirmwareRtlFuzz, TheImageOnRtlAnswersAsTheHostBuild) {
  const Card card;
  FakeBus host(card);
  RtlFirmware rtl(card);
  ASSERT_FALSE(rtl.lost());
  EXPECT_EQ(rtl.log(), host.log());
  const uint64_t boot_cycles = rtl.cycles();
  uint64_t message_cycles = 0, longest = 0;
  Traffic traffic(170, card);
  for (int messages = 0; messages < kMessages;) {
    const Event event = traffic.Next();
    const uint64_t start = rtl.cycles();
    if (event.kind == Event::kMessage) {
      const MessageAnswer answer = rtl.Send(event.function, event.message);
      ASSERT_TRUE(Same(answer, host.Send(event.function, event.message))) << messages;
      message_cycles += rtl.cycles() - start;
      ++messages;
    } else if (event.kind == Event::kRequest) {
      ASSERT_EQ(rtl.Ask(event.request), host.Ask(event.request)) << messages;
    } else if (event.kind == Event::kLetter) {
      for (FakeCard* each : {static_cast<FakeCard*>(&rtl), static_cast<FakeCard*>(&host)}) {
        each->PostLetter(event.letter[0], event.letter[1], event.letter[2]);
        each->Service();
      }
      for (uint32_t i = 0; i < 4; ++i) {
        ASSERT_EQ(rtl.Register(regs::MC_LETTER_RESULT0 + 4 * i),
                  host.Register(regs::MC_LETTER_RESULT0 + 4 * i))
            << "letter " << event.letter[0];
      }
    } else {
      rtl.Reset(event.function);
      host.Reset(event.function);
    }
    longest = std::max(longest, rtl.cycles() - start);
    ASSERT_FALSE(rtl.lost()) << "after message " << messages;
    ASSERT_EQ(rtl.violations(), 0u);
    ASSERT_EQ(rtl.answers(), host.answers());
    ASSERT_EQ(rtl.pending(), 0u);
  }
  EXPECT_EQ(rtl.Register(regs::MC_HEARTBEAT), host.Register(regs::MC_HEARTBEAT));
  EXPECT_EQ(rtl.log(), host.log());
  for (uint32_t vf = 1; vf <= card.vfs; ++vf) {
    EXPECT_EQ(rtl.cores(vf), host.cores(vf));
    for (uint32_t i = 0; i < kFunctionRegions; ++i)
      EXPECT_EQ(rtl.region(vf, i), host.region(vf, i));
  }
  EXPECT_LT(rtl.StackUsed(), rtl.symbol("__stack_bytes"));
  // The watchdog is to bite hangs, not work.
  EXPECT_LT(longest / kClockMhz, 100u) << "microseconds of the longest request";
  std::printf(
      "boot %llu cycles, message %llu cycles, longest request %llu cycles, stack %u bytes\n",
      static_cast<unsigned long long>(boot_cycles),
      static_cast<unsigned long long>(message_cycles / kMessages),
      static_cast<unsigned long long>(longest), rtl.StackUsed());
}

TEST(FirmwareOnRtl, SleepsWithItsWatchdogOffAndTheInterruptOn) {
  RtlFirmware rtl(Card{});
  EXPECT_EQ(rtl.state(), FirmwareState::READY);
  EXPECT_EQ(rtl.watchdog().back(), 0u);
  EXPECT_EQ(rtl.Mail(MailboxCommand::PING, 1).results[0], ~1u);
  EXPECT_EQ(rtl.watchdog().back(), 0u);
}

TEST(FirmwareOnRtl, ATrapIsReportedWithPlaceValueAndCause) {
  constexpr uint32_t kNowhere = 0x40000000;
  constexpr uint32_t kInstructionAccessFault = 1;
  RtlFirmware rtl(Card{});
  rtl.JumpTo(kNowhere);
  EXPECT_EQ(rtl.Register(regs::MC_PANIC_PC), kNowhere);
  EXPECT_EQ(rtl.Register(regs::MC_PANIC_VALUE), kNowhere);
  EXPECT_EQ(rtl.Register(regs::MC_PANIC), kInstructionAccessFault);
  EXPECT_FALSE(rtl.lost()) << "it sleeps";
}

TEST(FirmwareOnRtl, FailsItsSelfTestOnACardThatMakesNoSense) {
  RtlFirmware rtl({2, 0, kGiB});
  EXPECT_EQ(rtl.state(), FirmwareState::FAILED);
  EXPECT_EQ(rtl.Send(1, Message{}).status, Status::PERMISSION);
}

}  // namespace
}  // namespace spyre::firmware
