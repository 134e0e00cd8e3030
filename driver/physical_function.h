// SPDX-License-Identifier: Apache-2.0
// What only the physical function can do: the mapping table of its own operations, virtual
// functions, and their memory regions.
//
// Callers: the allocator in PF mode; the session that sets up VFs. Threads: as Device. Addresses
// are physical device addresses in bytes. Errors: Error(kBadInput) when the card refuses a request,
// with the request and the card's reason.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/device.h"

namespace spyre::driver {

struct FirmwareVersion {
  int major = 0, minor = 0;
  uint32_t capabilities = 0;  // bits as MGMT_CAPABILITIES
  uint32_t build = 0;
};

// One record of the card's error log: what, how bad, where and when.
struct RasRecord {
  RasCode code{};
  RasSeverity severity{};
  RasAction action{};
  FunctionId function = 0;
  std::array<uint32_t, 2> detail{};  // by code
  // Of firmware that tells (MGMT_CAPABILITIES.RAS_TIMES), else 0: when its cause was there, and its
  // number among all records since boot.
  uint64_t time_ps = 0;
  uint32_t number = 0;
};
// One line for people: time, severity, cause, function, and where, as far as the code has a place.
std::string Text(const RasRecord& record);

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

  // Puts the memory window where the platform wants it on the bus (Transport::PeerWindow), so that
  // other cards reach device memory from `base` on, as far as the window goes; base: a multiple of
  // the window's size. PeekMemory and PokeMemory move it. BadInput if there are no other cards.
  void OpenPeerWindow(uint64_t base);

  // Turns on VFs 1..count (0: turns them off). Waits DeviceOptions::reset_wait_ns.
  void EnableVirtualFunctions(int count);
  int TotalVirtualFunctions();

  // Requests to the firmware of the management controller; each waits for the answer, at most
  // DeviceOptions::firmware_wait_ns.
  //
  // Gives [base, base + length) of device memory to region `region` of VF `vf`.
  void AssignRegion(FunctionId vf, int region, uint64_t base, uint64_t length);
  void ReleaseRegion(FunctionId vf, int region);
  // AssignRegion in three steps, and a change of length.
  void CreateRegion(FunctionId vf, int region, uint64_t length);
  void MapRegion(FunctionId vf, int region, uint64_t base);
  void ActivateRegion(FunctionId vf, int region);
  void ResizeRegion(FunctionId vf, int region, uint64_t length);
  void SetCores(FunctionId vf, uint32_t mask);           // that programs of the VF may use
  void SetRegionQuota(FunctionId vf, uint64_t bytes);    // of all its regions together, 0: none
  void SetTransferQuota(FunctionId vf, uint64_t bytes);  // of one DMA, 0: none
  // Disabled: its messages answer PERMISSION, and what it had running ends.
  void SetEnabled(FunctionId vf, bool enabled);
  // Of any function, also of the PF (0). An operation that runs longer ends with TIMED_OUT; 0: the
  // card's own limit. Counts for operations that start later.
  void SetTimeLimit(FunctionId function, uint32_t limit_us);
  // The share of the function in the engines of the card, relative to those of the others that have
  // work: 1 to 255, after power-on 1.
  void SetWeight(FunctionId function, uint32_t weight);

  // Questions to the firmware.
  FirmwareVersion ReadFirmwareVersion();
  uint64_t ReadCounter(Counter counter);
  uint64_t ReadCounter(Counter counter, FunctionId function);
  std::vector<RasRecord> ReadErrorLog();  // oldest first
  void ClearErrorLog();
  // Records since boot, by RasSeverity. BadInput of firmware that does not tell.
  std::array<uint32_t, 4> ReadErrorSeverities();
  bool SelfTest();  // did it pass?

 private:
  using Words = std::array<uint32_t, 4>;

  uint32_t SriovCapability();
  void MapCommand(uint32_t command, uint64_t base, uint64_t length, const char* what);
  void Admin(AdminCommand command, FunctionId vf, int region, uint64_t base, uint64_t length);
  Words Ask(MailboxCommand command, uint32_t arg0 = 0, uint32_t arg1 = 0);
  template <class Read>
  uint32_t Answer(Read read, const char* what);
  uint64_t SetWindow(uint64_t address);

  Device& device_;
};

}  // namespace spyre::driver
