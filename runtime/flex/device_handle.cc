// SPDX-License-Identifier: Apache-2.0
#include "runtime/flex/device_handle.h"

#include "base/error.h"
#include "model/contract/memory_map.h"

namespace spyre::flex {
namespace {

uint64_t Add(uint64_t base, int64_t bytes, const DeviceHandle& handle) {
  const uint64_t result = base + static_cast<uint64_t>(bytes);
  if (bytes < 0 ? result > base : result < base) {
    throw BadInput("{} moved by {} bytes leaves device memory", ToString(handle), bytes);
  }
  return result;
}

}  // namespace

bool operator==(const PFDeviceHandle& a, const PFDeviceHandle& b) {
  return a.physical_address == b.physical_address;
}

bool operator==(const VFDeviceHandle& a, const VFDeviceHandle& b) {
  return a.region_id == b.region_id && a.vf_offset == b.vf_offset;
}

bool IsPhysical(const DeviceHandle& handle) {
  return std::holds_alternative<PFDeviceHandle>(handle);
}

DeviceHandle Offset(const DeviceHandle& handle, int64_t bytes) {
  if (const auto* pf = std::get_if<PFDeviceHandle>(&handle)) {
    return PFDeviceHandle{Add(pf->physical_address, bytes, handle), pf->allocation};
  }
  const auto& vf = std::get<VFDeviceHandle>(handle);
  return VFDeviceHandle{vf.region_id, Add(vf.vf_offset, bytes, handle), vf.allocation};
}

uint64_t AllocationOf(const DeviceHandle& handle) {
  return std::visit([](const auto& location) { return location.allocation; }, handle);
}

uint64_t RawOffset(const DeviceHandle& handle) {
  if (const auto* pf = std::get_if<PFDeviceHandle>(&handle)) return pf->physical_address;
  return std::get<VFDeviceHandle>(handle).vf_offset;
}

std::string ToString(const DeviceHandle& handle) {
  if (const auto* pf = std::get_if<PFDeviceHandle>(&handle)) {
    return fmt::format("physical 0x{:x}", pf->physical_address);
  }
  const auto& vf = std::get<VFDeviceHandle>(handle);
  return fmt::format("region {} + 0x{:x}", vf.region_id, vf.vf_offset);
}

uint64_t ToDeviceVirtual(const DeviceHandle& handle) {
  if (const auto* pf = std::get_if<PFDeviceHandle>(&handle)) {
    if (pf->physical_address >= kProgramBase) {
      throw BadInput("physical 0x{:x} is beyond segments 0 to 6, which end at 0x{:x}",
                     pf->physical_address, kProgramBase);
    }
    return pf->physical_address;
  }
  const auto& vf = std::get<VFDeviceHandle>(handle);
  if (vf.region_id >= kSegments || vf.vf_offset >= kSegmentBytes) {
    throw BadInput("region {} + 0x{:x} is outside the device's {} segments of {} bytes",
                   vf.region_id, vf.vf_offset, kSegments, kSegmentBytes);
  }
  return SegmentAddress(vf.region_id, vf.vf_offset);
}

}  // namespace spyre::flex
