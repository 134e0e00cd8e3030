// SPDX-License-Identifier: Apache-2.0
// Messages: every check, the control block byte by byte, and equality with an independent
// translation over random messages.
#include <gtest/gtest.h>

#include <cstddef>

#include "tests/unit/firmware/fake_bus.h"
#include "tests/unit/firmware/translated.h"
#include "tests/unit/random_cases.h"

namespace spyre::firmware::message_test {
namespace {

const Range kRegion0{4 * kGiB, kGiB};
const Range kRegion7{8 * kGiB, 4096};

class FirmwareMessage : public ::testing::Test {
 protected:
  FirmwareMessage() { AssignRegions(bus); }
  ~FirmwareMessage() override { EXPECT_EQ(bus.violations(), 0u); }

  static void AssignRegions(FakeBus& bus) {
    EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 0, kRegion0), AdminStatus::DONE);
    EXPECT_EQ(bus.Ask(AdminCommand::ASSIGN, 1, 7, kRegion7), AdminStatus::DONE);
  }
  static Message DmaIn() {
    Message message;
    message.opcode = static_cast<uint8_t>(Opcode::DMA_IN);
    message.flags = kFlagInterrupt;
    message.stream = 3;
    message.sequence = 0x1'0000'0029;
    message.host_address = 0xABCDEF0123;
    message.device_offset = 0x1000;
    message.size_bytes = 4097;
    message.correlation = 77;
    Seal(message);
    return message;
  }
  void ExpectAsReference(uint32_t vf, const Message& message) {
    const MessageAnswer expected = Translated(bus, vf, message);
    const MessageAnswer answer = bus.Send(vf, message);
    EXPECT_EQ(answer.status, expected.status) << StatusName(answer.status);
    EXPECT_EQ(answer.fault, expected.fault);
    EXPECT_EQ(answer.has_block, expected.has_block);
    if (answer.has_block && expected.has_block) {
      EXPECT_EQ(std::memcmp(&answer.block, &expected.block, sizeof(ControlBlock)), 0);
    }
  }

  FakeBus bus;
};

TEST_F(FirmwareMessage, BecomesASealedControlBlock) {
  const MessageAnswer answer = bus.Send(1, DmaIn());
  ASSERT_EQ(answer.status, Status::OK);
  ASSERT_TRUE(answer.has_block);
  EXPECT_EQ(Check(answer.block), Status::OK);
  EXPECT_EQ(answer.block.function, 1u);
  EXPECT_EQ(answer.block.device_address, kRegion0.base + 0x1000);
  EXPECT_EQ(answer.block.size_bytes, 4097u);
  ExpectAsReference(1, DmaIn());
}

TEST_F(FirmwareMessage, EveryOpcodeAnswersAsTheReference) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    SCOPED_TRACE(opcode);
    Message message = DmaIn();
    message.opcode = static_cast<uint8_t>(opcode);
    message.program_region = 7;
    message.program_bytes = 4096;
    message.value = 5;
    Seal(message);
    ExpectAsReference(1, message);
  }
}

TEST_F(FirmwareMessage, EveryByteIsCoveredByMagicVersionOrCrc) {
  for (size_t byte = 0; byte < sizeof(Message); ++byte) {
    SCOPED_TRACE(byte);
    Message message = DmaIn();
    reinterpret_cast<uint8_t*>(&message)[byte] ^= 0x10;
    EXPECT_EQ(bus.Send(1, message).status, byte < 3 ? Status::BAD_VERSION : Status::BAD_CRC);
    ExpectAsReference(1, message);
  }
}

TEST_F(FirmwareMessage, EveryBitOfAReservedFieldMustBeZeroAndTheFirstIsNamed) {
  for (size_t byte = 0; byte < offsetof(Message, crc); ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(::testing::Message() << "byte " << byte << " bit " << bit);
      Message message = DmaIn();
      message.opcode = static_cast<uint8_t>(Opcode::NOP);
      reinterpret_cast<uint8_t*>(&message)[byte] ^= static_cast<uint8_t>(1 << bit);
      message.crc = Crc32c(&message, offsetof(Message, crc));
      ExpectAsReference(1, message);
    }
  }
  Message message = DmaIn();
  message.reserved1 = 1;
  message.reserved2[8] = 1;
  Seal(message);
  EXPECT_EQ(bus.Send(1, message).fault, offsetof(Message, reserved1));
}

TEST_F(FirmwareMessage, LocationsAreCheckedAtTheirLimits) {
  for (const Opcode opcode : {Opcode::DMA_IN, Opcode::DMA_OUT, Opcode::DMA_FILL, Opcode::COMPUTE}) {
    for (const uint32_t region : {0u, 1u, 7u, 8u, ~0u}) {
      for (const uint64_t offset :
           {0ull, 1ull, 128ull, 3968ull, 4096ull, 4224ull, ~0ull, ~127ull}) {
        for (const uint64_t bytes : {0ull, 1ull, 127ull, 128ull, 129ull, 4096ull, 4097ull, ~0ull}) {
          SCOPED_TRACE(::testing::Message() << OpcodeName(opcode) << " region " << region
                                            << " offset " << offset << " bytes " << bytes);
          Message message = DmaIn();
          message.opcode = static_cast<uint8_t>(opcode);
          message.device_region = message.program_region = region;
          message.device_offset = message.program_offset = offset;
          message.size_bytes = message.program_bytes = bytes;
          Seal(message);
          ExpectAsReference(1, message);
          ExpectAsReference(2, message);
        }
      }
    }
  }
}

TEST_F(FirmwareMessage, RegionsThatAreNotActiveDoNotExist) {
  ASSERT_EQ(bus.Ask(AdminCommand::CREATE, 2, 0, {0, kGiB}), AdminStatus::DONE);
  EXPECT_EQ(bus.Send(2, DmaIn()).status, Status::PAGE_FAULT);
  ASSERT_EQ(bus.Ask(AdminCommand::MAP, 2, 0, {16 * kGiB, 0}), AdminStatus::DONE);
  EXPECT_EQ(bus.Send(2, DmaIn()).status, Status::PAGE_FAULT);
  ASSERT_EQ(bus.Ask(AdminCommand::ACTIVATE, 2, 0), AdminStatus::DONE);
  EXPECT_EQ(bus.Send(2, DmaIn()).block.device_address, 16 * kGiB + 0x1000);
  ASSERT_EQ(bus.Ask(AdminCommand::RELEASE, 2, 0), AdminStatus::DONE);
  EXPECT_EQ(bus.Send(2, DmaIn()).status, Status::PAGE_FAULT);
}

TEST_F(FirmwareMessage, OfADisabledFunctionIsRefusedBeforeAnythingElse) {
  ASSERT_EQ(bus.Ask(AdminCommand::DISABLE, 1), AdminStatus::DONE);
  for (const Message& message : {DmaIn(), Message{}}) {
    const MessageAnswer answer = bus.Send(1, message);
    EXPECT_EQ(answer.status, Status::PERMISSION);
    EXPECT_EQ(answer.fault, 0u);
    EXPECT_FALSE(answer.has_block);
  }
  bus.Reset(1);
  EXPECT_EQ(bus.Send(1, DmaIn()).status, Status::PERMISSION) << "a reset does not enable";
  ASSERT_EQ(bus.Ask(AdminCommand::ENABLE, 1), AdminStatus::DONE);
  EXPECT_EQ(bus.Send(1, DmaIn()).status, Status::OK);
}

TEST_F(FirmwareMessage, OfNoVirtualFunctionIsRefused) {
  for (const uint32_t function : {0u, 3u, 17u, ~0u})
    EXPECT_EQ(bus.Send(function, DmaIn()).status, Status::PERMISSION) << function;
}

TEST_F(FirmwareMessage, TransferQuotaLimitsTheBytesOfOneDma) {
  Message message = DmaIn();
  ASSERT_EQ(bus.Ask(AdminCommand::SET_TRANSFER_QUOTA, 1, 0, {0, 4096}), AdminStatus::DONE);
  const MessageAnswer refused = bus.Send(1, message);
  EXPECT_EQ(refused.status, Status::BAD_FIELD);
  EXPECT_EQ(refused.fault, offsetof(Message, size_bytes));
  message.size_bytes = 4096;
  Seal(message);
  EXPECT_EQ(bus.Send(1, message).status, Status::OK);
  ASSERT_EQ(bus.Ask(AdminCommand::SET_TRANSFER_QUOTA, 1, 0, {0, 0}), AdminStatus::DONE);
  EXPECT_EQ(bus.Send(1, DmaIn()).status, Status::OK);
}

// Values with which fields go wrong, beside any others.
uint32_t RandomRegion(std::mt19937& random) {
  return test::DrawBool(random) ? test::DrawOf<uint32_t>(random, {0, 0, 0, 7, 7, 3, 8})
                                : static_cast<uint32_t>(test::DrawWord(random));
}
uint64_t RandomPlace(std::mt19937& random) {
  return test::DrawBool(random) ? test::DrawOf<uint64_t>(random, {0, 128, 3968, 4096, kGiB - 128,
                                                                  kGiB, kGiB + 128, 64})
                                : test::DrawWord(random);
}

TEST_F(FirmwareMessage, RandomOnesAnswerAsTheReference) {
  test::ForSeeds(100, [](std::mt19937& random) {
    FakeBus fresh;
    AssignRegions(fresh);
    const int messages = test::Draw(random, 1, 99);
    for (int i = 0; i < messages; ++i) {
      Message message;
      message.opcode = static_cast<uint8_t>(random() % 10);
      const bool known_flags = random() % 10 < 9;
      message.flags = static_cast<uint16_t>(random() % (known_flags ? 16 : 0x10000));
      message.stream = static_cast<uint32_t>(test::DrawWord(random));
      message.sequence = test::DrawWord(random);
      message.host_address = test::DrawWord(random);
      message.device_region = RandomRegion(random);
      message.program_region = RandomRegion(random);
      message.device_offset = RandomPlace(random);
      message.program_offset = RandomPlace(random);
      message.size_bytes = RandomPlace(random);
      message.program_bytes = RandomPlace(random);
      message.value = test::DrawWord(random);
      message.correlation = test::DrawWord(random);
      Seal(message);
      const auto vf = static_cast<uint32_t>(1 + random() % 2);
      const MessageAnswer expected = Translated(fresh, vf, message);
      const MessageAnswer answer = fresh.Send(vf, message);
      ASSERT_TRUE(Same(answer, expected)) << "message " << i;
    }
    EXPECT_EQ(fresh.violations(), 0u);
  });
}

}  // namespace
}  // namespace spyre::firmware::message_test
