// SPDX-License-Identifier: Apache-2.0
// The GDB stub over a real loopback socket: a processor in one thread, a scripted client in
// another.
#include "cosim/gdb/gdb_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "tests/unit/cosim/gdb/fake_processor.h"
#include "tests/unit/cosim/gdb/gdb_client.h"

namespace spyre::cosim::gdb_server_test {
namespace {

using test::FakeProcessor;
using Client = test::GdbClient;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// The processor runs `steps` instructions in a thread of its own and then lets go of the server.
class GdbServerTest : public ::testing::Test {
 protected:
  GdbServerTest() { processor_.registers[model::DebugTarget::kPc] = FakeProcessor::kBase; }
  ~GdbServerTest() override { Join(); }

  uint16_t StartServer(uint64_t steps) {
    auto server = std::make_unique<GdbServer>(0);
    const uint16_t port = server->port();
    thread_ = std::thread([this, steps, server = std::move(server)]() mutable {
      processor_.Run(*server, steps);
      server->SetExitStatus(0);
      server.reset();
    });
    return port;
  }
  Client Start(uint64_t steps = UINT64_MAX) { return Client(StartServer(steps)); }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

  FakeProcessor processor_;
  std::thread thread_;
};

TEST_F(GdbServerTest, RunsFromBreakpointToBreakpoint) {
  Client client = Start();
  EXPECT_EQ(client.Ask("?"), "T05thread:1;");
  EXPECT_EQ(client.Ask("Z0,80000020,4"), "OK");
  EXPECT_EQ(client.Ask("Z0,80000040,4"), "OK");
  EXPECT_EQ(client.Ask("c"), "T05thread:1;");
  EXPECT_EQ(client.Ask("p20"), "20000080");
  EXPECT_EQ(client.Ask("vCont;c"), "T05thread:1;");
  EXPECT_EQ(client.Ask("p20"), "40000080");
  EXPECT_EQ(client.Ask("s"), "T05thread:1;");
  EXPECT_EQ(client.Ask("p20"), "44000080");
  EXPECT_EQ(client.Ask("D"), "OK");
  Join();
  EXPECT_TRUE(processor_.breakpoints.empty());
}

TEST_F(GdbServerTest, ChangesRegistersAndMemoryOfTheProcessor) {
  Client client = Start();
  EXPECT_EQ(client.Ask("P5=efbeadde"), "OK");
  EXPECT_EQ(client.Ask("M80000004,2:cafe"), "OK");
  EXPECT_EQ(client.Ask("D"), "OK");
  Join();
  EXPECT_EQ(processor_.registers[5], 0xdeadbeefu);
  EXPECT_EQ(processor_.memory[4], 0xca);
}

TEST_F(GdbServerTest, CtrlCStopsARunningProcessor) {
  Client client = Start();
  client.SendRaw(GdbPacket("c"));
  client.SendRaw("\x03");
  EXPECT_EQ(client.Packet(), "T02thread:1;");
  EXPECT_EQ(client.Ask("D"), "OK");
}

TEST_F(GdbServerTest, ATrapIsASignal) {
  processor_.trap_at = FakeProcessor::kBase + 16;
  Client client = Start();
  EXPECT_EQ(client.Ask("c"), "T04thread:1;");
  EXPECT_EQ(client.Ask("D"), "OK");
}

TEST_F(GdbServerTest, TheEndOfTheRunIsTheEndOfTheProgram) {
  Client client = Start(100);
  EXPECT_EQ(client.Ask("c"), "W00");
  EXPECT_EQ(client.Packet(), "(closed)");
}

TEST_F(GdbServerTest, AcknowledgesUntilAskedNotTo) {
  Client client = Start();
  client.SendRaw(GdbPacket("qC"));
  EXPECT_EQ(client.Byte(), '+');
  EXPECT_EQ(client.Packet(), "QC1");
  EXPECT_EQ(client.Ask("QStartNoAckMode"), "OK");
  client.SendRaw("+" + GdbPacket("qC"));
  for (const char c : GdbPacket("QC1")) EXPECT_EQ(client.Byte(), c);
  EXPECT_EQ(client.Ask("D"), "OK");
}

TEST_F(GdbServerTest, BrokenPacketsAreSentAgainOnBothSides) {
  Client client = Start();
  client.SendRaw("$qC#00");
  EXPECT_EQ(client.Byte(), '-');
  EXPECT_EQ(client.Ask("qC"), "QC1");
  client.SendRaw("-");
  EXPECT_EQ(client.Packet(), "QC1");
  EXPECT_EQ(client.Ask("QStartNoAckMode"), "OK");
  client.SendRaw("$qC#00");
  EXPECT_EQ(client.Packet(), "E16") << "nobody would send it again";
  EXPECT_EQ(client.Ask("D"), "OK");
}

TEST_F(GdbServerTest, AStoppedProcessorWhoseDebuggerHangsUpGoesOn) {
  Client client = Start();
  EXPECT_EQ(client.Ask("Z0,80000020,4"), "OK");
  client.Close();
  Join();
  EXPECT_TRUE(processor_.breakpoints.empty());
}

TEST_F(GdbServerTest, ARunningProcessorWhoseDebuggerHangsUpGoesOn) {
  Client client = Start();
  client.SendRaw(GdbPacket("c"));
  client.Close();
  Join();
}

// What GDB prints that is given `commands` and nothing to debug but the server.
std::string Gdb(uint16_t port, const std::vector<std::string>& commands) {
  std::string line = "gdb-multiarch -nx -batch -ex 'set osabi none' -ex 'target remote 127.0.0.1:" +
                     std::to_string(port) + "'";
  for (const std::string& command : commands) line += " -ex '" + command + "'";
  FILE* pipe = popen((line + " 2>&1 </dev/null").c_str(), "r");
  std::string text;
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;)
    text.push_back(static_cast<char>(c));
  if (pipe != nullptr) pclose(pipe);
  return text;
}

TEST_F(GdbServerTest, GdbItselfStepsBreaksReadsAndWrites) {
  const uint16_t port = StartServer(100);
  const std::string text =
      Gdb(port,
          {"break *0x80000010", "continue", "stepi", "info registers pc mcause", "set $t0 = 0x1234",
           "set {int}0x80000100 = 0x55aa", "x/1xw 0x80000100", "x/1xw 0x90000000", "continue"});
  Join();
  EXPECT_THAT(text, AllOf(HasSubstr("Breakpoint 1, 0x80000010"), HasSubstr("0x80000014"),
                          ContainsRegex("mcause +0x2"), HasSubstr("0x80000100:\t0x000055aa"),
                          HasSubstr("Cannot access memory at address 0x90000000"),
                          HasSubstr("exited normally")));
  EXPECT_EQ(processor_.registers[5], 0x1234u);
}

TEST_F(GdbServerTest, APortThatIsTakenIsBadInput) {
  const GdbServer first(0);
  try {
    const GdbServer second(first.port());
    FAIL() << "two servers on one port";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(first.port())));
  }
}

TEST(GdbServer, NobodyConnectedWantsNoStop) {
  GdbServer server(0);
  EXPECT_FALSE(server.WantsStop());
}

}  // namespace
}  // namespace spyre::cosim::gdb_server_test
