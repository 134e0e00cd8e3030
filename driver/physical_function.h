// What only the physical function can do: the mapping table of its own operations, virtual
// functions, and their memory regions.
//
// Callers: the allocator in PF mode; the session that sets up VFs. Threads: as Device. Addresses
// are physical device addresses in bytes. Errors: Error(kBadInput) when the card refuses a request,
// with the request and the card's reason.
#pragma once

#include <cstdint>

#include "driver/device.h"

namespace spyre::driver {

class PhysicalFunction {
 public:
  explicit PhysicalFunction(Device& device);  // BadInput if `device` is a virtual function

  // Ranges that the PF's operations may touch. permission: kPermission* bits.
  void MapRange(uint64_t base, uint64_t length, uint8_t permission);
  void UnmapRange(uint64_t base);
  void UnmapAll();

  // Device memory at `address`, visible through BAR2. Maintenance access: bypasses mappings.
  uint32_t PeekMemory(uint64_t address);
  void PokeMemory(uint64_t address, uint32_t value);

  // Turns on VFs 1..count (0: turns them off). Waits DeviceOptions::reset_wait_ns.
  void EnableVirtualFunctions(int count);
  int TotalVirtualFunctions();

  // Gives [base, base + length) of device memory to region `region` of VF `vf`.
  void AssignRegion(FunctionId vf, int region, uint64_t base, uint64_t length);
  void ReleaseRegion(FunctionId vf, int region);

 private:
  uint32_t SriovCapability();
  void MapCommand(uint32_t command, uint64_t base, uint64_t length, const char* what);
  void AdminCommand(uint32_t command, FunctionId vf, int region, uint64_t base, uint64_t length);
  uint64_t SetWindow(uint64_t address);

  Device& device_;
};

}  // namespace spyre::driver
