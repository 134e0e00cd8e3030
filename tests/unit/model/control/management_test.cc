#include "model/control/management.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace spyre::model {
namespace {

constexpr uint8_t kAllPermissions = kPermissionRead | kPermissionWrite | kPermissionExecute;
constexpr uint64_t kGiB = 1ull << 30;

class ManagementTest : public ::testing::Test {
 protected:
  ManagementTest() {
    EXPECT_EQ(management_.AssignRegion(1, 2, {8 * kGiB, kGiB, kAllPermissions}),
              Mmu::RegionResult::kDone);
    EXPECT_EQ(management_.AssignRegion(1, 7, {16 * kGiB, kGiB, kAllPermissions}),
              Mmu::RegionResult::kDone);
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
    return management_.TranslateMessage(1, message, &block_, &fault_);
  }

  CardConfig config_;
  Mmu mmu_{config_};
  BehaviouralManagement management_{config_, mmu_};
  ControlBlock block_;
  uint64_t fault_ = 0;
};

TEST_F(ManagementTest, ACopyBecomesAControlBlockWithThePhysicalAddress) {
  ASSERT_EQ(Translate(Copy(2, 4096, 1000)), Status::OK);
  EXPECT_EQ(block_.device_address, 8 * kGiB + 4096);
  EXPECT_EQ(block_.size_bytes, 1000u);
  EXPECT_EQ(block_.host_address, 0x1000u);
  EXPECT_EQ(block_.function, 1u);
  EXPECT_EQ(Check(block_), Status::OK) << "sealed";
}

TEST_F(ManagementTest, ALocationOutsideItsRegionIsAPageFault) {
  EXPECT_EQ(Translate(Copy(2, kGiB - 128, 256)), Status::PAGE_FAULT);
  EXPECT_EQ(fault_, SegmentAddress(2, kGiB - 128));
  EXPECT_EQ(Translate(Copy(2, ~0ull - 127, 256)), Status::PAGE_FAULT) << "offset + size wraps";
  EXPECT_EQ(Translate(Copy(3, 0, 128)), Status::PAGE_FAULT) << "region not assigned";
}

TEST_F(ManagementTest, BadFieldsAreNamedByTheirOffset) {
  EXPECT_EQ(Translate(Copy(8, 0, 128)), Status::BAD_FIELD);
  EXPECT_EQ(fault_, offsetof(Message, device_region));
  EXPECT_EQ(Translate(Copy(2, 64, 128)), Status::MISALIGNED);
  Message broken = Copy(2, 0, 128);
  broken.size_bytes ^= 1;
  EXPECT_EQ(Translate(broken), Status::BAD_CRC);
}

TEST_F(ManagementTest, AProgramMustLieInsideItsRegion) {
  Message message;
  message.opcode = static_cast<uint8_t>(Opcode::COMPUTE);
  message.program_region = 7;
  message.program_offset = 128;
  message.program_bytes = 4096;
  message.device_offset = 256;
  Seal(message);
  ASSERT_EQ(Translate(message), Status::OK);
  EXPECT_EQ(block_.program_base, 16 * kGiB + 128);
  EXPECT_EQ(block_.program_bytes, 4096u);
  EXPECT_EQ(block_.device_address, 256u);
  EXPECT_EQ(block_.segment_table, 0u) << "a VF cannot bring a table of its own";
  message.program_bytes = kGiB;
  Seal(message);
  EXPECT_EQ(Translate(message), Status::PAGE_FAULT);
}

}  // namespace
}  // namespace spyre::model
