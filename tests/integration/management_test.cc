// SPDX-License-Identifier: Apache-2.0
// What a PF can ask of the management controller through its driver, and what it does to the VFs:
// with the firmware as host code and on its RTL controller.
#include <gtest/gtest.h>

#include "base/error.h"
#include "bringup/ladder/raw_queue.h"
#include "cosim/host/inprocess_transport.h"
#include "driver/physical_function.h"
#include "model/contract/program.h"
#include "tests/card_choices.h"

namespace spyre::test::management_test {
namespace {

using bringup::RawQueue;

constexpr uint64_t kGiB = 1ull << 30;

class Management : public ::testing::TestWithParam<const char*> {
 protected:
  Management() {
    config_.management.fidelity = test::Named(GetParam());
    transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
    physical_ = std::make_unique<driver::Device>(*transport_, 0);
    manager_ = std::make_unique<driver::PhysicalFunction>(*physical_);
    manager_->EnableVirtualFunctions(2);
  }

  // The status of one copy of `bytes` into region 0 of VF 1, from a queue of its own.
  Status Copy(uint64_t offset, uint64_t bytes) {
    driver::Device vf(*transport_, 1);
    std::vector<uint8_t> host(bytes);
    const driver::IoAddress io = transport_->MapHost(1, host.data(), host.size());
    RawQueue queue(*transport_, 1);
    auto message = queue.Make<Message>(Opcode::DMA_IN);
    message.host_address = io;
    message.device_offset = offset;
    message.size_bytes = bytes;
    queue.Put(message);
    queue.Ring();
    const Status status = queue.Settle().at(1);
    transport_->UnmapHost(1, io);
    return status;
  }
  std::string RefusalOf(const std::function<void()>& request) {
    try {
      request();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "no error";
  }

  model::CardConfig config_;
  std::unique_ptr<cosim::InProcessTransport> transport_;
  std::unique_ptr<driver::Device> physical_;
  std::unique_ptr<driver::PhysicalFunction> manager_;
};

TEST_P(Management, ARegionIsUsableWhenItIsActiveAndNotBefore) {
  manager_->CreateRegion(1, 0, kGiB);
  EXPECT_EQ(Copy(0, 128), Status::PAGE_FAULT);
  manager_->MapRegion(1, 0, 4 * kGiB);
  EXPECT_EQ(Copy(0, 128), Status::PAGE_FAULT);
  manager_->ActivateRegion(1, 0);
  EXPECT_EQ(Copy(0, 128), Status::OK);
  EXPECT_EQ(Copy(kGiB, 128), Status::PAGE_FAULT);
  manager_->ResizeRegion(1, 0, 2 * kGiB);
  EXPECT_EQ(Copy(kGiB, 128), Status::OK);
  manager_->ReleaseRegion(1, 0);
  EXPECT_EQ(Copy(0, 128), Status::PAGE_FAULT);
}

TEST_P(Management, RefusalsSayWhy) {
  manager_->AssignRegion(1, 0, 0, kGiB);
  EXPECT_NE(RefusalOf([&] { manager_->AssignRegion(2, 0, kGiB / 2, kGiB); }).find("overlaps"),
            std::string::npos);
  EXPECT_NE(RefusalOf([&] { manager_->ActivateRegion(2, 3); }).find("state"), std::string::npos);
  manager_->SetRegionQuota(2, kGiB);
  EXPECT_NE(RefusalOf([&] { manager_->AssignRegion(2, 0, kGiB, 2 * kGiB); }).find("quota"),
            std::string::npos);
}

TEST_P(Management, QuotasAndSwitchesHoldForMessages) {
  manager_->AssignRegion(1, 0, 0, kGiB);
  manager_->SetTransferQuota(1, 4096);
  EXPECT_EQ(Copy(0, 4096), Status::OK);
  EXPECT_EQ(Copy(0, 4224), Status::BAD_FIELD);
  manager_->SetTransferQuota(1, 0);
  EXPECT_EQ(Copy(0, 4224), Status::OK);
  manager_->SetEnabled(1, false);
  EXPECT_EQ(Copy(0, 128), Status::PERMISSION);
  manager_->SetEnabled(1, true);
  EXPECT_EQ(Copy(0, 128), Status::OK);
}

TEST_P(Management, AProgramRunsOnTheCoresOfItsFunctionOnly) {
  manager_->AssignRegion(1, 0, 0, kGiB);
  const std::vector<uint8_t> image =
      Encode(Assemble(".program empty\n.cores 0xF\n.section vector 0xF\n  nop\n"));
  for (size_t at = 0; at < image.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, &image[at], std::min<size_t>(4, image.size() - at));
    manager_->PokeMemory(at, word);
  }
  const auto run = [&] {
    driver::Device vf(*transport_, 1);
    RawQueue queue(*transport_, 1);
    auto message = queue.Make<Message>(Opcode::COMPUTE);
    message.program_bytes = AlignUp(image.size(), kStickBytes);
    queue.Put(message);
    queue.Ring();
    return queue.Settle().at(1);
  };
  EXPECT_EQ(run(), Status::OK);
  manager_->SetCores(1, 0x7);
  EXPECT_EQ(run(), Status::PERMISSION);
  manager_->SetCores(1, 0xF);
  EXPECT_EQ(run(), Status::OK);
}

TEST_P(Management, TheFirmwareTellsVersionCountersAndErrors) {
  EXPECT_EQ(manager_->ReadFirmwareVersion().major, 1);
  EXPECT_TRUE(manager_->SelfTest());
  manager_->AssignRegion(1, 0, 0, kGiB);
  manager_->ClearErrorLog();
  EXPECT_EQ(Copy(0, 4096), Status::OK);
  EXPECT_EQ(Copy(2 * kGiB, 128), Status::PAGE_FAULT);
  EXPECT_EQ(manager_->ReadCounter(Counter::MESSAGES, 1), 2u);
  EXPECT_EQ(manager_->ReadCounter(Counter::REFUSED), 1u);
  EXPECT_EQ(manager_->ReadCounter(Counter::BYTES), 4096u);
  const std::vector<driver::RasRecord> records = manager_->ReadErrorLog();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].code, RasCode::MESSAGE_REFUSED);
  EXPECT_EQ(records[0].severity, RasSeverity::NON_FATAL);
  EXPECT_EQ(records[0].function, 1);
  EXPECT_EQ(records[0].detail[0], static_cast<uint32_t>(Status::PAGE_FAULT));
}

TEST_P(Management, AFunctionLevelResetIsLoggedAndKeepsItsRegions) {
  manager_->AssignRegion(1, 0, 0, kGiB);
  {
    driver::Device vf(*transport_, 1);
    vf.Reset();
    EXPECT_EQ(vf.identity().regions, 1);
  }
  EXPECT_EQ(manager_->ReadCounter(Counter::RESETS), 1u);
  EXPECT_EQ(manager_->ReadErrorLog().back().code, RasCode::FUNCTION_RESET);
  EXPECT_EQ(Copy(0, 128), Status::OK);
}

INSTANTIATE_TEST_SUITE_P(Firmware, Management, ::testing::Values("behavioural", "rtl"),
                         [](const auto& fidelity) { return std::string(fidelity.param); });

}  // namespace
}  // namespace spyre::test::management_test
