// SPDX-License-Identifier: Apache-2.0
// VfioTransport against a kernel, an IOMMU and devices, in a virtual machine: tests/vm/run.sh boots
// it and runs this program as its only work. No Spyre is emulated there; two devices of QEMU have
// the same mechanisms:
//   edu (QEMU's docs/specs/edu.rst): registers in BAR0, one MSI, a DMA engine of 28 address bits
//     with a buffer at 0x40000, of which QEMU 7.2 takes 4095 bytes at most;
//   nvme (NVM Express base specification, 3.1): SR-IOV with two virtual functions, FLR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "driver/device.h"
#include "driver/host_buffer.h"
#include "driver/pci.h"
#include "driver/vfio_transport.h"

namespace spyre::driver::vfio_guest_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSecondPs = 1'000'000'000'000;
constexpr uint64_t kEduBuffer = 0x40000;
constexpr uint32_t kEduBytes = 4095;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

VfioOptions Edu(unsigned address_bits = 28) {
  VfioOptions options;
  options.device = Variable("SPYRE_EDU");
  options.dma_address_bits = address_bits;
  return options;
}

VfioOptions Nvme() {
  VfioOptions options;
  options.device = Variable("SPYRE_NVME");
  return options;
}

std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The driver of the edu device that the tests need.
class EduCard {
 public:
  explicit EduCard(VfioTransport& transport) : transport_(transport) {
    transport.ConfigWrite(0, pci::kCommandStatus, pci::kCommandMemory | pci::kCommandBusMaster);
  }

  uint32_t Read(uint64_t offset) { return transport_.Read32(0, 0, offset); }
  void Write(uint64_t offset, uint32_t value) { transport_.Write32(0, 0, offset, value); }

  void EnableMsi() {
    const uint32_t msi = *FindCapability(transport_, 0, pci::kCapabilityMsi);
    transport_.ConfigWrite(0, msi, transport_.ConfigRead(0, msi) | pci::kMsiEnable);
  }
  void DisableMsi() {
    const uint32_t msi = *FindCapability(transport_, 0, pci::kCapabilityMsi);
    transport_.ConfigWrite(0, msi, transport_.ConfigRead(0, msi) & ~pci::kMsiEnable);
  }

  void ToCard(IoAddress host, uint32_t bytes, bool interrupt = false) {
    Copy(static_cast<uint32_t>(host), kEduBuffer, bytes, interrupt ? 5 : 1);
  }
  void FromCard(IoAddress host, uint32_t bytes, bool interrupt = false) {
    Copy(kEduBuffer, static_cast<uint32_t>(host), bytes, interrupt ? 7 : 3);
  }

 private:
  void Copy(uint32_t source, uint32_t destination, uint32_t bytes, uint32_t command) {
    Write(0x80, source);
    Write(0x88, destination);
    Write(0x90, bytes);
    Write(0x98, command);
    if ((command & 4) != 0) return;  // an interrupt tells its end
    while ((Read(0x98) & 1) != 0) transport_.Advance(kSecondPs / 1000);
  }

  VfioTransport& transport_;
};

TEST(VfioEdu, ConfigurationSpaceAndRegisters) {
  VfioTransport transport(Edu());
  EXPECT_EQ(transport.ConfigRead(0, pci::kVendorDevice), 0x11E81234u);
  EXPECT_EQ(transport.ConfigRead(1, pci::kVendorDevice), kNobodyAnswers) << "no such function";
  EXPECT_THROW(transport.ConfigRead(0, 2), Error);
  EXPECT_EQ(transport.ConfigRead(0, 0x100), kNobodyAnswers) << "conventional PCI ends at 256";

  transport.ConfigWrite(0, pci::kCommandStatus, 0);
  EXPECT_EQ(transport.Read32(0, 0, 0), kNobodyAnswers) << "its memory space is off";
  EduCard card(transport);
  EXPECT_EQ(card.Read(0x00), 0x010000EDu);
  card.Write(0x04, 0x12345678);
  EXPECT_EQ(card.Read(0x04), 0xEDCBA987u) << "the inverse of what was written";
  card.Write(0x08, 10);
  while ((card.Read(0x20) & 1) != 0) transport.Advance(kSecondPs / 1000);
  EXPECT_EQ(card.Read(0x08), 3628800u) << "10!";
  EXPECT_THROW(card.Read(1 << 20), Error) << "behind BAR0";
  EXPECT_THROW(transport.Read32(0, 1, 0), Error) << "it has no BAR1";
  EXPECT_THROW(transport.Read32(0, 0, 2), Error);
}

TEST(VfioEdu, DmaReachesHostMemoryWhereverItLies) {
  VfioTransport transport(Edu());
  EduCard card(transport);
  std::vector<uint8_t> from(3 * 4096), to(3 * 4096);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 7 + i / 256);
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{4095}}) {
    for (const uint32_t bytes : {1u, 100u, kEduBytes}) {
      std::fill(to.begin(), to.end(), 0xEE);
      const IoAddress source = transport.MapHost(0, from.data() + offset, bytes);
      const IoAddress target = transport.MapHost(0, to.data() + offset, bytes);
      EXPECT_LT(source | target, 1u << 28) << "the card's address lines";
      card.ToCard(source, bytes);
      card.FromCard(target, bytes);
      transport.UnmapHost(0, source);
      transport.UnmapHost(0, target);
      std::vector<uint8_t> expected(to.size(), 0xEE);
      std::memcpy(expected.data() + offset, from.data() + offset, bytes);
      EXPECT_EQ(to, expected) << "offset " << offset << ", bytes " << bytes;
    }
  }
  EXPECT_THROW(transport.UnmapHost(0, 0x1000), Error) << "mapped no more";
}

TEST(VfioEdu, WhatIsNotMappedIsNotReached) {
  VfioTransport transport(Edu());
  EduCard card(transport);
  HostBuffer mapped(transport, 0, 4096);
  IoAddress stale = 0;
  std::vector<uint8_t> memory(3 * 4096, 0x5A);
  stale = transport.MapHost(0, memory.data() + 4096, 64);
  transport.UnmapHost(0, stale);
  std::memset(mapped.data(), 0xC3, 4096);
  card.ToCard(mapped.io_address(), kEduBytes);
  card.FromCard(stale, 64);
  EXPECT_EQ(memory, std::vector<uint8_t>(3 * 4096, 0x5A)) << "the IOMMU has stopped the write";
  std::memset(mapped.data(), 0, 4096);
  card.FromCard(mapped.io_address(), kEduBytes);
  EXPECT_EQ(mapped.data()[kEduBytes - 1], 0xC3) << "the card works on";
}

TEST(VfioEdu, InterruptsComeOnceAndOnlyWhileMsiIsOn) {
  VfioTransport transport(Edu());
  EduCard card(transport);
  const auto wait = [&](uint64_t ps) {
    return transport.WaitInterrupt(0, 0, transport.NowPs() + ps);
  };
  const uint64_t before = transport.NowPs();
  EXPECT_EQ(wait(kSecondPs / 100), WaitResult::kDeadline) << "MSI is off";
  EXPECT_GE(transport.NowPs() - before, kSecondPs / 100);
  card.EnableMsi();
  card.Write(0x60, 1);
  EXPECT_EQ(wait(10 * kSecondPs), WaitResult::kInterrupt);
  card.Write(0x64, 1);
  EXPECT_EQ(wait(kSecondPs / 100), WaitResult::kDeadline) << "it was taken";
  HostBuffer buffer(transport, 0, 4096);
  card.ToCard(buffer.io_address(), kEduBytes, true);
  EXPECT_EQ(wait(10 * kSecondPs), WaitResult::kInterrupt) << "DMA has ended";
  EXPECT_EQ(card.Read(0x24), 0x100u);
  card.Write(0x64, 0x100);
  EXPECT_EQ(transport.WaitInterrupt(0, 3, 0), WaitResult::kDeadline) << "it has one vector";
  card.DisableMsi();
  card.Write(0x60, 1);
  EXPECT_EQ(wait(kSecondPs / 100), WaitResult::kDeadline);
  card.Write(0x64, 1);
}

TEST(VfioEdu, AFullAddressSpaceIsNamed) {
  VfioTransport transport(Edu(16));  // 15 pages: page 0 is never used
  EXPECT_EQ(transport.dma_rules().page_bytes, 4096u);
  EXPECT_EQ(transport.dma_rules().address_bits, 16u);
  std::vector<uint8_t> memory(20 * 4096);
  EXPECT_THAT(ErrorOf([&] { transport.MapHost(0, memory.data(), memory.size()); }),
              HasSubstr("no IO virtual address is left"));
  EXPECT_THROW(transport.MapHost(0, memory.data(), 0), Error);
  const IoAddress address = transport.MapHost(0, memory.data(), 4096);
  transport.UnmapHost(0, address);
}

TEST(VfioEdu, OneProcessHasACardAndItsDriverIsChecked) {
  VfioTransport transport(Edu());
  EXPECT_THAT(ErrorOf([] { VfioTransport second(Edu()); }), HasSubstr("has it open"));
  EXPECT_THAT(ErrorOf([&] { transport.Reset(0); }), HasSubstr("cannot be reset by itself"));
  EXPECT_THAT(ErrorOf([&] { Device device(transport, 0, DeviceOptions{}); }),
              HasSubstr("PCI id 1234:11e8; a Spyre physical function is"));
  EXPECT_THROW(transport.EnableVirtualFunctions(1), Error);
}

// NVMe registers: CAP at 0, VS at 8, CC at 0x14.
constexpr uint64_t kNvmeVersion = 0x08;
constexpr uint64_t kNvmeConfiguration = 0x14;

void EnableMemory(VfioTransport& transport, FunctionId function) {
  transport.ConfigWrite(function, pci::kCommandStatus,
                        pci::kCommandMemory | pci::kCommandBusMaster);
}

TEST(VfioNvme, FunctionLevelResetForgetsRegisters) {
  VfioTransport transport(Nvme());
  EnableMemory(transport, 0);
  EXPECT_EQ(transport.Read32(0, 0, kNvmeVersion) >> 16, 1u) << "NVMe 1.x";
  const uint32_t power_on = transport.Read32(0, 0, 0x24);
  transport.Write32(0, 0, 0x24, 0x001F001F);  // AQA, sizes of the admin queues
  EXPECT_EQ(transport.Read32(0, 0, 0x24), 0x001F001Fu);
  transport.Reset(0);
  EnableMemory(transport, 0);
  EXPECT_EQ(transport.Read32(0, 0, 0x24), power_on);
  EXPECT_EQ(transport.Read32(0, 0, kNvmeConfiguration) & 1, 0u);
}

TEST(VfioNvme, VirtualFunctionsComeAndGo) {
  VfioTransport transport(Nvme());
  EXPECT_EQ(transport.ConfigRead(1, pci::kVendorDevice), kNobodyAnswers);
  EXPECT_THAT(ErrorOf([&] { transport.EnableVirtualFunctions(3); }), HasSubstr("has 0 to 2"));
  const auto sriov = FindExtendedCapability(transport, 0, pci::kExtendedSriov);
  ASSERT_TRUE(sriov.has_value());
  EXPECT_EQ(transport.ConfigRead(0, *sriov + pci::kSriovInitialTotal) >> 16, 2u) << "TotalVFs";
  transport.EnableVirtualFunctions(2);
  for (const FunctionId function : {FunctionId{1}, FunctionId{2}}) {
    EXPECT_EQ(transport.ConfigRead(function, pci::kVendorDevice),
              transport.ConfigRead(0, pci::kVendorDevice))
        << "the kernel fills in what a virtual function leaves out";
    EnableMemory(transport, function);
    EXPECT_EQ(transport.Read32(function, 0, kNvmeVersion), 0u)
        << "a secondary controller that is offline answers, with zeros";
  }
  EXPECT_EQ(transport.ConfigRead(3, pci::kVendorDevice), kNobodyAnswers);

  // Each function has an address space of its own: the same addresses, other memory.
  std::vector<uint8_t> one(4096), two(4096);
  const IoAddress first = transport.MapHost(1, one.data(), one.size());
  const IoAddress second = transport.MapHost(2, two.data(), two.size());
  EXPECT_EQ(first & ~uint64_t{4095}, second & ~uint64_t{4095});
  transport.UnmapHost(1, first);
  transport.UnmapHost(2, second);
  transport.EnableVirtualFunctions(0);
  EXPECT_EQ(transport.ConfigRead(1, pci::kVendorDevice), kNobodyAnswers);
}

}  // namespace
}  // namespace spyre::driver::vfio_guest_test
