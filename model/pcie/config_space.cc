// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/config_space.h"

#include <algorithm>

#include "base/error.h"

namespace spyre::model {
namespace {

using namespace config;

constexpr uint32_t kPowerD0 = 0;
constexpr uint32_t kPowerD3 = 3;
constexpr uint32_t kReadRequest4096 = 5;
constexpr uint64_t kDefaultTimeoutUs = 10000;  // within the 50 us to 50 ms of the default range
constexpr uint32_t kMultipleMessages8 = 3;

uint32_t Bits(uint32_t word, unsigned shift, unsigned width) {
  return (word >> shift) & ((1u << width) - 1);
}

uint32_t WithBits(uint32_t word, unsigned shift, unsigned width, uint32_t value) {
  const uint32_t mask = ((1u << width) - 1) << shift;
  return (word & ~mask) | (value << shift);
}

uint32_t BytesMask(unsigned byte_enables) {
  uint32_t mask = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    if ((byte_enables >> byte & 1) != 0) mask |= 0xFFu << (8 * byte);
  }
  return mask;
}

// Lower ends of the ranges of Completion Timeout Value; 0: the card does not have the range.
uint64_t TimeoutUs(uint32_t code) {
  switch (code) {
    case 0x0:
      return kDefaultTimeoutUs;
    case 0x5:
      return 16'000;
    case 0x6:
      return 65'000;
    case 0x9:
      return 260'000;
    case 0xA:
      return 1'000'000;
    default:
      return 0;
  }
}

void RequireOffset(uint32_t offset) {
  if (offset % 4 != 0 || offset >= kConfigBytes) {
    throw BadInput("configuration space: offset {:#x}; it must be a multiple of 4 below {:#x}",
                   offset, kConfigBytes);
  }
}

}  // namespace

ConfigSpace::ConfigSpace(const PcieAbility& ability)
    : ability_(ability), layout_(PhysicalConfigLayout(ability)) {
  Reset();
}

ConfigSpace::ConfigSpace(const ConfigSpace& physical, int number)
    : ability_(physical.ability_),
      layout_(VirtualConfigLayout(ability_)),
      physical_(&physical),
      number_(number) {
  if (physical.physical_ != nullptr || number < 1 ||
      number > static_cast<int>(physical.ability_.total_vfs)) {
    throw InternalError(
        "configuration space: virtual function {} of a {} function; numbers are "
        "1 to {}, of a physical function",
        number, physical.physical_ == nullptr ? "physical" : "virtual",
        physical.ability_.total_vfs);
  }
  Reset();
}

void ConfigSpace::Reset() { Load(false, false); }
void ConfigSpace::HotReset() { Load(true, false); }

void ConfigSpace::Load(bool keep_sticky, bool keep_link) {
  for (size_t i = 0; i < kConfigDwords; ++i) {
    const uint32_t kept =
        (keep_sticky ? layout_.sticky[i] : 0) | (keep_link ? layout_.flr_kept[i] : 0);
    values_[i] = (values_[i] & kept) | (layout_.reset[i] & ~kept);
  }
}

uint32_t ConfigSpace::Read32(uint32_t offset) const {
  RequireOffset(offset);
  return Get(offset);
}

void ConfigSpace::Write32(uint32_t offset, uint32_t value, unsigned byte_enables) {
  RequireOffset(offset);
  const uint32_t bytes = BytesMask(byte_enables);
  const uint32_t old = Get(offset);
  const uint32_t writable = WritableBits(offset) & bytes;
  const uint32_t cleared = layout_.clear[offset / 4] & bytes & value;
  Set(offset, Legalize(offset, old, ((old & ~writable) | (value & writable)) & ~cleared));
  AfterWrite(offset, old, value & bytes);
}

// VF settings are locked while VFs exist, and a VF BAR takes at least a system page.
uint32_t ConfigSpace::WritableBits(uint32_t offset) const {
  const uint32_t bits = layout_.writable[offset / 4];
  if (physical_ != nullptr) return bits;
  if (offset == kVfBar0) return bits & static_cast<uint32_t>(~(vf_bar_size() - 1));
  if ((offset == kNumVfs || offset == kSystemPageSize) && vf_enabled()) return 0;
  return bits;
}

// Values that the function does not support leave the field as it was.
uint32_t ConfigSpace::Legalize(uint32_t offset, uint32_t old, uint32_t value) const {
  const auto keep_unless = [&](bool supported, unsigned shift, unsigned width) {
    if (!supported) value = WithBits(value, shift, width, Bits(old, shift, width));
  };
  if (offset == kPowerControl) {
    const uint32_t state = Bits(value, 0, 2);
    keep_unless(state == kPowerD0 || state == kPowerD3, 0, 2);
  } else if (offset == kMsi) {
    keep_unless(Bits(value, kMsiMultipleEnableShift, 3) <= kMultipleMessages8,
                kMsiMultipleEnableShift, 3);
  } else if (offset == kDeviceControl) {
    keep_unless(128u << Bits(value, kPayloadShift, 3) <= ability_.max_payload_bytes, kPayloadShift,
                3);
    keep_unless(Bits(value, kReadRequestShift, 3) <= kReadRequest4096, kReadRequestShift, 3);
  } else if (offset == kDeviceControl2) {
    keep_unless(TimeoutUs(Bits(value, 0, 4)) != 0, 0, 4);
  } else if (physical_ == nullptr && offset == kNumVfs) {
    keep_unless(Bits(value, 0, 16) <= ability_.total_vfs, 0, 16);
  } else if (physical_ == nullptr && offset == kSystemPageSize) {
    const uint32_t size = Bits(value, 0, 16);
    keep_unless(size != 0 && (size & (size - 1)) == 0, 0, 16);
  }
  return value;
}

void ConfigSpace::AfterWrite(uint32_t offset, uint32_t old, uint32_t value) {
  if (offset == kDeviceControl && (value & kInitiateFlr) != 0) {
    FunctionLevelReset();
    return;
  }
  if (physical_ == nullptr && offset == kSystemPageSize) {
    // A larger page widens the aperture: address bits below it are gone.
    Set(kVfBar0, (Get(kVfBar0) & WritableBits(kVfBar0)) | layout_.reset[kVfBar0 / 4]);
  }
  if (physical_ == nullptr && offset == kSriovControl) {
    const bool was_enabled = (old & kVfEnable) != 0;
    if (!was_enabled && vf_enabled() && on_vf_enable) on_vf_enable(num_vfs());
    if (was_enabled && !vf_enabled() && on_vf_disable) on_vf_disable();
  }
  if (physical_ == nullptr && offset == kVpd) AnswerVpd();
  const bool touches_msi = offset >= kMsi && offset <= kMsiMask;
  if (touches_msi || offset == kCommandStatus || offset == kPowerControl) {
    if (on_msi_change) on_msi_change();
  }
}

void ConfigSpace::FunctionLevelReset() {
  const bool had_vfs = physical_ == nullptr && vf_enabled();
  Load(true, true);
  if (had_vfs && on_vf_disable) on_vf_disable();
  if (on_flr) on_flr();
}

// PCI Local Bus specification, "VPD Capability": the flag written as 0 asks for the word at the
// address, and becomes 1 when it is there; written as 1 it asks for a write, and becomes 0.
void ConfigSpace::AnswerVpd() {
  const uint32_t state = Get(kVpd);
  if ((state & kVpdDone) != 0) return Set(kVpd, state & ~kVpdDone);
  const uint32_t address = Bits(state, 16, 15);
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4 && address + i < vpd_.size(); ++i)
    word |= uint32_t{vpd_[address + i]} << (8 * i);
  Set(kVpdData, word);
  Set(kVpd, state | kVpdDone);
}

bool ConfigSpace::powered() const { return Bits(Get(kPowerControl), 0, 2) == kPowerD0; }

bool ConfigSpace::bus_master_enabled() const {
  return powered() && (Get(kCommandStatus) & kCommandBusMaster) != 0;
}

bool ConfigSpace::memory_enabled() const {
  if (!powered()) return false;
  if (physical_ == nullptr) return (Get(kCommandStatus) & kCommandMemory) != 0;
  return physical_->vf_enabled() && physical_->vf_memory_enabled() &&
         number_ <= physical_->num_vfs();
}

int ConfigSpace::max_payload_bytes() const {
  if (physical_ != nullptr) return physical_->max_payload_bytes();
  return 128 << Bits(Get(kDeviceControl), kPayloadShift, 3);
}

int ConfigSpace::max_read_request_bytes() const {
  if (physical_ != nullptr) return physical_->max_read_request_bytes();
  return 128 << Bits(Get(kDeviceControl), kReadRequestShift, 3);
}

uint64_t ConfigSpace::completion_timeout_us() const {
  const uint32_t control = (physical_ == nullptr ? *this : *physical_).Get(kDeviceControl2);
  return (control & kCompletionTimeoutOff) != 0 ? 0 : TimeoutUs(Bits(control, 0, 4));
}

uint64_t ConfigSpace::bar_address(int index) const {
  const uint64_t size = bar_size(index);
  if (size == 0) return 0;
  const ConfigSpace& owner = physical_ == nullptr ? *this : *physical_;
  const uint32_t offset = physical_ == nullptr ? kBar0 + 4 * static_cast<uint32_t>(index) : kVfBar0;
  const uint64_t base =
      static_cast<uint64_t>(owner.Get(offset + 4)) << 32 | (owner.Get(offset) & ~0xFu);
  return physical_ == nullptr ? base : base + static_cast<uint64_t>(number_ - 1) * size;
}

uint64_t ConfigSpace::bar_size(int index) const {
  if (physical_ != nullptr) return index == 0 ? physical_->vf_bar_size() : 0;
  switch (index) {
    case 0:
      return kBar0Bytes;
    case 2:
      return kBar2Bytes;
    case 4:
      return kBar4Bytes;
    default:
      return 0;
  }
}

uint64_t ConfigSpace::vf_bar_size() const {
  return std::max(kVfBar0Bytes, static_cast<uint64_t>(Get(kSystemPageSize)) * 4096);
}

bool ConfigSpace::msi_enabled() const { return (Get(kMsi) & kMsiEnable) != 0; }

int ConfigSpace::msi_vectors() const { return 1 << Bits(Get(kMsi), kMsiMultipleEnableShift, 3); }

unsigned ConfigSpace::VectorBit(int vector) const {
  if (vector < 0 || vector >= kMsiVectors) {
    throw InternalError("MSI vector {}; vectors are 0 to {}", vector, kMsiVectors - 1);
  }
  return 1u << (vector % msi_vectors());
}

bool ConfigSpace::MsiMasked(int vector) const { return (Get(kMsiMask) & VectorBit(vector)) != 0; }

bool ConfigSpace::MsiPending(int vector) const {
  return (Get(kMsiPending) & VectorBit(vector)) != 0;
}

void ConfigSpace::SetMsiPending(int vector, bool pending) {
  const uint32_t others = Get(kMsiPending) & ~VectorBit(vector);
  Set(kMsiPending, pending ? others | VectorBit(vector) : others);
}

uint64_t ConfigSpace::msi_address() const {
  return static_cast<uint64_t>(Get(kMsiAddressHigh)) << 32 | Get(kMsiAddressLow);
}

uint32_t ConfigSpace::MsiData(int vector) const {
  VectorBit(vector);  // for its check
  const auto count = static_cast<uint32_t>(msi_vectors());
  return (Get(kMsiData) & ~(count - 1)) | static_cast<uint32_t>(vector) % count;
}

bool ConfigSpace::vf_enabled() const { return (Get(kSriovControl) & kVfEnable) != 0; }
int ConfigSpace::num_vfs() const { return static_cast<int>(Get(kNumVfs) & 0xFFFF); }
bool ConfigSpace::vf_memory_enabled() const { return (Get(kSriovControl) & kVfMemoryEnable) != 0; }

void ConfigSpace::ReportUncorrectableError(uint32_t bits, const TlpHeader* header) {
  bits &= layout_.clear[kUncorrectableStatus / 4];
  if (bits == 0) return;
  if (Get(kUncorrectableStatus) == 0) {  // the first error is the one that is shown
    const auto first = static_cast<uint32_t>(__builtin_ctz(bits));
    Set(kAerControl, WithBits(Get(kAerControl), 0, 5, first));
    for (uint32_t i = 0; i < 4; ++i) Set(kHeaderLog + 4 * i, header != nullptr ? (*header)[i] : 0);
  }
  Set(kUncorrectableStatus, Get(kUncorrectableStatus) | bits);
  const bool fatal = (bits & Get(kUncorrectableSeverity)) != 0;
  Set(kDeviceControl, Get(kDeviceControl) | (fatal ? kFatalDetected : kNonFatalDetected));
}

void ConfigSpace::ReportUnsupportedRequest(bool posted, const TlpHeader* header) {
  const uint32_t status = Get(kDeviceControl) | kUnsupportedDetected;
  const bool advisory = !posted && (Get(kUncorrectableSeverity) & kUnsupportedRequest) == 0;
  ReportUncorrectableError(kUnsupportedRequest, header);
  if (!advisory) return Set(kDeviceControl, Get(kDeviceControl) | kUnsupportedDetected);
  Set(kDeviceControl, status);
  ReportCorrectableError(kAdvisoryNonFatal);
}

void ConfigSpace::ReportPoisonedRequest(const TlpHeader& header) {
  SetStatus(kDetectedParity);
  ReportUncorrectableError(kPoisoned, &header);
}

void ConfigSpace::ReportMasterAbort() { SetStatus(kReceivedMasterAbort); }
void ConfigSpace::ReportTargetAbort() { SetStatus(kReceivedTargetAbort); }

void ConfigSpace::ReportPoisonedCompletion() {
  // A VF has no command bit of its own.
  const ConfigSpace& owner = physical_ == nullptr ? *this : *physical_;
  const bool answers = (owner.Get(kCommandStatus) & kCommandParity) != 0;
  SetStatus(kDetectedParity | (answers ? kMasterDataParity : 0));
  ReportUncorrectableError(kPoisoned);
}

void ConfigSpace::ReportCompletionTimeout() { ReportUncorrectableError(kCompletionTimeout); }

void ConfigSpace::ReportCorrectableError(uint32_t bits) {
  bits &= layout_.clear[kCorrectableStatus / 4];
  if (bits == 0) return;
  Set(kCorrectableStatus, Get(kCorrectableStatus) | bits);
  Set(kDeviceControl, Get(kDeviceControl) | kCorrectableDetected);
}

// PCI Express base specification, "Memory Request Header": four words with a 64-bit address, which
// one below 4 GiB may not have. The requester is the root complex, which is 00:00.0.
TlpHeader MemoryRequestHeader(bool write, uint64_t address, uint64_t bytes) {
  const uint64_t first = address & ~uint64_t{3};
  const uint64_t last = (address + bytes - 1) & ~uint64_t{3};
  const uint64_t words = (last - first) / 4 + 1;
  const auto lead = static_cast<unsigned>(address - first);
  const auto end = static_cast<unsigned>(address + bytes - last);  // bytes of the last word
  uint32_t first_enables = 0xFu << lead & 0xF;
  uint32_t last_enables = 0xFu >> (4 - end);
  if (words == 1) {
    first_enables &= last_enables;
    last_enables = 0;
  }
  const bool wide = address >> 32 != 0;
  const uint32_t format = (write ? 0x2u : 0u) | (wide ? 1u : 0u);
  const auto length = static_cast<uint32_t>(words & 0x3FF);  // 0 is 1,024
  TlpHeader header{format << 29 | length, last_enables << 4 | first_enables};
  size_t at = 2;
  if (wide) header[at++] = static_cast<uint32_t>(address >> 32);
  header[at] = static_cast<uint32_t>(first);
  return header;
}

}  // namespace spyre::model
