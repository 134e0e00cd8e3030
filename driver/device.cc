// SPDX-License-Identifier: Apache-2.0
#include "driver/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "driver/pci.h"
#include "model/contract/control_block.h"

namespace spyre::driver {
namespace {

uint32_t Log2(uint32_t power_of_two) {
  uint32_t result = 0;
  while ((1u << result) < power_of_two) ++result;
  return result;
}

}  // namespace

Device::Device(Transport& transport, FunctionId function, const DeviceOptions& options)
    : transport_(transport),
      function_(function),
      claim_(transport, function),
      options_(options),
      registers_(Bar0{&transport, function}) {
  Open();
}

Device::~Device() = default;

QueuePair& Device::queue() {
  if (!queue_) throw BadInput("function {}: the device is closed", function_);
  return *queue_;
}

void Device::Open() {
  CheckIds();
  const uint32_t command = transport_.ConfigRead(function_, pci::kCommandStatus) & 0xFFFF;
  transport_.ConfigWrite(function_, pci::kCommandStatus,
                         command | pci::kCommandMemory | pci::kCommandBusMaster);
  Identify();
  WaitReady();
  if (options_.interrupts) EnableMsi();
  queue_ = std::make_unique<QueuePair>(transport_, function_, options_, !identity_.pipelined);
}

void Device::CheckIds() {
  const uint32_t ids = transport_.ConfigRead(function_, pci::kVendorDevice);
  identity_.function = function_;
  identity_.vendor_id = static_cast<uint16_t>(ids);
  identity_.device_id = static_cast<uint16_t>(ids >> 16);
  const uint16_t expected = function_ == 0 ? kPciPfDeviceId : kPciVfDeviceId;
  if (ids == kNobodyAnswers) {
    throw DeviceFault("function {}: no such function on the bus{}", function_,
                      function_ == 0 ? "" : " (has the physical function enabled it?)")
        .Subject(Subject());
  }
  if (identity_.vendor_id != kPciVendorId || identity_.device_id != expected) {
    throw DeviceFault("function {}: PCI id {:04x}:{:04x}; a Spyre {} function is {:04x}:{:04x}",
                      function_, identity_.vendor_id, identity_.device_id,
                      function_ == 0 ? "physical" : "virtual", kPciVendorId, expected)
        .Subject(Subject())
        .Value(fmt::format("{:04x}:{:04x}", identity_.vendor_id, identity_.device_id))
        .Remedy(fmt::format("{:04x}:{:04x}", kPciVendorId, expected));
  }
}

std::string Device::Subject() const { return fmt::format("function {}", function_); }

void Device::Identify() {
  const uint32_t magic = registers_.ReadMagic();
  const uint32_t expected_magic = 0x52595053;  // "SPYR"
  if (magic != expected_magic) {
    throw DeviceFault("function {}: MAGIC reads 0x{:08x}, not 0x{:08x}: BAR0 is not a Spyre's",
                      function_, magic, expected_magic)
        .Subject(Subject() + " register MAGIC")
        .Value(magic);
  }
  identity_.spec_version = registers_.ReadSpecVersion();
  if (identity_.spec_version != kSpecVersion) {
    throw DeviceFault("function {}: the card has register map version {}, this driver knows {}",
                      function_, identity_.spec_version, kSpecVersion)
        .Subject(Subject() + " register SPEC_VERSION")
        .Value(identity_.spec_version);
  }
  const uint32_t capabilities = registers_.ReadCapabilities();
  identity_.cores = static_cast<int>(FunctionRegisters::CapabilitiesCores(capabilities));
  identity_.pipelined = FunctionRegisters::CapabilitiesPipelined(capabilities) != 0;
  identity_.partitions =
      std::max(1, static_cast<int>(FunctionRegisters::CapabilitiesPartitions(capabilities)));
  identity_.memory_bytes = static_cast<uint64_t>(registers_.ReadMemoryMib()) << 20;
  RefreshRegions();
}

// After power-on and after a reset the card's firmware needs a moment. A queue that has stopped on
// an error is not ready either; that is for the new rings to clear.
void Device::WaitReady() {
  const uint64_t deadline = transport_.NowPs() + PsFromNs(options_.firmware_wait_ns);
  for (;;) {
    const uint32_t status = registers_.ReadStatus();
    RequirePresent(function_, status, "opening it");
    if ((status & (regs::STATUS_READY_MASK | regs::STATUS_ERROR_MASK)) != 0) return;
    if (transport_.NowPs() >= deadline) {
      throw DeviceFault("function {}: not ready for {} ms (STATUS 0x{:x})\n{}", function_,
                        options_.firmware_wait_ns / 1e6, status, transport_.Diagnose())
          .Subject(Subject() + " register STATUS")
          .Value(status);
    }
    Charge(options_.poll_interval_ns);
  }
}

void Device::RefreshRegions() {
  identity_.regions = 0;
  if (is_physical()) return;
  for (uint32_t region = 0; region < kRegions; ++region) {
    registers_.WriteRegionSelect(region);
    identity_.region_bytes[region] = registers_.ReadRegionLength();
    if (identity_.region_bytes[region] != 0) ++identity_.regions;
  }
}

void Device::EnableMsi() {
  const auto capability = FindCapability(transport_, function_, pci::kCapabilityMsi);
  if (!capability) {
    throw DeviceFault("function {}: no MSI capability; use polled completion", function_)
        .Subject(Subject())
        .Remedy("polled completion");
  }
  const uint32_t header = transport_.ConfigRead(function_, *capability);
  uint32_t capable = header >> pci::kMsiCapableShift & 7;
  const uint32_t wanted = Log2(kMsiVectors);
  if (capable > wanted) capable = wanted;
  transport_.ConfigWrite(function_, *capability + 4,
                         kMsiAddressBase | static_cast<uint32_t>(function_) << 12);
  uint32_t data_offset = 8;
  if (header & pci::kMsi64Bit) {
    transport_.ConfigWrite(function_, *capability + 8, 0);
    data_offset = 12;
  }
  transport_.ConfigWrite(function_, *capability + data_offset, kMsiVectorBase);
  const uint32_t enabled = (header & ~(7u << pci::kMsiEnabledShift)) |
                           capable << pci::kMsiEnabledShift | pci::kMsiEnable;
  transport_.ConfigWrite(function_, *capability, enabled);
}

void Device::Reset() {
  queue_.reset();
  transport_.Reset(function_);
  Charge(options_.reset_wait_ns);
  Open();
}

void Device::Close() { queue_.reset(); }

ErrorState Device::ReadError() {
  ErrorState state;
  state.stopped = (registers_.ReadStatus() & regs::STATUS_ERROR_MASK) != 0;
  if (state.stopped) state.code = static_cast<Status>(registers_.ReadErrorCode());
  return state;
}

uint64_t Device::ReadTimePs() { return registers_.ReadTime(); }

IoAddress Device::MapHost(void* host, size_t size) {
  ChargeFor("map", options_.costs.map_ns, size);
  return transport_.MapHost(function_, host, size);
}

void Device::UnmapHost(IoAddress address) {
  ChargeFor("unmap", options_.costs.map_ns, 0);
  transport_.UnmapHost(function_, address);
}

void Device::ChargeFor(const char* what, double ns, uint64_t bytes) {
  trace::Recorder* const recorder = options_.recorder;
  if (recorder == nullptr || !recorder->Wants(trace::kHost)) return Charge(ns);
  const uint64_t start = transport_.NowPs();
  Charge(ns);
  recorder->Slice(trace::kHost,
                  recorder->AddTrack("host", fmt::format("driver, function {}", function_)),
                  recorder->Intern(what), start, transport_.NowPs(), 0, bytes);
}

void Device::Charge(double ns) { transport_.Advance(PsFromNs(ns)); }

}  // namespace spyre::driver
