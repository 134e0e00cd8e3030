// SPDX-License-Identifier: Apache-2.0
// A function of a PCI device, as Linux VFIO gives it: its configuration space, BARs and interrupts.
// <linux/vfio.h> defines the calls.
//
// Threads: the transport serialises. Errors: as in
// driver/vfio_transport.h.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "driver/transport.h"
#include "driver/vfio_group.h"

namespace spyre::driver {

// The secret that opens a virtual function whose physical function vfio-pci drives.
struct VfToken {
  std::array<uint8_t, 16> bytes{};

  static VfToken Parse(const std::string& uuid);  // BadInput if it is none
  static VfToken Random();
  std::string Text() const;
};

class VfioFunction {
 public:
  VfioFunction(std::shared_ptr<VfioGroup> group, Descriptor device, std::string address);
  ~VfioFunction();
  VfioFunction(const VfioFunction&) = delete;
  VfioFunction& operator=(const VfioFunction&) = delete;

  uint32_t ConfigRead(uint32_t offset);
  void ConfigWrite(uint32_t offset, uint32_t value);
  uint32_t Read32(int bar, uint64_t offset);
  void Write32(int bar, uint64_t offset, uint32_t value);
  void Reset();
  void SetVfToken(const VfToken& token);  // a physical function with SR-IOV

  // Whether the vector has fired since the last call. DeviceFault if the card is lost.
  bool TakeInterrupt(int vector);
  // What to poll until TakeInterrupt may answer otherwise.
  using PolledEvents = std::array<pollfd, 3>;
  PolledEvents Events(int vector) const;

  VfioGroup& group() { return *group_; }

 private:
  struct Region {
    uint64_t size = 0;
    uint64_t offset = 0;        // in the device's descriptor
    uint8_t* mapped = nullptr;  // null: by way of the kernel
  };

  Region ReadRegion(uint32_t index);
  Region& Bar(int bar, uint64_t offset);
  void FindMsi();
  void ArmMsi(uint32_t vectors);  // 0: switch MSI off
  void Arm(uint32_t irq_index, uint32_t first, const std::vector<int>& eventfds);
  void CheckLost() const;

  static constexpr size_t kBars = 6;

  std::shared_ptr<VfioGroup> group_;  // outlives the device
  Descriptor device_;
  std::string address_;
  Region config_;
  std::array<Region, kBars> bars_;
  bool memory_on_ = false;
  std::optional<uint32_t> msi_;  // offset of the capability
  std::vector<Descriptor> vectors_;
  Descriptor error_, removal_;  // null where the device does not report it
};

}  // namespace spyre::driver
