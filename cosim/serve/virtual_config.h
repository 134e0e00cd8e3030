// SPDX-License-Identifier: Apache-2.0
// What a host makes up in the configuration space of a virtual function, because SR-IOV leaves it
// out there: BAR0 and the memory-enable bit. Both have no effect on the card, whose physical
// function decides. Plain data; any one thread.
#pragma once

#include <contract/registers.h>

#include <cstdint>

namespace spyre::cosim {

class VirtualConfig {
 public:
  // What the client sees where the card has given `value`; `offset` a multiple of 4.
  uint32_t Read(uint32_t offset, uint32_t value) const {
    switch (offset) {
      case kCommand:
        return value | command_;
      case kBar0:
        return kPrefetchable64 | bar_low_;
      case kBar0 + 4:
        return bar_high_;
      default:
        return value;
    }
  }
  // `mask`: bits that are written.
  void Write(uint32_t offset, uint32_t value, uint32_t mask) {
    const auto put = [&](uint32_t& bits, uint32_t writable) {
      bits = (bits & ~(writable & mask)) | (value & writable & mask);
    };
    if (offset == kCommand) put(command_, kMemoryEnable);
    if (offset == kBar0) put(bar_low_, static_cast<uint32_t>(~(kVfBar0Bytes - 1)));
    if (offset == kBar0 + 4) put(bar_high_, 0xFFFFFFFF);
  }
  void Reset() { *this = VirtualConfig(); }

 private:
  static constexpr uint32_t kCommand = 0x04;
  static constexpr uint32_t kMemoryEnable = 1u << 1;
  static constexpr uint32_t kBar0 = 0x10;
  static constexpr uint32_t kPrefetchable64 = 0xC;  // as the PF's VF BAR

  uint32_t command_ = 0, bar_low_ = 0, bar_high_ = 0;
};

}  // namespace spyre::cosim
