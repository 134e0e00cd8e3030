// SPDX-License-Identifier: Apache-2.0
// Mailbox, telemetry counters, error log.
#include "tests/unit/firmware/fake_bus.h"

namespace spyre::firmware::mailbox_test {
namespace {

constexpr uint32_t kRecords = 64;

uint32_t What(RasCode code, RasSeverity severity, RasAction action) {
  return static_cast<uint32_t>(code) << 16 | static_cast<uint32_t>(severity) << 8 |
         static_cast<uint32_t>(action);
}

class FirmwareMailbox : public ::testing::Test {
 protected:
  ~FirmwareMailbox() override { EXPECT_EQ(bus.violations(), 0u); }

  static Message Copy(uint64_t bytes) {
    Message message;
    message.opcode = static_cast<uint8_t>(Opcode::DMA_OUT);
    message.size_bytes = bytes;
    Seal(message);
    return message;
  }
  uint32_t Held() { return bus.Mail(MailboxCommand::GET_RAS_COUNT).results[0]; }
  uint32_t SinceBoot() { return bus.Mail(MailboxCommand::GET_RAS_COUNT).results[1]; }

  FakeBus bus;
};

TEST_F(FirmwareMailbox, PingAnswersTheComplement) {
  const Letter letter = bus.Mail(MailboxCommand::PING, 0x12345678);
  EXPECT_EQ(letter.status, MailboxStatus::DONE);
  EXPECT_EQ(letter.results, (std::array<uint32_t, 4>{~0x12345678u, 0, 0, 0}));
}

TEST_F(FirmwareMailbox, VersionIsThatOfTheRegisters) {
  const Letter letter = bus.Mail(MailboxCommand::GET_VERSION);
  EXPECT_EQ(letter.results[0], bus.Register(regs::MC_VERSION));
  EXPECT_EQ(letter.results[1], bus.Register(regs::MC_CAPABILITIES));
  EXPECT_GT(letter.results[2], 0u);
}

TEST_F(FirmwareMailbox, CommandsThatDoNotExistAreRefusedWithNoResults) {
  bus.Mail(MailboxCommand::PING, 1);
  for (const uint32_t command : {10u, 255u, ~0u}) {
    const Letter letter = bus.Mail(static_cast<MailboxCommand>(command));
    EXPECT_EQ(letter.status, MailboxStatus::BAD_COMMAND);
    EXPECT_EQ(letter.results, (std::array<uint32_t, 4>{}));
  }
}

TEST_F(FirmwareMailbox, CountersFunctionsAndRecordsThatDoNotExistAreBadArguments) {
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_COUNTER, 5).status, MailboxStatus::BAD_ARGUMENT);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_COUNTER, ~0u).status, MailboxStatus::BAD_ARGUMENT);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_FUNCTION_COUNTER, 5, 1).status,
            MailboxStatus::BAD_ARGUMENT);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_FUNCTION_COUNTER, 0, 3).status,
            MailboxStatus::BAD_ARGUMENT);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, 0).status, MailboxStatus::BAD_ARGUMENT);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, ~0u).status, MailboxStatus::BAD_ARGUMENT);
}

TEST_F(FirmwareMailbox, SelfTestRunsAgainAndPasses) {
  EXPECT_EQ(bus.Mail(MailboxCommand::SELF_TEST).results[0], 0u);
  EXPECT_EQ(bus.state(), FirmwareState::READY);
}

TEST_F(FirmwareMailbox, CountersCountTheCardAndEachFunction) {
  ASSERT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {0, 8 * kGiB}), AdminStatus::DONE);
  bus.Ask(AdminCommand::RELEASE, 9);
  bus.Send(1, Copy(5 * kGiB));
  bus.Send(1, Copy(100));
  bus.Send(1, Copy(9 * kGiB));
  bus.Send(2, Copy(100));
  EXPECT_EQ(bus.CounterOf(Counter::MESSAGES), 4u);
  EXPECT_EQ(bus.CounterOf(Counter::MESSAGES, 1), 3u);
  EXPECT_EQ(bus.CounterOf(Counter::MESSAGES, 2), 1u);
  EXPECT_EQ(bus.CounterOf(Counter::REFUSED), 2u);
  EXPECT_EQ(bus.CounterOf(Counter::REFUSED, 1), 1u);
  EXPECT_EQ(bus.CounterOf(Counter::BYTES), 5 * kGiB + 100);
  EXPECT_EQ(bus.CounterOf(Counter::BYTES, 1), 5 * kGiB + 100);
  EXPECT_EQ(bus.CounterOf(Counter::BYTES, 2), 0u);
  EXPECT_EQ(bus.CounterOf(Counter::ADMIN), 2u);
  EXPECT_EQ(bus.CounterOf(Counter::ADMIN, 1), 1u);
}

TEST_F(FirmwareMailbox, BytesAreThoseOfTransfersOnly) {
  ASSERT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, {0, kGiB}), AdminStatus::DONE);
  Message message = Copy(4096);
  message.opcode = static_cast<uint8_t>(Opcode::NOP);
  Seal(message);
  ASSERT_EQ(bus.Send(1, message).status, Status::OK);
  EXPECT_EQ(bus.CounterOf(Counter::BYTES), 0u);
}

TEST_F(FirmwareMailbox, ARefusedMessageIsRecordedWithStatusAndSequence) {
  Message message = Copy(1);
  message.sequence = 42;
  Seal(message);
  bus.Send(2, message);
  const Letter record = bus.Mail(MailboxCommand::GET_RAS, 0);
  EXPECT_EQ(record.results,
            (std::array<uint32_t, 4>{
                What(RasCode::MESSAGE_REFUSED, RasSeverity::NON_FATAL, RasAction::REFUSED), 2,
                static_cast<uint32_t>(Status::PAGE_FAULT), 42}));
}

TEST_F(FirmwareMailbox, ARefusedRequestIsRecordedWithStatusAndCommand) {
  bus.Ask(AdminCommand::MAP, 1, 0, {0, 128});
  const Letter record = bus.Mail(MailboxCommand::GET_RAS, 0);
  EXPECT_EQ(record.results,
            (std::array<uint32_t, 4>{
                What(RasCode::ADMIN_REFUSED, RasSeverity::NON_FATAL, RasAction::REFUSED), 1,
                static_cast<uint32_t>(AdminStatus::BAD_STATE),
                static_cast<uint32_t>(AdminCommand::MAP)}));
}

TEST_F(FirmwareMailbox, ARecordHasTheTimeOfItsCauseAndItsNumber) {
  constexpr uint64_t kFirst = 0x1'2345'6789, kSecond = 0x7'0000'0001;
  bus.SetTime(kFirst);
  bus.Ask(AdminCommand::MAP, 1);
  bus.SetTime(kSecond);
  bus.Ask(AdminCommand::MAP, 2);
  const auto time = [&](uint32_t index) { return bus.Mail(MailboxCommand::GET_RAS_TIME, index); };
  EXPECT_EQ(time(0).results, (std::array<uint32_t, 4>{0x23456789, 1, 0, 0}));
  EXPECT_EQ(time(1).results, (std::array<uint32_t, 4>{1, 7, 1, 0}));
  EXPECT_EQ(time(2).status, MailboxStatus::BAD_ARGUMENT);
  bus.Mail(MailboxCommand::CLEAR_RAS);
  bus.Ask(AdminCommand::MAP, 2);
  EXPECT_EQ(time(0).results[2], 2u) << "numbers go on";
}

TEST_F(FirmwareMailbox, RecordsAreCountedBySeverity) {
  bus.Ask(AdminCommand::MAP, 1);
  bus.Send(2, Message{});
  for (int i = 0; i < 100; ++i) bus.Reset(1);
  bus.Mail(MailboxCommand::CLEAR_RAS);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS_SEVERITIES).results,
            (std::array<uint32_t, 4>{100, 0, 2, 0}))
      << "also those that were not kept";
}

TEST_F(FirmwareMailbox, AnErrorOfTheHardwareIsRecordedAsTheCardReportsIt) {
  bus.PostError(RasCode::MEMORY_UNCORRECTED, RasSeverity::NON_FATAL, 2, 3 << 8 | 1, 77);
  bus.Service();
  EXPECT_EQ(bus.pending(), 0u);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, 0).results,
            (std::array<uint32_t, 4>{
                What(RasCode::MEMORY_UNCORRECTED, RasSeverity::NON_FATAL, RasAction::NONE), 2,
                3 << 8 | 1, 77}));
}

TEST_F(FirmwareMailbox, AnErrorOfTheHardwareHasItsOwnTimeNotThatOfItsRecord) {
  bus.SetTime(0x9'0000'0007);
  bus.PostError(RasCode::MEMORY_CORRECTED, RasSeverity::CORRECTED, 0, 0, 0);
  bus.SetTime(0xA'0000'0000);
  bus.Service();
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS_TIME, 0).results,
            (std::array<uint32_t, 4>{7, 9, 0, 0}));
}

TEST_F(FirmwareMailbox, ErrorsOfTheWorkOfAFunctionLeaveRoomForThoseOfTheCard) {
  bus.PostError(RasCode::PCIE_RETRAIN, RasSeverity::CORRECTED, 0, 20, 0);
  bus.Service();
  for (uint32_t i = 0; i < 1000; ++i) {
    bus.PostError(RasCode::MEMORY_POISONED, RasSeverity::NON_FATAL, 1, 0, i);
    bus.Service();
  }
  EXPECT_EQ(Held(), 1 + kRecords / 3);
  EXPECT_EQ(SinceBoot(), 1001u);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, 0).results[0] >> 16,
            static_cast<uint32_t>(RasCode::PCIE_RETRAIN));
}

TEST_F(FirmwareMailbox, TheNewestRecordPushesOutTheOldest) {
  for (uint32_t i = 0; i < kRecords + 3; ++i) bus.Ask(static_cast<AdminCommand>(100 + i), 1);
  EXPECT_EQ(Held(), kRecords);
  EXPECT_EQ(SinceBoot(), kRecords + 3);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, 0).results[3], 103u);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, kRecords - 1).results[3], 100 + kRecords + 2);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, kRecords).status, MailboxStatus::BAD_ARGUMENT);
}

TEST_F(FirmwareMailbox, AFunctionCannotPushOutTheRecordsOfOthers) {
  bus.Ask(AdminCommand::MAP, 1);
  bus.Send(2, Message{});
  for (int i = 0; i < 1000; ++i) bus.Send(1, Message{});
  for (int i = 0; i < 1000; ++i) bus.Reset(1);
  EXPECT_EQ(Held(), 2 + kRecords / 3);
  EXPECT_EQ(SinceBoot(), 2002u);
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, 0).results[0] >> 16,
            static_cast<uint32_t>(RasCode::ADMIN_REFUSED));
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, 1).results[1], 2u);
}

TEST_F(FirmwareMailbox, AFunctionWhoseRecordsWerePushedOutHasItsShareAgain) {
  for (int i = 0; i < 100; ++i) bus.Send(1, Message{});
  for (uint32_t i = 0; i < kRecords; ++i) bus.Ask(AdminCommand::MAP, 1);
  bus.Send(1, Message{});
  EXPECT_EQ(bus.Mail(MailboxCommand::GET_RAS, kRecords - 1).results[0] >> 16,
            static_cast<uint32_t>(RasCode::MESSAGE_REFUSED));
}

TEST_F(FirmwareMailbox, ClearedRecordsAreGoneAndSharesAreFree) {
  for (int i = 0; i < 100; ++i) bus.Send(1, Message{});
  ASSERT_EQ(bus.Mail(MailboxCommand::CLEAR_RAS).status, MailboxStatus::DONE);
  EXPECT_EQ(Held(), 0u);
  EXPECT_EQ(SinceBoot(), 100u);
  bus.Send(1, Message{});
  EXPECT_EQ(Held(), 1u);
}

}  // namespace
}  // namespace spyre::firmware::mailbox_test
