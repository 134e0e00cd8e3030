// SPDX-License-Identifier: Apache-2.0
// Boot, self-test, service order, watchdog, heartbeat.
#include "tests/unit/firmware/fake_bus.h"

namespace spyre::firmware::boot_test {
namespace {

TEST(FirmwareBoot, IsReadyAndTellsVersionAndCapabilities) {
  FakeBus bus;
  EXPECT_EQ(bus.state(), FirmwareState::READY);
  EXPECT_EQ(bus.Register(regs::MC_VERSION), 0x00010000u);
  EXPECT_EQ(bus.Register(regs::MC_CAPABILITIES),
            regs::MGMT_CAPABILITIES_REGIONS_MASK | regs::MGMT_CAPABILITIES_QUOTAS_MASK |
                regs::MGMT_CAPABILITIES_RAS_MASK | regs::MGMT_CAPABILITIES_TELEMETRY_MASK |
                regs::MGMT_CAPABILITIES_RAS_TIMES_MASK);
  EXPECT_EQ(bus.violations(), 0u);
}

TEST(FirmwareBoot, SaysWhatItFound) {
  FakeBus bus;
  EXPECT_EQ(bus.log(), "boot: version 1.0, 2 VFs, 32 cores, 130048 MiB\nself-test: ok\n");
}

TEST(FirmwareBoot, GivesEveryVirtualFunctionAllCoresAndNoRegion) {
  for (const uint32_t cores : {1u, 31u, 32u}) {
    FakeBus bus({16, cores, kGiB});
    for (uint32_t vf = 1; vf <= 16; ++vf) {
      EXPECT_EQ(bus.cores(vf), ~0u >> (32 - cores)) << cores << " cores, VF " << vf;
      for (uint32_t region = 0; region < kFunctionRegions; ++region)
        EXPECT_EQ(bus.region(vf, region), Range{});
    }
    EXPECT_EQ(bus.cores(0), 0u) << "the PF's mask is not the firmware's to set";
  }
}

TEST(FirmwareBoot, TakesBackWhatWasAssignedBefore) {
  FakeBus bus;
  ASSERT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 3, {0, kGiB}), AdminStatus::DONE);
  bus.Boot();
  EXPECT_EQ(bus.region(2, 3), Range{});
}

TEST(FirmwareBoot, FactsThatMakeNoSenseFailTheSelfTest) {
  const Card cards[] = {{17, 32, kGiB},     {~0u, 32, kGiB}, {2, 0, kGiB},    {2, 33, kGiB},
                        {2, 32, kGiB + 64}, {2, 32, 0},      {2, 32, ~127ull}};
  for (const Card& card : cards) {
    FakeBus bus(card);
    EXPECT_EQ(bus.state(), FirmwareState::FAILED) << card.vfs << " VFs, " << card.cores << " cores";
    EXPECT_NE(bus.log().find("self-test: facts of the card failed, found "), std::string::npos)
        << bus.log();
  }
}

TEST(FirmwareBoot, AfterAFailedSelfTestAllIsAnsweredAndNothingGranted) {
  FakeBus bus({2, 0, kGiB});
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {0, 128}), AdminStatus::NO_SUCH_REGION);
  EXPECT_EQ(bus.Send(1, Message{}).status, Status::PERMISSION);
  bus.Reset(1);
  EXPECT_EQ(bus.answers(), 3u);
  const Letter record = bus.Mail(MailboxCommand::GET_RAS, 0);
  EXPECT_EQ(record.status, MailboxStatus::DONE);
  EXPECT_EQ(record.results[0], static_cast<uint32_t>(RasCode::SELF_TEST_FAILED) << 16 |
                                   static_cast<uint32_t>(RasSeverity::FATAL) << 8 |
                                   static_cast<uint32_t>(RasAction::RESET_CARD));
}

TEST(FirmwareBoot, ACardWithoutVirtualFunctionsIsFine) {
  FakeBus bus({0, 32, kGiB});
  EXPECT_EQ(bus.state(), FirmwareState::READY);
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {0, 128}), AdminStatus::NO_SUCH_REGION);
}

TEST(FirmwareService, ResetsComeFirstThenThePfThenErrorsThenMessages) {
  FakeBus bus;
  bus.Post(1, Message{});
  bus.PostError(RasCode::LX_PARITY, RasSeverity::NON_FATAL, 1, 0, 0);
  bus.PostLetter(0);
  bus.Post(Request{AdminCommand::RELEASE, 1, 0, {}});
  bus.PostReset(1);
  bus.Service();
  EXPECT_EQ(bus.order(),
            (std::vector<uint32_t>{regs::MC_PENDING_RESET_MASK, regs::MC_PENDING_ADMIN_MASK,
                                   regs::MC_PENDING_MAILBOX_MASK, regs::MC_PENDING_ERROR_MASK,
                                   regs::MC_PENDING_MESSAGE_MASK}));
}

TEST(FirmwareService, HeartbeatCountsRequests) {
  FakeBus bus;
  EXPECT_EQ(bus.Register(regs::MC_HEARTBEAT), 0u);
  bus.Reset(1);
  bus.Mail(MailboxCommand::PING);
  EXPECT_EQ(bus.Register(regs::MC_HEARTBEAT), 2u);
  bus.Service();
  EXPECT_EQ(bus.Register(regs::MC_HEARTBEAT), 2u);
}

TEST(FirmwareWatchdog, RunsDuringBootAndServiceAndSleepsWithTheController) {
  FakeBus bus;
  ASSERT_GE(bus.watchdog().size(), 2u);
  EXPECT_GT(bus.watchdog().front(), 0u);
  EXPECT_EQ(bus.watchdog().back(), 0u);
  const size_t before = bus.watchdog().size();
  bus.Mail(MailboxCommand::PING);
  ASSERT_EQ(bus.watchdog().size(), before + 2);
  EXPECT_GT(bus.watchdog()[before], 0u);
  EXPECT_EQ(bus.watchdog().back(), 0u);
}

TEST(FirmwareReset, KeepsRegionsCountsAndRecords) {
  FakeBus bus;
  ASSERT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {kGiB, kGiB}), AdminStatus::DONE);
  bus.Reset(1);
  EXPECT_EQ(bus.region(1, 0), (Range{kGiB, kGiB}));
  EXPECT_EQ(bus.CounterOf(Counter::RESETS), 1u);
  EXPECT_EQ(bus.CounterOf(Counter::RESETS, 1), 1u);
  EXPECT_EQ(bus.CounterOf(Counter::RESETS, 2), 0u);
  const Letter record = bus.Mail(MailboxCommand::GET_RAS, 0);
  EXPECT_EQ(record.results[0] >> 16, static_cast<uint32_t>(RasCode::FUNCTION_RESET));
  EXPECT_EQ(record.results[0] & 0xFF, static_cast<uint32_t>(RasAction::RESET_FUNCTION));
  EXPECT_EQ(record.results[1], 1u);
}

TEST(FirmwareReset, OfThePfTakesBackWhatVirtualFunctionsHave) {
  FakeBus bus;
  ASSERT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {kGiB, kGiB}), AdminStatus::DONE);
  ASSERT_EQ(bus.Ask(AdminCommand::SET_REGION_QUOTA, 2, 0, {0, 4096}), AdminStatus::DONE);
  ASSERT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 0, {2 * kGiB, kGiB}), AdminStatus::QUOTA);
  bus.Reset(0);
  EXPECT_EQ(bus.region(1, 0), Range{});
  EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 2, 0, {kGiB, kGiB}), AdminStatus::DONE);
  EXPECT_EQ(bus.CounterOf(Counter::RESETS, 0), 1u);
}

}  // namespace
}  // namespace spyre::firmware::boot_test
