// SPDX-License-Identifier: Apache-2.0
// A card in this machine, through Linux VFIO (type 1 IOMMU, one container for each IOMMU group):
// the kernel's Documentation/driver-api/vfio.rst and <linux/vfio.h>. The functions are bound to
// vfio-pci beforehand; virtual functions are enabled through sysfs.
//
// Registers: BARs are mapped where the kernel allows that, else read and written through it. While
// a function's memory space is off, reads give all ones and writes do nothing, as on the bus.
// DMA: an IOMMU maps pages. MapHost maps the pages that the memory lies in, whole, and gives the
// address of its first byte; each function has an address space of its own.
// Interrupts: an eventfd for each MSI vector, from when the driver sets MSI Enable on.
//
// Time is that of the host (CLOCK_MONOTONIC, from the opening of the transport). Advance by 10 us
// or more lets that time pass; less is work that a real host does anyway. WaitInterrupt never says
// kStalled: what a real card will do is not known.
//
// Threads: any; calls are serialised, only WaitInterrupt waits without the lock. Errors: a missing
// device, driver, group or right is BadInput and says what to do; an uncorrectable PCIe error or a
// removal is DeviceFault.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "driver/pci_sysfs.h"
#include "driver/transport.h"
#include "driver/vfio_function.h"
#include "driver/vfio_group.h"

namespace spyre::driver {

struct VfioOptions {
  std::string device;  // PCI address of the physical function, or of one virtual function
  // How many address bits the card drives. The card's is 64; others that are tried here have less.
  unsigned dma_address_bits = 64;
  // The secret that the owner of the physical function shares with the users of the virtual ones
  // ("83d8f4f2-509f-382f-3c1e-e6bfe0fa1001"). Empty: this process owns both and makes one up.
  std::string vf_token;
  std::filesystem::path sysfs = "/sys";
  std::filesystem::path devices = "/dev/vfio";
};

class VfioTransport final : public Transport {
 public:
  explicit VfioTransport(const VfioOptions& options);
  ~VfioTransport() override;

  uint32_t ConfigRead(FunctionId function, uint32_t offset) override;
  void ConfigWrite(FunctionId function, uint32_t offset, uint32_t value) override;
  uint32_t Read32(FunctionId function, int bar, uint64_t offset) override;
  void Write32(FunctionId function, int bar, uint64_t offset, uint32_t value) override;
  void Reset(FunctionId function) override;
  void EnableVirtualFunctions(int count) override;
  DmaRules dma_rules() const override;
  IoAddress MapHost(FunctionId function, void* host, size_t size) override;
  void UnmapHost(FunctionId function, IoAddress address) override;
  WaitResult WaitInterrupt(FunctionId function, int vector, uint64_t deadline_ps) override;
  uint64_t NowPs() override;
  void Advance(uint64_t host_ps) override;
  std::string Diagnose() override;

  // The function on which the transport was opened: 0, or that of a virtual function.
  FunctionId function() const { return sysfs_.function(); }

 private:
  // Opened when first used. Null: the card has no such function (now).
  VfioFunction* Find(FunctionId function);
  VfioFunction& Get(FunctionId function);  // BadInput if there is none
  std::unique_ptr<VfioFunction> Open(FunctionId function, const std::string& address);

  const VfioOptions options_;
  const PciSysfs sysfs_;
  const uint64_t start_ps_;
  std::mutex mutex_;
  VfToken vf_token_;
  std::map<std::string, std::weak_ptr<VfioGroup>> groups_;  // by number; their functions own them
  std::map<FunctionId, std::unique_ptr<VfioFunction>> functions_;
};

}  // namespace spyre::driver
