// SPDX-License-Identifier: Apache-2.0
// The management controller with the firmware as host code: what the rest of the card sees of it.
#include "model/control/management.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "model/common/transfer.h"

namespace spyre::model::management_test {
namespace {

constexpr uint64_t kGiB = 1ull << 30;

class ManagementTest : public ::testing::Test,
                       public InterruptInterface,
                       public FaultInterface,
                       public MemoryClearInterface {
 protected:
  ManagementTest() {
    controller_.interrupt.bind(*this);
    controller_.lost.bind(*this);
    controller_.scrubber().memory.bind(*this);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
  }

  AdminStatus Ask(AdminCommand command, uint32_t vf, uint32_t region, uint64_t base,
                  uint64_t length) {
    controller_.Request({static_cast<uint32_t>(command), vf, region, base, length},
                        sc_core::SC_ZERO_TIME);
    EXPECT_EQ(controller_.admin_status(), kAdminBusy);
    sc_core::sc_start(Ps(1000000));
    return static_cast<AdminStatus>(controller_.admin_status());
  }
  static Message Copy(uint32_t region, uint64_t offset, uint64_t size) {
    Message message;
    message.opcode = static_cast<uint8_t>(Opcode::DMA_IN);
    message.sequence = 1;
    message.host_address = 0x1000;
    message.device_region = region;
    message.device_offset = offset;
    message.size_bytes = size;
    Seal(message);
    return message;
  }
  Status Translate(const Message& message) {
    Status status{};
    sc_core::sc_spawn([&] {
      const uint64_t begin = NowPs();
      status = controller_.TranslateMessage(1, message, &block_, &fault_);
      took_ps_ = NowPs() - begin;
    });
    sc_core::sc_start(Ps(10000000));
    return status;
  }

  void Interrupt(unsigned function, uint32_t causes) override {
    EXPECT_EQ(function, 0u) << "answers are for the physical function";
    EXPECT_EQ(causes, regs::INT_STATUS_ADMIN_MASK);
    ++answers_;
  }
  void Lost() override { ADD_FAILURE() << controller_.fault(); }
  void ClearMemory(uint64_t base, uint64_t bytes) override { cleared_.emplace_back(base, bytes); }

  CardConfig config_;
  Mmu mmu_{config_};
  ManagementController controller_{"management", config_, mmu_};
  std::vector<std::pair<uint64_t, uint64_t>> cleared_;
  ControlBlock block_;
  uint64_t fault_ = 0;
  uint64_t took_ps_ = 0;
  int answers_ = 0;
};

TEST_F(ManagementTest, TheFirmwareIsReadyBeforeTheHostCanAsk) {
  EXPECT_EQ(controller_.state(), FirmwareState::READY);
  EXPECT_NE(controller_.version(), 0u);
  EXPECT_FALSE(controller_.log().empty());
  EXPECT_TRUE(controller_.accepting(0));
  EXPECT_TRUE(controller_.accepting(1));
}

TEST_F(ManagementTest, ARegionThatThePfAssignsIsInTheMmu) {
  EXPECT_EQ(Ask(AdminCommand::ASSIGN, 1, 2, 8 * kGiB, kGiB), AdminStatus::DONE);
  EXPECT_EQ(mmu_.region(1, 2).base, 8 * kGiB);
  EXPECT_EQ(mmu_.region(1, 2).length, kGiB);
  EXPECT_EQ(answers_, 1) << "the PF hears of it";
  EXPECT_EQ(Ask(AdminCommand::RELEASE, 1, 2, 0, 0), AdminStatus::DONE);
  EXPECT_EQ(mmu_.region(1, 2).length, 0u);
}

// 102,400 bytes a microsecond; of granules of 128 MiB that somebody had.
TEST_F(ManagementTest, MemoryThatSomebodyHadIsClearedBeforeTheAnswer) {
  EXPECT_EQ(Ask(AdminCommand::ASSIGN, 1, 0, kGiB, kGiB / 4), AdminStatus::DONE);
  EXPECT_EQ(Ask(AdminCommand::RELEASE, 1, 0, 0, 0), AdminStatus::DONE);
  EXPECT_TRUE(cleared_.empty());
  controller_.Request({static_cast<uint32_t>(AdminCommand::ASSIGN), 1, 1, kGiB - 4096, kGiB / 2},
                      sc_core::SC_ZERO_TIME);
  sc_core::sc_start(Ps(2'600'000'000));
  EXPECT_EQ(controller_.admin_status(), kAdminBusy) << "a quarter of a GiB takes 2,621 us";
  EXPECT_EQ(mmu_.region(1, 1).length, 0u) << "nobody may look yet";
  sc_core::sc_start(Ps(30'000'000));
  EXPECT_EQ(controller_.admin_status(), static_cast<uint32_t>(AdminStatus::DONE));
  EXPECT_EQ(mmu_.region(1, 1).length, kGiB / 2);
  EXPECT_EQ(cleared_, (std::vector<std::pair<uint64_t, uint64_t>>{{kGiB, kGiB / 8},
                                                                  {kGiB + kGiB / 8, kGiB / 8}}));
}

TEST_F(ManagementTest, ARefusedRequestLeavesTheMmuAlone) {
  ASSERT_EQ(Ask(AdminCommand::ASSIGN, 1, 0, 0, 4 * kGiB), AdminStatus::DONE);
  EXPECT_EQ(Ask(AdminCommand::ASSIGN, 2, 0, 2 * kGiB, 4 * kGiB), AdminStatus::OVERLAP);
  EXPECT_EQ(mmu_.region(2, 0).length, 0u);
}

TEST_F(ManagementTest, ASecondRequestBeforeTheAnswerIsIgnored) {
  controller_.Request({static_cast<uint32_t>(AdminCommand::ASSIGN), 1, 0, 0, kGiB},
                      sc_core::SC_ZERO_TIME);
  controller_.Request({static_cast<uint32_t>(AdminCommand::ASSIGN), 1, 1, kGiB, kGiB},
                      sc_core::SC_ZERO_TIME);
  sc_core::sc_start(Ps(1000000));
  EXPECT_EQ(mmu_.region(1, 0).length, kGiB);
  EXPECT_EQ(mmu_.region(1, 1).length, 0u);
}

TEST_F(ManagementTest, CoresOfAFunctionReachTheDispatcher) {
  EXPECT_EQ(Ask(AdminCommand::SET_CORES, 1, 0, 0, 0xF0), AdminStatus::DONE);
  EXPECT_EQ(mmu_.cores(1), 0xF0u);
}

TEST_F(ManagementTest, ACopyBecomesAControlBlockWithThePhysicalAddress) {
  Ask(AdminCommand::ASSIGN, 1, 2, 8 * kGiB, kGiB);
  ASSERT_EQ(Translate(Copy(2, 4096, 1000)), Status::OK);
  EXPECT_EQ(block_.device_address, 8 * kGiB + 4096);
  EXPECT_EQ(block_.size_bytes, 1000u);
  EXPECT_EQ(block_.host_address, 0x1000u);
  EXPECT_EQ(block_.function, 1u);
  EXPECT_EQ(Check(block_), Status::OK) << "sealed";
  EXPECT_EQ(took_ps_, config_.management.message_ns * 1000);
}

TEST_F(ManagementTest, ALocationOutsideItsRegionIsAPageFault) {
  Ask(AdminCommand::ASSIGN, 1, 2, 8 * kGiB, kGiB);
  EXPECT_EQ(Translate(Copy(2, kGiB - 128, 256)), Status::PAGE_FAULT);
  EXPECT_EQ(fault_, SegmentAddress(2, kGiB - 128));
}

TEST_F(ManagementTest, AFunctionUnderResetIsFencedUntilTheFirmwareHasCleanedUp) {
  int opened = 0;
  controller_.OnAccepting([&] { ++opened; });
  controller_.FunctionReset(1);
  EXPECT_FALSE(controller_.accepting(1));
  EXPECT_TRUE(controller_.accepting(2));
  sc_core::sc_start(Ps(1000000));
  EXPECT_TRUE(controller_.accepting(1));
  EXPECT_EQ(opened, 1);
}

TEST_F(ManagementTest, TheMailboxAnswers) {
  controller_.Post({static_cast<uint32_t>(MailboxCommand::PING), 0x12345678, 0},
                   sc_core::SC_ZERO_TIME);
  EXPECT_EQ(controller_.mailbox_status(), kAdminBusy);
  sc_core::sc_start(Ps(1000000));
  EXPECT_EQ(controller_.mailbox_status(), static_cast<uint32_t>(MailboxStatus::DONE));
  EXPECT_EQ(controller_.mailbox_result(0), ~0x12345678u);
}

TEST_F(ManagementTest, IdleItHasNothingToDo) {
  sc_core::sc_start(Ps(1000000));
  EXPECT_FALSE(sc_core::sc_pending_activity()) << "no watchdog, no deadline is left";
}

}  // namespace
}  // namespace spyre::model::management_test
