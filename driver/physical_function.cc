#include "driver/physical_function.h"

#include "driver/pci.h"
#include "model/contract/error.h"

namespace spyre::driver {
namespace {

constexpr uint32_t kMap = 1;
constexpr uint32_t kUnmap = 2;
constexpr uint32_t kUnmapAll = 3;
constexpr uint32_t kAssign = 1;
constexpr uint32_t kRelease = 2;

const char* MapReason(uint32_t status) {
  switch (status) {
    case 1:
      return "it overlaps a mapping";
    case 2:
      return "it is outside device memory or not 128-byte aligned";
    case 3:
      return "no mapping starts there";
    case 4:
      return "the mapping table is full";
    default:
      return "for an unknown reason";
  }
}

const char* AdminReason(uint32_t status) {
  switch (status) {
    case 1:
      return "there is no such virtual function or region";
    case 2:
      return "it overlaps a region of another function";
    case 3:
      return "it is outside device memory or not 128-byte aligned";
    default:
      return "for an unknown reason";
  }
}

}  // namespace

PhysicalFunction::PhysicalFunction(Device& device) : device_(device) {
  if (!device.is_physical()) {
    throw BadInput("function {} is a virtual function; only function 0 manages the card",
                   device.function());
  }
}

void PhysicalFunction::MapCommand(uint32_t command, uint64_t base, uint64_t length,
                                  const char* what) {
  device_.registers().WriteMapCommand(command);
  const uint32_t status = device_.registers().ReadMapStatus();
  if (status != 0) {
    throw BadInput("{} of 0x{:x}, {} bytes, refused by the card: {} (MAP_STATUS {})", what, base,
                   length, MapReason(status), status);
  }
}

void PhysicalFunction::MapRange(uint64_t base, uint64_t length, uint8_t permission) {
  device_.registers().WriteMapBase(base);
  device_.registers().WriteMapLength(length);
  device_.registers().WriteMapPermission(permission);
  MapCommand(kMap, base, length, "mapping");
}

void PhysicalFunction::UnmapRange(uint64_t base) {
  device_.registers().WriteMapBase(base);
  MapCommand(kUnmap, base, 0, "unmapping");
}

void PhysicalFunction::UnmapAll() { MapCommand(kUnmapAll, 0, 0, "unmapping everything"); }

uint64_t PhysicalFunction::SetWindow(uint64_t address) {
  if (address % 4 != 0) {
    throw BadInput("device memory at 0x{:x}: BAR2 accesses are 4-byte aligned", address);
  }
  // The window starts at a multiple of its own size, so that one position serves many accesses.
  const uint64_t offset = address % kBar2Bytes;
  device_.registers().WriteWindowBase(address - offset);
  return offset;
}

uint32_t PhysicalFunction::PeekMemory(uint64_t address) {
  const uint64_t offset = SetWindow(address);
  return device_.transport().Read32(0, 2, offset);
}

void PhysicalFunction::PokeMemory(uint64_t address, uint32_t value) {
  const uint64_t offset = SetWindow(address);
  device_.transport().Write32(0, 2, offset, value);
}

uint32_t PhysicalFunction::SriovCapability() {
  const auto capability = FindExtendedCapability(device_.transport(), 0, pci::kExtendedSriov);
  if (!capability) throw DeviceFault("function 0 has no SR-IOV capability");
  return *capability;
}

int PhysicalFunction::TotalVirtualFunctions() {
  const uint32_t capability = SriovCapability();
  return static_cast<int>(device_.transport().ConfigRead(0, capability + pci::kSriovInitialTotal) >>
                          16);
}

void PhysicalFunction::EnableVirtualFunctions(int count) {
  const uint32_t capability = SriovCapability();
  Transport& transport = device_.transport();
  const int total = TotalVirtualFunctions();
  if (count < 0 || count > total) {
    throw BadInput("{} virtual functions: the card has 0 to {}", count, total);
  }
  const uint32_t control = transport.ConfigRead(0, capability + pci::kSriovControl) & 0xFFFF;
  const uint32_t off = control & ~(pci::kSriovVfEnable | pci::kSriovVfMemory);
  // NumVFs may only change while VF Enable is 0.
  if (control & pci::kSriovVfEnable) {
    transport.ConfigWrite(0, capability + pci::kSriovControl, off);
  }
  if (count == 0) return;
  transport.ConfigWrite(0, capability + pci::kSriovNumVfs, static_cast<uint32_t>(count));
  transport.ConfigWrite(0, capability + pci::kSriovControl,
                        off | pci::kSriovVfEnable | pci::kSriovVfMemory);
  device_.Charge(device_.options().reset_wait_ns);
}

void PhysicalFunction::AdminCommand(uint32_t command, FunctionId vf, int region, uint64_t base,
                                    uint64_t length) {
  FunctionRegisters& registers = device_.registers();
  registers.WriteAdminVf(vf);
  registers.WriteAdminRegion(static_cast<uint32_t>(region));
  registers.WriteAdminBase(base);
  registers.WriteAdminLength(length);
  registers.WriteAdminCommand(command);
  const uint32_t status = registers.ReadAdminStatus();
  if (status != 0) {
    throw BadInput("{} region {} of VF {} (0x{:x}, {} bytes) refused by the card: {} ({})",
                   command == kAssign ? "assigning" : "releasing", region, vf, base, length,
                   AdminReason(status), status);
  }
}

void PhysicalFunction::AssignRegion(FunctionId vf, int region, uint64_t base, uint64_t length) {
  AdminCommand(kAssign, vf, region, base, length);
}

void PhysicalFunction::ReleaseRegion(FunctionId vf, int region) {
  AdminCommand(kRelease, vf, region, 0, 0);
}

}  // namespace spyre::driver
