// SPDX-License-Identifier: Apache-2.0
#include "driver/transport.h"

#include <fmt/format.h>

#include "base/error.h"
#include "driver/pci.h"

namespace spyre::driver {

void Transport::Reset(FunctionId function) {
  const auto capability = FindCapability(*this, function, pci::kCapabilityPciExpress);
  if (!capability ||
      !(ConfigRead(function, *capability + pci::kDeviceCapabilities) & pci::kDeviceCapabilityFlr)) {
    throw DeviceFault("function {}: the function cannot be reset by itself (no FLR)", function)
        .Subject(fmt::format("function {}", function));
  }
  const uint32_t control = ConfigRead(function, *capability + pci::kDeviceControl);
  // The high half is Device Status, whose error bits clear when written as 1.
  ConfigWrite(function, *capability + pci::kDeviceControl, (control & 0xFFFF) | pci::kInitiateFlr);
}

IoAddress Transport::MapPeer(FunctionId function, unsigned peer, uint64_t /*offset*/,
                             uint64_t /*size*/) {
  throw BadInput("function {}: this way to the card reaches no card {} beside it", function, peer)
      .Subject(fmt::format("card {}", peer));
}

void Transport::UnmapPeer(FunctionId function, IoAddress address) {
  throw BadInput("function {}: unmap of peer memory at {:#x}, which it has not mapped", function,
                 address);
}

void Transport::EnableVirtualFunctions(int count) {
  const auto capability = FindExtendedCapability(*this, 0, pci::kExtendedSriov);
  if (!capability) throw DeviceFault("function 0 has no SR-IOV capability");
  const uint32_t control = ConfigRead(0, *capability + pci::kSriovControl) & 0xFFFF;
  const uint32_t off = control & ~(pci::kSriovVfEnable | pci::kSriovVfMemory);
  // NumVFs may only change while VF Enable is 0.
  if (control & pci::kSriovVfEnable) ConfigWrite(0, *capability + pci::kSriovControl, off);
  if (count == 0) return;
  ConfigWrite(0, *capability + pci::kSriovNumVfs, static_cast<uint32_t>(count));
  ConfigWrite(0, *capability + pci::kSriovControl, off | pci::kSriovVfEnable | pci::kSriovVfMemory);
}

void Transport::HotReset() {
  throw BadInput("this way to the card cannot take its link down; reset its functions one by one");
}

FunctionClaim::FunctionClaim(Transport& transport, FunctionId function)
    : transport_(transport), function_(function) {
  const std::lock_guard<std::mutex> lock(transport_.claims_mutex_);
  if (!transport_.claims_.insert(function_).second) {
    throw BadInput(
        "function {} is open already in this process, and a function has one owner; use that one, "
        "close it first, or open another function",
        function_);
  }
}

FunctionClaim::~FunctionClaim() {
  const std::lock_guard<std::mutex> lock(transport_.claims_mutex_);
  transport_.claims_.erase(function_);
}

}  // namespace spyre::driver
