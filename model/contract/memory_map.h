// SPDX-License-Identifier: Apache-2.0
// Sizes and addresses that hardware, driver and compiler agree on. Sources: public facts, see
// docs/facts.md.
#pragma once

#include <contract/registers.h>

#include <cstdint>

namespace spyre {

inline constexpr uint64_t kStickBytes =
    kEntryBytes;  // unit of layout and of alignment in device memory
inline constexpr uint64_t kMaxBurstBytes = 4096;  // longest device-memory transaction: 32 sticks
inline constexpr uint64_t kMaxCoreSpanBytes =
    256ull << 20;  // span of one tensor that one core may address
inline constexpr int kMaxCores = 32;
inline constexpr int kRegions = kFunctionRegions;  // memory regions of one virtual function
inline constexpr int kSegments = 8;                // segments of the device virtual address space
inline constexpr uint64_t kSegmentBytes = 1ull << kSegmentBits;
inline constexpr int kProgramSegment = 7;  // bound to the running program's allocation
inline constexpr uint64_t kProgramBase = static_cast<uint64_t>(kProgramSegment) << kSegmentBits;
inline constexpr uint64_t kLxBytes = 2ull << 20;           // LX scratchpad of one core
inline constexpr uint64_t kLxReservedBytes = 64ull << 10;  // of which program and debug data
inline constexpr uint64_t kLxUsableBytes = kLxBytes - kLxReservedBytes;

inline constexpr uint8_t kPermissionRead = 1;
inline constexpr uint8_t kPermissionWrite = 2;
inline constexpr uint8_t kPermissionExecute = 4;

constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}
constexpr bool IsStickAligned(uint64_t value) { return value % kStickBytes == 0; }

// Device virtual address of byte `offset` of segment `segment`.
constexpr uint64_t SegmentAddress(unsigned segment, uint64_t offset) {
  return (static_cast<uint64_t>(segment) << kSegmentBits) | offset;
}
constexpr unsigned SegmentOf(uint64_t device_virtual_address) {
  return static_cast<unsigned>(device_virtual_address >> kSegmentBits);
}
constexpr uint64_t SegmentOffset(uint64_t device_virtual_address) {
  return device_virtual_address & (kSegmentBytes - 1);
}

}  // namespace spyre
