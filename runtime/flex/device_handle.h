// SPDX-License-Identifier: Apache-2.0
// DeviceHandle: an opaque reference to a location in device memory (the runtime RFC). It is a
// location only; sizes are kept beside it. A handle from an allocator also knows which allocation
// it was made for, so that its use after that was freed, or in another context, is noticed.
//
// Plain data and pure functions, any thread. Addresses and offsets in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace spyre::flex {

// PF mode: every allocation is mapped by itself, and this is its physical address.
struct PFDeviceHandle {
  uint64_t physical_address = 0;
  uint64_t allocation = 0;  // Allocation::id; 0: made by hand
};
// VF mode: a place in one of the function's memory regions.
struct VFDeviceHandle {
  uint32_t region_id = 0;
  uint64_t vf_offset = 0;
  uint64_t allocation = 0;  // Allocation::id; 0: made by hand
};
using DeviceHandle = std::variant<PFDeviceHandle, VFDeviceHandle>;

// Equal: the same location.
bool operator==(const PFDeviceHandle& a, const PFDeviceHandle& b);
bool operator==(const VFDeviceHandle& a, const VFDeviceHandle& b);
inline bool operator!=(const PFDeviceHandle& a, const PFDeviceHandle& b) { return !(a == b); }
inline bool operator!=(const VFDeviceHandle& a, const VFDeviceHandle& b) { return !(a == b); }

bool IsPhysical(const DeviceHandle& handle);
// The place `bytes` further on. Throws BadInput if that is before the start of memory or of the
// region.
DeviceHandle Offset(const DeviceHandle& handle, int64_t bytes);
uint64_t AllocationOf(const DeviceHandle& handle);  // that it was made for, or 0
// Physical address, or offset in the region.
uint64_t RawOffset(const DeviceHandle& handle);
// "physical 0x1000" or "region 2 + 0x80".
std::string ToString(const DeviceHandle& handle);
// The address that a program uses: segments 0 to 6 map PF memory identically; region r of a VF is
// segment r. Throws BadInput for a physical address that no tensor segment reaches (programs live
// there; they are seen at segment 7 while they run).
uint64_t ToDeviceVirtual(const DeviceHandle& handle);

}  // namespace spyre::flex
