// SPDX-License-Identifier: Apache-2.0
#include "driver/physical_function.h"

#include <fmt/format.h>

#include <cctype>

#include "base/error.h"
#include "driver/pci.h"

namespace spyre::driver {
namespace {

constexpr uint32_t kMap = 1;
constexpr uint32_t kUnmap = 2;
constexpr uint32_t kUnmapAll = 3;

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

template <class E, size_t n>
const EnumName<E>* Find(const EnumName<E> (&names)[n], uint32_t value) {
  for (const EnumName<E>& entry : names) {
    if (static_cast<uint32_t>(entry.value) == value) return &entry;
  }
  return nullptr;
}

// The contract's description of a refusal, to go on a sentence.
template <class E, size_t n>
std::string Reason(const EnumName<E> (&names)[n], uint32_t value) {
  const EnumName<E>* const entry = Find(names, value);
  std::string text = entry == nullptr ? "for an unknown reason" : entry->description;
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

PhysicalFunction::PhysicalFunction(Device& device) : device_(device) {
  if (!device.is_physical()) {
    throw BadInput("function {} is a virtual function; only function 0 manages the card",
                   device.function())
        .Subject(fmt::format("function {}", device.function()))
        .Remedy("function 0");
  }
}

void PhysicalFunction::MapCommand(uint32_t command, uint64_t base, uint64_t length,
                                  const char* what) {
  device_.registers().WriteMapCommand(command);
  const uint32_t status = device_.registers().ReadMapStatus();
  RequirePresent(device_.function(), status, what);
  if (status != 0) {
    throw BadInput("{} of 0x{:x}, {} bytes, refused by the card: {} (MAP_STATUS {})", what, base,
                   length, MapReason(status), status)
        .Subject(what)
        .Value(MapReason(status));
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
    throw BadInput("device memory at 0x{:x}: BAR2 accesses are 4-byte aligned", address)
        .Subject("device memory")
        .Value(address)
        .Remedy("a multiple of 4");
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

void PhysicalFunction::OpenPeerWindow(uint64_t base) {
  Transport& transport = device_.transport();
  const IoAddress address = transport.PeerWindow();
  if (address == 0) throw BadInput("this way to the card has no other cards beside it");
  if (base % kBar2Bytes != 0) {
    throw BadInput("a window at 0x{:x} of device memory: it must be a multiple of its size, 0x{:x}",
                   base, kBar2Bytes)
        .Value(base);
  }
  transport.ConfigWrite(0, pci::kBar2Low, static_cast<uint32_t>(address));
  transport.ConfigWrite(0, pci::kBar2High, static_cast<uint32_t>(address >> 32));
  device_.registers().WriteWindowBase(base);
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
  const int total = TotalVirtualFunctions();
  if (count < 0 || count > total) {
    throw BadInput("{} virtual functions: the card has 0 to {}", count, total)
        .Subject("virtual functions")
        .Value(count)
        .Remedy(fmt::format("0 to {}", total));
  }
  device_.transport().EnableVirtualFunctions(count);
  if (count == 0) return;
  device_.Charge(device_.options().reset_wait_ns);
}

// Reads the status that `read` gives until the firmware has answered.
template <class Read>
uint32_t PhysicalFunction::Answer(Read read, const char* what) {
  const DeviceOptions& options = device_.options();
  const uint64_t deadline = device_.transport().NowPs() + PsFromNs(options.firmware_wait_ns);
  for (;;) {
    const uint32_t status = read();
    RequirePresent(device_.function(), status, what);
    if (status != kAdminBusy) return status;
    if (device_.transport().NowPs() >= deadline) {
      throw DeviceFault("{}: the card's firmware has not answered for {} ms\n{}", what,
                        options.firmware_wait_ns / 1e6, device_.transport().Diagnose())
          .Subject(what);
    }
    device_.Charge(options.poll_interval_ns);
  }
}

void PhysicalFunction::Admin(AdminCommand command, FunctionId vf, int region, uint64_t base,
                             uint64_t length) {
  FunctionRegisters& registers = device_.registers();
  registers.WriteAdminVf(vf);
  registers.WriteAdminRegion(static_cast<uint32_t>(region));
  registers.WriteAdminBase(base);
  registers.WriteAdminLength(length);
  registers.WriteAdminCommand(static_cast<uint32_t>(command));
  const char* const name = Find(kAdminCommandNames, static_cast<uint32_t>(command))->name;
  const uint32_t status = Answer([&] { return registers.ReadAdminStatus(); }, name);
  if (status == 0) return;
  throw BadInput("{} of region {} of VF {} (0x{:x}, {} bytes) refused by the card: {} ({})", name,
                 region, vf, base, length, Reason(kAdminStatusNames, status), status)
      .Subject(name)
      .Value(Reason(kAdminStatusNames, status));
}

void PhysicalFunction::AssignRegion(FunctionId vf, int region, uint64_t base, uint64_t length) {
  Admin(AdminCommand::ASSIGN, vf, region, base, length);
}

void PhysicalFunction::ReleaseRegion(FunctionId vf, int region) {
  Admin(AdminCommand::RELEASE, vf, region, 0, 0);
}

void PhysicalFunction::CreateRegion(FunctionId vf, int region, uint64_t length) {
  Admin(AdminCommand::CREATE, vf, region, 0, length);
}

void PhysicalFunction::MapRegion(FunctionId vf, int region, uint64_t base) {
  Admin(AdminCommand::MAP, vf, region, base, 0);
}

void PhysicalFunction::ActivateRegion(FunctionId vf, int region) {
  Admin(AdminCommand::ACTIVATE, vf, region, 0, 0);
}

void PhysicalFunction::ResizeRegion(FunctionId vf, int region, uint64_t length) {
  Admin(AdminCommand::RESIZE, vf, region, 0, length);
}

void PhysicalFunction::SetCores(FunctionId vf, uint32_t mask) {
  Admin(AdminCommand::SET_CORES, vf, 0, 0, mask);
}

void PhysicalFunction::SetRegionQuota(FunctionId vf, uint64_t bytes) {
  Admin(AdminCommand::SET_REGION_QUOTA, vf, 0, 0, bytes);
}

void PhysicalFunction::SetTransferQuota(FunctionId vf, uint64_t bytes) {
  Admin(AdminCommand::SET_TRANSFER_QUOTA, vf, 0, 0, bytes);
}

void PhysicalFunction::SetEnabled(FunctionId vf, bool enabled) {
  Admin(enabled ? AdminCommand::ENABLE : AdminCommand::DISABLE, vf, 0, 0, 0);
}

void PhysicalFunction::SetTimeLimit(FunctionId function, uint32_t limit_us) {
  Admin(AdminCommand::SET_TIME_LIMIT, function, 0, 0, limit_us);
}

void PhysicalFunction::SetWeight(FunctionId function, uint32_t weight) {
  Admin(AdminCommand::SET_WEIGHT, function, 0, 0, weight);
}

PhysicalFunction::Words PhysicalFunction::Ask(MailboxCommand command, uint32_t arg0,
                                              uint32_t arg1) {
  FunctionRegisters& registers = device_.registers();
  registers.WriteMboxArg0(arg0);
  registers.WriteMboxArg1(arg1);
  registers.WriteMboxCommand(static_cast<uint32_t>(command));
  const char* const name = Find(kMailboxCommandNames, static_cast<uint32_t>(command))->name;
  const uint32_t status = Answer([&] { return registers.ReadMboxStatus(); }, name);
  if (status != 0) {
    throw BadInput("{} (0x{:x}, 0x{:x}) refused by the card's firmware: {} ({})", name, arg0, arg1,
                   Reason(kMailboxStatusNames, status), status)
        .Subject(name)
        .Value(Reason(kMailboxStatusNames, status));
  }
  return {registers.ReadMboxResult0(), registers.ReadMboxResult1(), registers.ReadMboxResult2(),
          registers.ReadMboxResult3()};
}

FirmwareVersion PhysicalFunction::ReadFirmwareVersion() {
  const Words words = Ask(MailboxCommand::GET_VERSION);
  return {static_cast<int>(words[0] >> 16), static_cast<int>(words[0] & 0xFFFF), words[1],
          words[2]};
}

uint64_t PhysicalFunction::ReadCounter(Counter counter) {
  const Words words = Ask(MailboxCommand::GET_COUNTER, static_cast<uint32_t>(counter));
  return words[0] | static_cast<uint64_t>(words[1]) << 32;
}

uint64_t PhysicalFunction::ReadCounter(Counter counter, FunctionId function) {
  const Words words =
      Ask(MailboxCommand::GET_FUNCTION_COUNTER, static_cast<uint32_t>(counter), function);
  return words[0] | static_cast<uint64_t>(words[1]) << 32;
}

std::vector<RasRecord> PhysicalFunction::ReadErrorLog() {
  std::vector<RasRecord> records(Ask(MailboxCommand::GET_RAS_COUNT)[0]);
  const bool times =
      (device_.registers().ReadMgmtCapabilities() & regs::MGMT_CAPABILITIES_RAS_TIMES_MASK) != 0;
  for (uint32_t i = 0; i < records.size(); ++i) {
    const Words words = Ask(MailboxCommand::GET_RAS, i);
    records[i] = {static_cast<RasCode>(words[0] >> 16),
                  static_cast<RasSeverity>(words[0] >> 8),
                  static_cast<RasAction>(words[0]),
                  static_cast<FunctionId>(words[1]),
                  {words[2], words[3]}};
    if (!times) continue;
    const Words when = Ask(MailboxCommand::GET_RAS_TIME, i);
    records[i].time_ps = when[0] | static_cast<uint64_t>(when[1]) << 32;
    records[i].number = when[2];
  }
  return records;
}

std::array<uint32_t, 4> PhysicalFunction::ReadErrorSeverities() {
  return Ask(MailboxCommand::GET_RAS_SEVERITIES);
}

void PhysicalFunction::ClearErrorLog() { Ask(MailboxCommand::CLEAR_RAS); }

bool PhysicalFunction::SelfTest() { return Ask(MailboxCommand::SELF_TEST)[0] == 0; }

}  // namespace spyre::driver
