// SPDX-License-Identifier: Apache-2.0
// What a card does when the host's answers are late, damaged or missing, when its link goes down,
// and when it sleeps. Offsets and bits are written out from the PCI Express base specification.
#include <gmock/gmock.h>

#include <array>
#include <tuple>

#include "driver/pci.h"
#include "tests/integration/queue_by_hand.h"
#include "tests/paths.h"

namespace spyre::test::pcie_errors_test {
namespace {

using cosim::ReadFault;

constexpr uint32_t kCommand = 0x04, kPowerControl = 0x44;
constexpr uint32_t kDeviceControl = 0x78, kDeviceControl2 = 0x98;
constexpr uint32_t kErrors = 0x100;  // advanced error reporting
constexpr uint32_t kInitiateFlr = 1u << 15;
constexpr uint64_t kMs = 1'000'000'000;
constexpr uint64_t kCopyBytes = 16384;

class PcieErrors : public QueueByHand {
 protected:
  // What one answer does. That the card asks again is shown in tests/integration/faults.
  PcieErrors() { config_.pcie.read_retries = 0; }

  uint32_t Config(uint32_t offset) { return transport_->ConfigRead(0, offset); }
  uint32_t Status() { return Config(kCommand) >> 16; }
  uint32_t DeviceStatus() { return Config(kDeviceControl) >> 16; }
  bool Pending() { return (DeviceStatus() >> 5 & 1) != 0; }
  uint32_t Uncorrectable() { return Config(kErrors + 0x04); }

  // One copy into device memory; host memory is the test's.
  void PutCopy(uint32_t stream = 0) {
    host_.assign(kCopyBytes, 0x5A);
    io_ = transport_->MapHost(0, host_.data(), host_.size());
    ControlBlock copy = Block(Opcode::DMA_IN, stream);
    copy.host_address = io_;
    copy.size_bytes = host_.size();
    Seal(copy);
    Put(copy);
  }
  void FailPage(ReadFault::Kind kind, uint64_t times = 1) {
    transport_->bridge().AddReadFault({kind, 0, io_ + 4096, 4096, times});
  }
  // Of device memory from address 0 on, through BAR2.
  std::array<uint32_t, 2> MemoryAt(uint64_t offset) {
    return {transport_->Read32(0, 2, offset), transport_->Read32(0, 2, offset + 4)};
  }
  void Reopen() {
    admin_->Reset();
    driver::PhysicalFunction(*admin_).MapRange(0, 1 << 20, kPermissionRead | kPermissionWrite);
    registers_->WriteQueueControl(0);
    submission_.assign(submission_.size(), {});
    response_.assign(response_.size(), {});
    Program();
  }
  void ExpectItWorks() {
    PutCopy();
    Ring();
    Settle();
    EXPECT_EQ(StatusAt(0), Status::OK);
    EXPECT_EQ(MemoryAt(4096), (std::array<uint32_t, 2>{0x5A5A5A5A, 0x5A5A5A5A}));
  }

  std::vector<uint8_t> host_;
  driver::IoAddress io_ = 0;
};

TEST_P(PcieErrors, AReadWithoutAnAnswerEndsAtTheTimeOutAndIsLoggedThen) {
  OpenByHand();
  PutCopy();
  FailPage(ReadFault::Kind::kNoCompletion);
  Put(Block(Opcode::NOP, 1));
  Ring();
  transport_->Advance(259 * kMs);
  EXPECT_EQ(At(0).magic, 0u) << "the card waits: 260 ms are the least of its range";
  EXPECT_TRUE(Pending());
  EXPECT_EQ(Uncorrectable(), 0u);
  transport_->Advance(2 * kMs);
  EXPECT_EQ(StatusAt(0), Status::HOST_FAULT);
  EXPECT_EQ(At(0).fault_address, io_ + 4096);
  EXPECT_NEAR(static_cast<double>(At(0).finished_ps - At(0).started_ps), 260.0 * kMs, 0.1 * kMs);
  EXPECT_FALSE(Pending());
  EXPECT_EQ(Uncorrectable(), 1u << 14) << "completion timeout";
  EXPECT_EQ(DeviceStatus(), 1u << 1) << "non-fatal error detected";
  EXPECT_EQ(StatusAt(1), Status::OK) << "another stream goes on";
}

TEST_P(PcieErrors, SoftwareChoosesTheTimeOut) {
  OpenByHand();
  transport_->ConfigWrite(0, kDeviceControl2, 0x5);  // 16 ms to 55 ms
  PutCopy();
  FailPage(ReadFault::Kind::kNoCompletion);
  Ring();
  transport_->Advance(20 * kMs);
  EXPECT_EQ(StatusAt(0), Status::HOST_FAULT);
  EXPECT_NEAR(static_cast<double>(At(0).finished_ps - At(0).started_ps), 16.0 * kMs, 0.1 * kMs);
}

TEST_P(PcieErrors, AnFlrEndsTheWaitForAnAnswer) {
  OpenByHand();
  transport_->ConfigWrite(0, kDeviceControl2, 0x19);  // no time-out
  PutCopy();
  FailPage(ReadFault::Kind::kNoCompletion);
  Ring();
  transport_->Advance(5000 * kMs);
  EXPECT_EQ(At(0).magic, 0u);
  EXPECT_TRUE(Pending());
  transport_->ConfigWrite(0, kDeviceControl, Config(kDeviceControl) | kInitiateFlr);
  transport_->Advance(kMs);
  EXPECT_FALSE(Pending());
  EXPECT_EQ(Uncorrectable(), 0u) << "it was given up, not timed out";
  Reopen();
  EXPECT_EQ(At(0).magic, 0u);
  ExpectItWorks();
}

TEST_P(PcieErrors, EntriesThatNeverComeStopTheQueue) {
  OpenByHand();
  transport_->ConfigWrite(0, kDeviceControl2, 0x5);
  transport_->bridge().AddReadFault({ReadFault::Kind::kNoCompletion, 0, 0, UINT64_MAX, 1});
  Put(Block(Opcode::NOP));
  Ring();
  transport_->Advance(10 * kMs);
  EXPECT_EQ(registers_->ReadStatusError(), 0u);
  transport_->Advance(10 * kMs);
  EXPECT_EQ(registers_->ReadStatusError(), 1u);
  EXPECT_EQ(registers_->ReadErrorCode(), static_cast<uint32_t>(Status::HOST_FAULT));
  EXPECT_EQ(Uncorrectable(), 1u << 14);
  Reopen();
  ExpectItWorks();
}

TEST_P(PcieErrors, AnFlrEndsTheWaitForEntriesToo) {
  OpenByHand();
  transport_->ConfigWrite(0, kDeviceControl2, 0x19);
  transport_->bridge().AddReadFault({ReadFault::Kind::kNoCompletion, 0, 0, UINT64_MAX, 1});
  Put(Block(Opcode::NOP));
  Ring();
  transport_->Advance(kMs);
  transport_->ConfigWrite(0, kDeviceControl, Config(kDeviceControl) | kInitiateFlr);
  transport_->Advance(kMs);
  Reopen();
  ExpectItWorks();
}

TEST_P(PcieErrors, DamagedDataReachNoMemory) {
  OpenByHand();
  PutCopy();
  FailPage(ReadFault::Kind::kPoisoned);
  Ring();
  Settle();
  EXPECT_EQ(StatusAt(0), Status::HOST_FAULT);
  EXPECT_EQ(At(0).fault_address, io_ + 4096);
  EXPECT_EQ(MemoryAt(4096), (std::array<uint32_t, 2>{0, 0}));
  EXPECT_EQ(Uncorrectable(), 1u << 12) << "poisoned TLP received";
  EXPECT_EQ(DeviceStatus(), 1u << 1);
  EXPECT_EQ(Status() & 0xF900, 0x8000u) << "detected parity error; Command asks for no more";
  transport_->ConfigWrite(0, kCommand,
                          (Config(kCommand) & 0xFFFF) | 0x40);  // parity error response
  Reopen();
  PutCopy();
  FailPage(ReadFault::Kind::kPoisoned);
  transport_->ConfigWrite(0, kCommand, (Config(kCommand) & 0xFFFF) | 0x40);
  Ring();
  Settle();
  EXPECT_EQ(Status() & 0xF900, 0x8100u) << "and master data parity error";
}

TEST_P(PcieErrors, RefusalsOfTheHostAreAborts) {
  OpenByHand();
  for (const auto& [kind, bit] : {std::pair{ReadFault::Kind::kUnsupported, 0x2000u},
                                  std::pair{ReadFault::Kind::kAbort, 0x1000u}}) {
    PutCopy();
    FailPage(kind);
    Ring();
    Settle();
    EXPECT_EQ(StatusAt(0), Status::HOST_FAULT);
    EXPECT_EQ(Status() & 0xF900, bit) << "received master abort, received target abort";
    EXPECT_EQ(Uncorrectable(), 0u) << "the completer's error, which it logs";
    transport_->ConfigWrite(0, kCommand, 0xF9000000 | (Config(kCommand) & 0xFFFF));
    Reopen();
  }
}

// D3hot keeps everything ("no soft reset"), and is silent.
TEST_P(PcieErrors, ACardThatSleepsAnswersNothingAndGoesOnWhenItWakes) {
  OpenByHand();
  ExpectItWorks();
  EXPECT_EQ(Config(kPowerControl) & 0x8, 0x8u) << "no soft reset";
  transport_->ConfigWrite(0, kPowerControl, 3);
  EXPECT_EQ(transport_->Read32(0, 0, 0), UINT32_MAX);
  EXPECT_EQ(Config(0), 0x06A71014u) << "its configuration space is there";
  PutCopy();
  Ring();  // reaches nobody
  Settle();
  EXPECT_EQ(At(1).magic, 0u);
  transport_->ConfigWrite(0, kPowerControl, 0);
  transport_->Advance(10 * kMs);
  EXPECT_EQ(transport_->Read32(0, 0, 0), 0x52595053u);
  EXPECT_EQ(At(1).magic, 0u) << "the doorbell is lost";
  Ring();
  Settle();
  EXPECT_EQ(StatusAt(1), Status::OK);
}

// An interrupt that falls due while the card sleeps is not sent, and not later either: software
// looks at the ring when it wakes the card.
TEST_P(PcieErrors, ACardThatIsPutToSleepInTheMiddleOfACopyEndsItWithAHostFault) {
  OpenByHand();
  host_.assign(1 << 20, 1);
  ControlBlock copy = Block(Opcode::DMA_IN);
  copy.host_address = transport_->MapHost(0, host_.data(), host_.size());
  copy.size_bytes = host_.size();
  Seal(copy);
  Put(copy);
  Ring();
  transport_->Advance(5'000'000);  // 5 us: the copy takes about 17
  transport_->ConfigWrite(0, kPowerControl, 3);
  transport_->Advance(kMs);
  transport_->ConfigWrite(0, kPowerControl, 0);
  transport_->Advance(10 * kMs);
  EXPECT_EQ(registers_->ReadStatusBusy(), 0u);
  EXPECT_EQ(At(0).magic, 0u) << "its response could not be written";
  EXPECT_EQ(registers_->ReadErrorCode(), static_cast<uint32_t>(Status::HOST_FAULT));
  Reopen();
  ExpectItWorks();
}

// By the wire's own arithmetic: a packet of 512 bytes takes 544 on the link, four of 128 take 640.
TEST_P(PcieErrors, PayloadsAreAsLargeAsSoftwareSays) {
  config_.pcie.host_posted_headers = 4096;  // so that the wire is what limits
  OpenByHand();
  const auto copy_ps = [this](uint32_t payload) {
    transport_->ConfigWrite(0, kDeviceControl, (Config(kDeviceControl) & 0xFF1F) | payload << 5);
    host_.assign(1 << 20, 0);
    ControlBlock copy = Block(Opcode::DMA_OUT);
    copy.host_address = transport_->MapHost(0, host_.data(), host_.size());
    copy.size_bytes = host_.size();
    Seal(copy);
    Put(copy);
    Ring();
    Settle();
    const Response& response = At(tail_ - 1);
    EXPECT_EQ(StatusAt(tail_ - 1), Status::OK);
    return static_cast<double>(response.finished_ps - response.started_ps);
  };
  const double large = copy_ps(2), small = copy_ps(0);
  EXPECT_NEAR(small / large, 640.0 / 544.0, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Fidelity, PcieErrors, ::testing::Values("timed", "rtl"));

// With every choice for the two blocks that keep state beside the endpoint.
class HotReset : public CardFixture,
                 public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {
 protected:
  HotReset() {
    config_.num_vfs = 4;
    config_.control.fidelity = Named(std::get<0>(GetParam()));
    config_.management.fidelity = Named(std::get<1>(GetParam()));
    transport_ = std::make_unique<cosim::InProcessTransport>(config_, cosim::HostTiming{}, nullptr);
  }

  // Everything that software can read: configuration spaces, registers but those that count time.
  std::vector<uint32_t> Everything() {
    std::vector<uint32_t> words;
    for (driver::FunctionId function = 0; function <= 4; ++function) {
      for (uint32_t offset = 0; offset < 4096; offset += 4)
        words.push_back(transport_->ConfigRead(function, offset));
    }
    transport_->ConfigWrite(0, kCommand, driver::pci::kCommandMemory);
    transport_->Advance(kMs);  // the firmware starts
    for (uint32_t offset = 0; offset < 0x8000; offset += 4) {
      const bool counts = offset == 0x24 || offset == 0x28 || offset == regs::MGMT_HEARTBEAT;
      words.push_back(counts ? 0 : transport_->Read32(0, 0, offset));
    }
    transport_->ConfigWrite(0, kCommand, 0);
    return words;
  }
  // The whole column on VF 2: gives it memory, and copies there and back.
  void UseVirtualFunction() {
    driver::Device physical(*transport_, 0);
    driver::PhysicalFunction manager(physical);
    manager.EnableVirtualFunctions(3);
    manager.AssignRegion(2, 0, kRegionBytes, kRegionBytes);
    manager.MapRange(0, 1 << 20, kPermissionRead | kPermissionWrite);
    physical.registers().WriteScratch(0x12345678);
    physical.registers().WriteWindowBase(1 << 20);
    flex::RuntimeContext context(*transport_, 2);
    const std::vector<uint32_t> data(1 << 16, 0xC0FFEE);
    std::vector<uint32_t> back(data.size());
    const auto handle = context.Allocate(data.size() * 4);
    context.DefaultStream().CopyToDevice(data.data(), handle, data.size() * 4);
    context.DefaultStream().CopyFromDevice(back.data(), handle, back.size() * 4);
    context.DefaultStream().Synchronize();
    EXPECT_EQ(back, data);
  }
};

TEST_P(HotReset, LeavesTheCardAsPowerOnDoes) {
  const std::vector<uint32_t> at_power_on = Everything();
  UseVirtualFunction();
  EXPECT_NE(Everything(), at_power_on);
  transport_->HotReset();
  EXPECT_EQ(Everything(), at_power_on);
  UseVirtualFunction();
}

TEST_P(HotReset, InTheMiddleOfWorkDropsIt) {
  {
    driver::Device physical(*transport_, 0);
    driver::PhysicalFunction manager(physical);
    manager.EnableVirtualFunctions(3);
    manager.AssignRegion(2, 0, 0, kRegionBytes);
    flex::RuntimeContext context(*transport_, 2);
    const std::vector<uint32_t> data(1 << 20, 1);
    const auto handle = context.Allocate(data.size() * 4);
    context.DefaultStream().CopyToDevice(data.data(), handle, data.size() * 4);
    transport_->Advance(20'000'000);
    transport_->HotReset();
    EXPECT_THROW(context.DefaultStream().Synchronize(), Error);
  }
  UseVirtualFunction();
}

TEST_P(HotReset, ErrorsThatWereLoggedSurviveItAndPowerOnDoesNotShowThem) {
  transport_->Read32(0, 0, 0);  // no BAR is enabled: an unsupported request
  EXPECT_EQ(transport_->ConfigRead(0, kErrors + 4), 1u << 20);
  EXPECT_EQ(transport_->ConfigRead(0, kErrors + 0x1C), 0x00000001u) << "a read of one word";
  transport_->HotReset();
  EXPECT_EQ(transport_->ConfigRead(0, kErrors + 4), 1u << 20);
  EXPECT_EQ(transport_->ConfigRead(0, kDeviceControl) >> 16 & 0xF, 0u) << "this is not sticky";
  transport_->SetPresent(false);
  transport_->SetPresent(true);
  EXPECT_EQ(transport_->ConfigRead(0, kErrors + 4), 0u);
}

TEST_P(HotReset, ACardThatIsPulledOutIsNamedAndWorksWhenItIsPutBack) {
  {
    driver::Device physical(*transport_, 0);
    driver::PhysicalFunction manager(physical);
    transport_->SetPresent(false);
    EXPECT_EQ(transport_->ConfigRead(0, 0), UINT32_MAX);
    EXPECT_EQ(transport_->Read32(0, 0, 0), UINT32_MAX);
    EXPECT_THAT(FailureOf([&] { manager.AssignRegion(1, 0, 0, kRegionBytes); }),
                ::testing::HasSubstr("function 0"));
    EXPECT_THAT(FailureOf([&] { physical.Reset(); }), ::testing::HasSubstr("function 0"));
  }
  transport_->SetPresent(true);
  transport_->Advance(100 * kMs);
  UseVirtualFunction();
}

INSTANTIATE_TEST_SUITE_P(Fidelity, HotReset,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Values("behavioural", "rtl")));

// A card that is lost because its firmware trapped.
TEST(HotResetOfALostCard, BringsItBack) {
  model::CardConfig config;
  config.management.fidelity = model::ManagementFidelity::kRtl;
  config.management.firmware = SPYRE_BUILD_DIR "/tests/firmware/trap.elf";
  cosim::InProcessTransport transport(config, {}, nullptr);
  const auto lost = [&] {
    try {
      transport.Advance(10 * kMs);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kDeviceFault;
    }
    return false;
  };
  EXPECT_TRUE(lost());
  EXPECT_FALSE(lost()) << "said once";
  EXPECT_EQ(transport.ConfigRead(0, 0), 0x06A71014u);
  try {
    transport.HotReset();  // the same image: it traps again
    ADD_FAILURE() << "the firmware should have been started again";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("mcause 2"));
  }
}

}  // namespace
}  // namespace spyre::test::pcie_errors_test
