// SPDX-License-Identifier: Apache-2.0
#include "model/contract/control_block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "model/contract/crc32c.h"

namespace spyre::control_block_test {
namespace {

ControlBlock SealedControlBlock() {
  ControlBlock block;
  block.opcode = static_cast<uint8_t>(Opcode::DMA_IN);
  block.flags = kFlagInterrupt;
  block.stream = 3;
  block.sequence = 41;
  block.host_address = 0x123456789;
  block.device_address = 0x80;
  block.size_bytes = 4096;
  Seal(block);
  return block;
}

Message SealedMessage() {
  Message message;
  message.opcode = static_cast<uint8_t>(Opcode::COMPUTE);
  message.program_region = 7;
  message.program_bytes = 1024;
  Seal(message);
  return message;
}

Response SealedResponse() {
  Response response;
  response.status = static_cast<uint16_t>(Status::PAGE_FAULT);
  response.sequence = 41;
  response.posted_ps = 1'000'000;
  Seal(response);
  return response;
}

// Changes the CRC so that later checks than the CRC decide.
template <class Entry>
void Recompute(Entry& entry) {
  entry.crc = Crc32c(&entry, offsetof(Entry, crc));
}

// Vectors: the check value of the CRC catalogue, and RFC 3720 B.4.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c("123456789", 9), 0xE3069283u);
  EXPECT_EQ(Crc32c("", 0), 0u);
  std::vector<unsigned char> bytes(32, 0);
  EXPECT_EQ(Crc32c(bytes.data(), bytes.size()), 0x8A9136AAu) << "32 zero bytes";
  bytes.assign(32, 0xFF);
  EXPECT_EQ(Crc32c(bytes.data(), bytes.size()), 0x62A8AB43u) << "32 bytes of ones";
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(Crc32c(bytes.data(), bytes.size()), 0x46DD794Eu) << "0 to 31";
}

TEST(Crc32c, EqualsTheTableFormForEveryLengthAndAlignment) {
  std::mt19937 random(1);
  std::vector<unsigned char> bytes(300);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  for (size_t start = 0; start < 8; ++start) {
    for (size_t size = 0; size + start <= bytes.size(); ++size) {
      ASSERT_EQ(Crc32c(&bytes[start], size), Crc32cTable(&bytes[start], size))
          << "start " << start << ", " << size << " bytes";
    }
  }
}

TEST(Crc32c, CanBeContinuedAtAnyByte) {
  const std::string text = "a control block has one hundred and twenty-eight bytes";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t first = Crc32c(text.data(), cut);
    EXPECT_EQ(Crc32c(text.data() + cut, text.size() - cut, first), Crc32c(text.data(), text.size()))
        << "cut at " << cut;
    EXPECT_EQ(Crc32cTable(text.data() + cut, text.size() - cut, first),
              Crc32c(text.data(), text.size()))
        << "cut at " << cut;
  }
}

template <class Entry>
class SealedEntry : public testing::Test {
 public:
  static Entry Make() {
    if constexpr (std::is_same_v<Entry, ControlBlock>) return SealedControlBlock();
    if constexpr (std::is_same_v<Entry, Message>) return SealedMessage();
    if constexpr (std::is_same_v<Entry, Response>) return SealedResponse();
  }
};
using Entries = testing::Types<ControlBlock, Message, Response>;
TYPED_TEST_SUITE(SealedEntry, Entries);

TYPED_TEST(SealedEntry, ChecksAsOk) { EXPECT_EQ(Check(this->Make()), Status::OK); }

TYPED_TEST(SealedEntry, ShowsTheCorruptionOfAnySingleBit) {
  const TypeParam sealed = this->Make();
  for (size_t bit = 0; bit < sizeof(TypeParam) * 8; ++bit) {
    TypeParam entry = sealed;
    auto* bytes = reinterpret_cast<unsigned char*>(&entry);
    bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
    const Status expected = bit / 8 < 3 ? Status::BAD_VERSION : Status::BAD_CRC;
    ASSERT_EQ(Check(entry), expected) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TYPED_TEST(SealedEntry, OfAnotherLayoutVersionIsRefusedBeforeItsCrcIsLookedAt) {
  TypeParam entry = this->Make();
  entry.version = kLayoutVersion + 1;
  EXPECT_EQ(Check(entry), Status::BAD_VERSION);
  Recompute(entry);
  EXPECT_EQ(Check(entry), Status::BAD_VERSION);
}

TEST(ControlBlockCheck, RefusesTheMagicOfAMessage) {
  ControlBlock block = SealedControlBlock();
  block.magic = kMessageMagic;
  Recompute(block);
  EXPECT_EQ(Check(block), Status::BAD_VERSION);
}

TEST(ControlBlockCheck, AcceptsExactlyTheDefinedOpcodes) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    ControlBlock block = SealedControlBlock();
    block.opcode = static_cast<uint8_t>(opcode);
    Seal(block);
    const bool defined = opcode <= static_cast<int>(Opcode::TIMESTAMP);
    EXPECT_EQ(Check(block), defined ? Status::OK : Status::BAD_OPCODE) << "opcode " << opcode;
  }
}

TEST(ControlBlockCheck, NamesTheReservedFieldThatIsNotZero) {
  ControlBlock block = SealedControlBlock();
  block.reserved1[8] = 1;
  Seal(block);
  uint64_t offset = 0;
  EXPECT_EQ(Check(block, &offset), Status::BAD_FIELD);
  EXPECT_EQ(offset, offsetof(ControlBlock, reserved1) + 8 * sizeof(uint32_t));
  block.reserved0 = 1;
  Seal(block);
  EXPECT_EQ(Check(block, &offset), Status::BAD_FIELD);
  EXPECT_EQ(offset, offsetof(ControlBlock, reserved0)) << "the first bad field counts";
  EXPECT_EQ(Check(block), Status::BAD_FIELD) << "the offset is optional";
}

TEST(ControlBlockCheck, RefusesFlagsThatAreNotDefined) {
  ControlBlock block = SealedControlBlock();
  block.flags = kFlagInterrupt | kFlagBarrier | kFlagTimingOnly | kFlagPrepare;
  Seal(block);
  EXPECT_EQ(Check(block), Status::OK);
  block.flags = 16;
  Seal(block);
  uint64_t offset = 0;
  EXPECT_EQ(Check(block, &offset), Status::BAD_FIELD);
  EXPECT_EQ(offset, offsetof(ControlBlock, flags));
}

TEST(ControlBlockCheck, LooksAtTheCrcBeforeTheOpcodeAndAtTheOpcodeBeforeReservedFields) {
  ControlBlock block = SealedControlBlock();
  block.opcode = 200;
  block.reserved0 = 1;
  EXPECT_EQ(Check(block), Status::BAD_CRC);
  Seal(block);
  EXPECT_EQ(Check(block), Status::BAD_OPCODE);
  block.opcode = 0;
  Seal(block);
  EXPECT_EQ(Check(block), Status::BAD_FIELD);
}

TEST(MessageCheck, NamesEachReservedFieldThatIsNotZero) {
  const auto offset_of_bad = [](const auto& change) {
    Message message = SealedMessage();
    change(message);
    Seal(message);
    uint64_t offset = 0;
    EXPECT_EQ(Check(message, &offset), Status::BAD_FIELD);
    return offset;
  };
  EXPECT_EQ(offset_of_bad([](Message& m) { m.reserved0 = 1; }), offsetof(Message, reserved0));
  EXPECT_EQ(offset_of_bad([](Message& m) { m.flags = 0x8000; }), offsetof(Message, flags));
  EXPECT_EQ(offset_of_bad([](Message& m) { m.reserved1 = 1; }), offsetof(Message, reserved1));
  EXPECT_EQ(offset_of_bad([](Message& m) { m.reserved2[1] = 1; }),
            offsetof(Message, reserved2) + sizeof(uint32_t));
}

TEST(MessageCheck, RefusesAnOpcodeThatIsNotDefined) {
  Message message = SealedMessage();
  message.opcode = 9;
  Seal(message);
  EXPECT_EQ(Check(message), Status::BAD_OPCODE);
}

TEST(Names, AreThoseOfTheSpecification) {
  EXPECT_STREQ(StatusName(Status::PAGE_FAULT), "PAGE_FAULT");
  EXPECT_STREQ(OpcodeName(Opcode::EVENT_WAIT), "EVENT_WAIT");
}

TEST(Names, ExistForValuesFromOutsideToo) {
  EXPECT_STREQ(StatusName(static_cast<Status>(999)), "UNDEFINED");
  EXPECT_STREQ(OpcodeName(static_cast<Opcode>(99)), "UNDEFINED");
}

}  // namespace
}  // namespace spyre::control_block_test
