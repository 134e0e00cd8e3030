// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/config_space.h"

#include <algorithm>

#include "base/error.h"

namespace spyre::model {
namespace {

using namespace config;

constexpr uint32_t kPowerD0 = 0;
constexpr uint32_t kPowerD3 = 3;
constexpr uint32_t kPayload512 = 2;
constexpr uint32_t kReadRequest4096 = 5;
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

void RequireOffset(uint32_t offset) {
  if (offset % 4 != 0 || offset >= kConfigBytes) {
    throw BadInput("configuration space: offset {:#x}; it must be a multiple of 4 below {:#x}",
                   offset, kConfigBytes);
  }
}

}  // namespace

ConfigSpace::ConfigSpace(const LinkAbility& link)
    : link_(link), layout_(PhysicalConfigLayout(link)) {
  Reset();
}

ConfigSpace::ConfigSpace(const ConfigSpace& physical, int number)
    : link_(physical.link_),
      layout_(VirtualConfigLayout(link_)),
      physical_(&physical),
      number_(number) {
  if (physical.physical_ != nullptr || number < 1 || number > kTotalVfs) {
    throw InternalError(
        "configuration space: virtual function {} of a {} function; numbers are "
        "1 to {}, of a physical function",
        number, physical.physical_ == nullptr ? "physical" : "virtual", kTotalVfs);
  }
  Reset();
}

void ConfigSpace::Reset() { Load(false); }

void ConfigSpace::Load(bool keep_sticky) {
  for (size_t i = 0; i < kConfigDwords; ++i) {
    const uint32_t kept = keep_sticky ? layout_.sticky[i] : 0;
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
    keep_unless(Bits(value, kPayloadShift, 3) <= kPayload512, kPayloadShift, 3);
    keep_unless(Bits(value, kReadRequestShift, 3) <= kReadRequest4096, kReadRequestShift, 3);
  } else if (physical_ == nullptr && offset == kNumVfs) {
    keep_unless(Bits(value, 0, 16) <= static_cast<uint32_t>(kTotalVfs), 0, 16);
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
  const bool touches_msi = offset >= kMsi && offset <= kMsiMask;
  if (touches_msi || offset == kCommandStatus || offset == kPowerControl) {
    if (on_msi_change) on_msi_change();
  }
}

void ConfigSpace::FunctionLevelReset() {
  const bool had_vfs = physical_ == nullptr && vf_enabled();
  Load(true);
  if (had_vfs && on_vf_disable) on_vf_disable();
  if (on_flr) on_flr();
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

void ConfigSpace::ReportUncorrectableError(uint32_t bits) {
  bits &= layout_.clear[kUncorrectableStatus / 4];
  if (bits == 0) return;
  if (Get(kUncorrectableStatus) == 0) {  // the first error is the one that is pointed at
    const auto first = static_cast<uint32_t>(__builtin_ctz(bits));
    Set(kAerControl, WithBits(Get(kAerControl), 0, 5, first));
  }
  Set(kUncorrectableStatus, Get(kUncorrectableStatus) | bits);
  const bool fatal = (bits & Get(kUncorrectableSeverity)) != 0;
  Set(kDeviceControl, Get(kDeviceControl) | (fatal ? 1u << 18 : 1u << 17));
}

void ConfigSpace::ReportCorrectableError(uint32_t bits) {
  bits &= layout_.clear[kCorrectableStatus / 4];
  if (bits == 0) return;
  Set(kCorrectableStatus, Get(kCorrectableStatus) | bits);
  Set(kDeviceControl, Get(kDeviceControl) | 1u << 16);
}

}  // namespace spyre::model
