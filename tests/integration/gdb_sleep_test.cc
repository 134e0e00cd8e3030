// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while the firmware sleeps in WFI: the RTL controller in the simulation's thread, a client
// of GDB's remote protocol in another. No request comes and no timer is set, so nothing but the
// client can wake it.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <systemc>

#include "cosim/gdb/gdb_server.h"
#include "model/control/management.h"
#include "tests/unit/cosim/gdb/gdb_client.h"

namespace spyre::cosim::gdb_sleep_test {
namespace {

class GdbSleepTest : public ::testing::Test,
                     public model::InterruptInterface,
                     public model::FaultInterface,
                     public model::MemoryClearInterface {
 protected:
  GdbSleepTest() {
    config_.management.fidelity = model::ManagementFidelity::kRtl;
    controller_ = std::make_unique<model::ManagementController>("management", config_, mmu_);
    controller_->interrupt.bind(*this);
    controller_->lost.bind(*this);
    controller_->scrubber().memory.bind(*this);
    controller_->SetDebugger(&server_);
  }
  void Interrupt(unsigned /*function*/, uint32_t /*causes*/) override {}
  void ClearMemory(uint64_t /*base*/, uint64_t /*bytes*/) override {}
  void Lost() override { ADD_FAILURE() << controller_->fault(); }

  // Lets the firmware boot and fall asleep, then runs the simulation until the client has ended.
  void Simulate(const std::shared_future<void>& client) {
    while (controller_->state() != FirmwareState::READY) sc_core::sc_start(1, sc_core::SC_US);
    sc_core::sc_start(1, sc_core::SC_MS);
    asleep_.set_value();
    while (client.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      sc_core::sc_start(1, sc_core::SC_US);
  }
  static bool IsWfi(test::GdbClient& client) {
    const std::string pc = client.Ask("p20");  // bytes in the target's order
    std::string address;
    for (int byte = 3; byte >= 0; --byte) address += pc.substr(2 * static_cast<size_t>(byte), 2);
    const auto at = static_cast<uint32_t>(std::stoul(address, nullptr, 16));
    for (const uint32_t place : {at, at - 4}) {
      char packet[32];
      std::snprintf(packet, sizeof(packet), "m%x,4", place);
      if (client.Ask(packet) == "73005010") return true;
    }
    return false;
  }

  model::CardConfig config_;
  model::Mmu mmu_{config_};
  GdbServer server_{0};
  std::unique_ptr<model::ManagementController> controller_;
  std::promise<void> asleep_;
};

TEST_F(GdbSleepTest, CtrlCStopsAProcessorThatSleepsAgainAndAgain) {
  const std::shared_future<void> client = std::async(std::launch::async, [this] {
                                            test::GdbClient gdb(server_.port());
                                            EXPECT_EQ(gdb.Ask("?"), "T05thread:1;");
                                            gdb.SendRaw(GdbPacket("c"));
                                            asleep_.get_future().wait();
                                            for (int i = 0; i < 3; ++i) {
                                              gdb.SendRaw("\x03");
                                              EXPECT_EQ(gdb.Packet(), "T02thread:1;");
                                              EXPECT_TRUE(IsWfi(gdb));
                                              gdb.SendRaw(GdbPacket("c"));
                                            }
                                            gdb.SendRaw("\x03");
                                            EXPECT_EQ(gdb.Packet(), "T02thread:1;");
                                            EXPECT_EQ(gdb.Ask("D"), "OK");
                                          }).share();
  Simulate(client);
  EXPECT_EQ(controller_->state(), FirmwareState::READY);
  controller_->Post({static_cast<uint32_t>(MailboxCommand::PING), 5, 0}, sc_core::SC_ZERO_TIME);
  sc_core::sc_start(1, sc_core::SC_MS);
  EXPECT_EQ(controller_->mailbox_result(0), ~5u) << "it works on without a debugger";
}

TEST_F(GdbSleepTest, AConnectionThatBreaksWhileItSleepsIsADetach) {
  const std::shared_future<void> client = std::async(std::launch::async, [this] {
                                            test::GdbClient gdb(server_.port());
                                            EXPECT_EQ(gdb.Ask("?"), "T05thread:1;");
                                            gdb.SendRaw(GdbPacket("c"));
                                            asleep_.get_future().wait();
                                            gdb.SendRaw("\x03");
                                            EXPECT_EQ(gdb.Packet(), "T02thread:1;");
                                            gdb.SendRaw(GdbPacket("c"));
                                            gdb.Close();
                                          }).share();
  Simulate(client);
  controller_->Post({static_cast<uint32_t>(MailboxCommand::PING), 6, 0}, sc_core::SC_ZERO_TIME);
  sc_core::sc_start(1, sc_core::SC_MS);
  EXPECT_EQ(controller_->mailbox_result(0), ~6u);
}

}  // namespace
}  // namespace spyre::cosim::gdb_sleep_test
