// SPDX-License-Identifier: Apache-2.0
// The PCI configuration space of the fake card: enough capabilities for a driver to walk, and what
// it wrote.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <map>

namespace spyre::test {

class FakeConfigSpace {
 public:
  static constexpr uint32_t kPowerManagement =
      0x40;  // a capability that nobody asks for comes first
  static constexpr uint32_t kMsi = 0x50;
  static constexpr uint32_t kPciExpress = 0x70;
  static constexpr uint32_t kAer = 0x100;
  static constexpr uint32_t kSriov = 0x160;

  explicit FakeConfigSpace(bool physical = true) : physical_(physical) { Reset(); }

  void Reset() {
    words_.clear();
    const uint32_t device = physical_ ? kPciPfDeviceId : kPciVfDeviceId;
    words_[0x00] = device << 16 | kPciVendorId;
    words_[0x04] = 1u << 20;
    words_[0x34] = kPowerManagement;
    words_[kPowerManagement] = kMsi << 8 | 0x01;
    words_[kMsi] = (1u << 23 | 3u << 17) | kPciExpress << 8 | 0x05;
    words_[kPciExpress] = 0x10;
    words_[kPciExpress + 4] = 1u << 28;
    words_[kAer] = kSriov << 20 | 1u << 16 | 0x0001;
    if (physical_) {
      words_[kSriov] = 1u << 16 | 0x0010;
      words_[kSriov + 0x0C] = static_cast<uint32_t>(kTotalVfs) << 16 | kTotalVfs;
    } else {
      words_[kAer] &= 0xFFFFF;
    }
  }

  uint32_t Read(uint32_t offset) const {
    const auto it = words_.find(offset);
    return it == words_.end() ? 0 : it->second;
  }
  void Set(uint32_t offset, uint32_t value) { words_[offset] = value; }

  // True: the write asked for a function-level reset.
  bool Write(uint32_t offset, uint32_t value) {
    if (offset == 0x04) {
      words_[offset] = (words_[offset] & 0xFFFF0000) | (value & 0xFFFF);
    } else if (offset == kMsi) {
      constexpr uint32_t kWritable = 1u << 16 | 7u << 20;
      words_[offset] = (words_[offset] & ~kWritable) | (value & kWritable);
    } else if (offset == kPciExpress + 8) {
      words_[offset] = value & 0x7FFF;
      return (value & 1u << 15) != 0;
    } else if (offset > kMsi) {
      words_[offset] = value;
    }
    return false;
  }

  bool memory_enabled() const { return Read(0x04) & 2; }
  bool bus_master() const { return Read(0x04) & 4; }
  bool msi_enabled() const { return Read(kMsi) & 1u << 16; }
  int enabled_vfs() const {
    return Read(kSriov + 8) & 1 ? static_cast<int>(Read(kSriov + 0x10) & 0xFFFF) : 0;
  }

 private:
  bool physical_;
  std::map<uint32_t, uint32_t> words_;
};

}  // namespace spyre::test
