// SPDX-License-Identifier: Apache-2.0
// The remote serial protocol without sockets: framing, commands, hostile packets.
#include "cosim/gdb/gdb_commands.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cosim/gdb/gdb_packet.h"
#include "tests/unit/cosim/gdb/fake_processor.h"
#include "tests/unit/random_cases.h"

namespace spyre::cosim::gdb_commands_test {
namespace {

using model::Debugger;
using test::FakeProcessor;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Event = GdbPacketReader::Event;

std::vector<Event> Push(GdbPacketReader& reader, const std::string& bytes) {
  std::vector<Event> events;
  for (const char c : bytes) {
    const Event event = reader.Push(static_cast<uint8_t>(c));
    if (event != Event::kNone) events.push_back(event);
  }
  return events;
}

TEST(GdbPackets, AreReadAsTheyAreWritten) {
  const std::string payload("m1#$}*\x03\x7f\0end", 12);
  GdbPacketReader reader;
  EXPECT_EQ(Push(reader, GdbPacket(payload)), std::vector{Event::kPacket});
  EXPECT_EQ(reader.payload(), payload);
}

TEST(GdbPackets, AWrongChecksumIsSeen) {
  GdbPacketReader reader;
  EXPECT_EQ(Push(reader, "$g#68$g#zz$g#67"),
            (std::vector{Event::kBroken, Event::kBroken, Event::kPacket}));
}

TEST(GdbPackets, AcknowledgementsAndInterruptsLieBetweenThem) {
  GdbPacketReader reader;
  EXPECT_EQ(Push(reader, "+$g#67-\x03noise"),
            (std::vector{Event::kPacket, Event::kResend, Event::kInterrupt}));
}

TEST(GdbPackets, APacketThatLostItsEndGivesWayToTheNext) {
  GdbPacketReader reader;
  EXPECT_EQ(Push(reader, "$m8000$g#67"), std::vector{Event::kPacket});
  EXPECT_EQ(reader.payload(), "g");
}

TEST(GdbPackets, AreCutAtTheirGreatestLength) {
  GdbPacketReader reader;
  EXPECT_EQ(Push(reader, GdbPacket(std::string(1 << 20, 'a'))), std::vector{Event::kPacket});
  EXPECT_EQ(reader.payload().size(), kGdbPacketBytes);
}

class GdbCommandsTest : public ::testing::Test {
 protected:
  GdbCommandsTest() { Fill(target_); }
  static void Fill(FakeProcessor& target) {
    for (uint32_t i = 0; i <= model::DebugTarget::kPc; ++i) target.registers[i] = 0x01020300 + i;
    target.registers[0] = 0;
  }
  std::string Text(const std::string& packet) {
    const GdbCommands::Reply reply = commands_.Handle(packet, target_);
    return reply.text.value_or("(none)");
  }
  std::optional<Debugger::Resume> Resume(const std::string& packet) {
    return commands_.Handle(packet, target_).resume;
  }
  std::string Object(const std::string& annex, unsigned piece) {
    std::string all;
    while (true) {
      const std::string part =
          Text(fmt::format("qXfer:features:read:{}:{:x},{:x}", annex, all.size(), piece));
      all += part.substr(1);
      if (part[0] != 'm') return all;
    }
  }
  FakeProcessor target_;
  GdbCommands commands_;
};

TEST_F(GdbCommandsTest, RegistersAreReadLowByteFirst) {
  const std::string all = Text("g");
  EXPECT_EQ(all.size(), 33 * 8u);
  EXPECT_EQ(all.substr(0, 16), "0000000001030201");
  EXPECT_EQ(Text("p20"), "20030201");
  EXPECT_EQ(Text("p383"), "02000000");  // 65 + mcause
  EXPECT_EQ(Text("p384"), "E0e");
}

TEST_F(GdbCommandsTest, RegistersAreWritten) {
  EXPECT_EQ(Text("P5=78563412"), "OK");
  EXPECT_EQ(target_.registers[5], 0x12345678u);
  std::string all = Text("g");
  all.replace(8, 8, "ddccbbaa");
  EXPECT_EQ(Text("G" + all), "OK");
  EXPECT_EQ(target_.registers[1], 0xaabbccddu);
  EXPECT_EQ(target_.registers[5], 0x12345678u);
  EXPECT_EQ(Text("P0=01000000"), "E0e");
}

TEST_F(GdbCommandsTest, MemoryIsWrittenAndReadBack) {
  EXPECT_EQ(Text("M80000010,3:a1b2c3"), "OK");
  EXPECT_EQ(Text("m8000000f,5"), "00a1b2c300");
  EXPECT_EQ(Text(std::string("X80000010,2:\0\xff", 14)), "OK");
  EXPECT_EQ(Text("m80000010,2"), "00ff");
  EXPECT_EQ(Text("X80000010,0:"), "OK");
}

TEST_F(GdbCommandsTest, MemoryThatIsNotThereIsAnError) {
  EXPECT_EQ(Text("m80000fff,2"), "E0e");
  EXPECT_EQ(Text("mffffffff,4"), "E0e");
  EXPECT_EQ(Text("M7fffffff,2:0000"), "E0e");
}

TEST_F(GdbCommandsTest, BreakpointsAreSetAndCleared) {
  EXPECT_EQ(Text("Z0,80000020,4"), "OK");
  EXPECT_EQ(Text("Z1,80000040,4"), "OK");
  EXPECT_EQ(target_.breakpoints, (std::set<uint32_t>{0x80000020, 0x80000040}));
  EXPECT_EQ(Text("z0,80000020,4"), "OK");
  EXPECT_EQ(target_.breakpoints, (std::set<uint32_t>{0x80000040}));
  EXPECT_EQ(Text("Z2,80000020,4"), "");  // watchpoints: not supported
  EXPECT_EQ(Text("Z0,80000021,4"), "E16");
}

TEST_F(GdbCommandsTest, DetachClearsBreakpoints) {
  Text("Z0,80000020,4");
  EXPECT_EQ(Resume("D"), Debugger::Resume::kDetach);
  EXPECT_TRUE(target_.breakpoints.empty());
}

TEST_F(GdbCommandsTest, GoingOnSaysHow) {
  EXPECT_EQ(Resume("c"), Debugger::Resume::kContinue);
  EXPECT_EQ(Resume("s"), Debugger::Resume::kStep);
  EXPECT_EQ(Resume("C05"), Debugger::Resume::kContinue);
  EXPECT_EQ(Resume("vCont;s:1;c"), Debugger::Resume::kStep);
  EXPECT_EQ(Resume("vCont;c"), Debugger::Resume::kContinue);
  EXPECT_EQ(Resume("k"), Debugger::Resume::kDetach);
  EXPECT_EQ(Text("vCont?"), "vCont;c;C;s;S");
}

TEST_F(GdbCommandsTest, GoingOnElsewhereSetsPc) {
  EXPECT_EQ(Resume("c80000080"), Debugger::Resume::kContinue);
  EXPECT_EQ(target_.registers[model::DebugTarget::kPc], 0x80000080u);
}

TEST_F(GdbCommandsTest, StopsNameTheirSignal) {
  EXPECT_EQ(commands_.Stopped(target_, Debugger::Stop::kBreakpoint), "T05thread:1;");
  EXPECT_EQ(commands_.Stopped(target_, Debugger::Stop::kInterrupt), "T02thread:1;");
  EXPECT_EQ(commands_.Stopped(target_, Debugger::Stop::kTrap), "T04thread:1;");  // mcause 2
  target_.csrs[0x342] = 5;
  EXPECT_EQ(commands_.Stopped(target_, Debugger::Stop::kTrap), "T0bthread:1;");
  EXPECT_EQ(Text("?"), "T0bthread:1;");
}

TEST_F(GdbCommandsTest, TheTargetDescriptionNamesTheRegistersThereAre) {
  const std::string xml = Object("target.xml", 100);
  EXPECT_EQ(xml, Object("target.xml", 4096));
  EXPECT_THAT(xml, AllOf(HasSubstr("<architecture>riscv:rv32</architecture>"),
                         HasSubstr("<reg name=\"x31\" bitsize=\"32\" type=\"int\" regnum=\"31\"/>"),
                         HasSubstr("name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"32\""),
                         HasSubstr("name=\"mcause\" bitsize=\"32\" type=\"int\" regnum=\"899\""),
                         Not(HasSubstr("mtval"))));
  EXPECT_EQ(Text("qXfer:features:read:other.xml:0,100"), "E00");
}

TEST_F(GdbCommandsTest, ThereIsOneThread) {
  EXPECT_EQ(Text("qC"), "QC1");
  EXPECT_EQ(Text("qfThreadInfo"), "m1");
  EXPECT_EQ(Text("qsThreadInfo"), "l");
  EXPECT_EQ(Text("Hg0"), "OK");
}

TEST_F(GdbCommandsTest, UnknownPacketsGetAnEmptyAnswer) {
  for (const char* packet : {"", "vMustReplyEmpty", "qTStatus", "!", "R00", "b", "\xff"})
    EXPECT_EQ(Text(packet), "") << packet;
}

TEST_F(GdbCommandsTest, MalformedPacketsGetAnError) {
  for (const char* packet : {"m",
                             "m80000000",
                             "m80000000,",
                             "m,4",
                             "m80000000,4x",
                             "m800000000,4",
                             "M80000000,2:00",
                             "M80000000,2:00zz",
                             "M80000000,1:0",
                             "X80000000,2:a",
                             "p",
                             "p20 ",
                             "P5",
                             "P5=1",
                             "P5=zzzzzzzz",
                             "P5=000000000",
                             "G00",
                             "Z0",
                             "Z0,80000000",
                             "z1,zz,4",
                             "Z0,80000000,4;",
                             "cxyz",
                             "C",
                             "S05;",
                             "vCont;",
                             "vCont;x",
                             "vCont;czz",
                             "qXfer:features:read:target.xml:0"}) {
    EXPECT_EQ(Text(packet), "E16") << packet;
    EXPECT_EQ(Resume(packet), std::nullopt) << packet;
  }
  EXPECT_TRUE(target_.breakpoints.empty());
}

// Any byte, and as often one that means something in a packet.
char AnyByte(std::mt19937& random) {
  const std::string special("$#}*+-\x03\0:;,=0aF", 15);
  return test::DrawBool(random) ? static_cast<char>(random()) : special[random() % special.size()];
}

// Commands as GDB sends them, with bytes changed, put in and taken out.
TEST_F(GdbCommandsTest, SurvivesMutatedPackets) {
  test::ForSeeds(100, [](std::mt19937& random) {
    std::string packet = test::DrawOf(
        random, {"m80000ff0,10", "M80000000,4:01020304", "X80000000,4:abcd", "P5=78563412", "p20",
                 "g", "G", "Z0,80000020,4", "z1,80000020,4", "vCont;s:1;c", "c80000000",
                 "C05;80000010", "qXfer:features:read:target.xml:0,ffb",
                 "qSupported:swbreak+;xmlRegisters=i386", "Hgp1.1"});
    for (int change = test::Draw(random, 0, 100); change > 0; --change) {
      const auto kind = random() % 3;
      const size_t at = random() % (packet.size() + 1);
      const char byte = AnyByte(random);
      if (kind == 0)
        packet.insert(at, 1, byte);
      else if (at < packet.size() && kind == 1)
        packet[at] = byte;
      else if (at < packet.size())
        packet.erase(at, 1);
    }
    GdbPacketReader reader;
    EXPECT_EQ(Push(reader, GdbPacket(packet)).size(), 1u);
    EXPECT_EQ(reader.payload(), packet);
    FakeProcessor target;
    Fill(target);
    GdbCommands commands;
    const GdbCommands::Reply reply = commands.Handle(packet, target);
    EXPECT_TRUE(reply.text.has_value() || reply.resume.has_value()) << packet;
    EXPECT_LE(reply.text.value_or("").size(), kGdbPacketBytes) << packet;
  });
}

TEST(GdbPackets, SurviveAnyBytes) {
  test::ForSeeds(100, [](std::mt19937& random) {
    std::string bytes;
    for (int i = test::Draw(random, 0, 100); i > 0; --i) bytes += AnyByte(random);
    GdbPacketReader reader;
    Push(reader, bytes);
    Push(reader, "#00");  // ends whatever was begun
    EXPECT_EQ(Push(reader, GdbPacket("g")), std::vector{Event::kPacket});
    EXPECT_EQ(reader.payload(), "g");
  });
}

}  // namespace
}  // namespace spyre::cosim::gdb_commands_test
