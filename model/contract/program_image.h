// SPDX-License-Identifier: Apache-2.0
// Byte offsets of the program image, shared by encoder and decoder. Little endian. Described for
// readers in docs/program-format.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/contract/program.h"

namespace spyre::image {

inline constexpr std::array<uint8_t, 4> kMagic = {'S', 'P', 'Y', 'P'};
inline constexpr uint16_t kVersion = 2;
inline constexpr uint16_t kFlagTimingOnly = 1;
inline constexpr uint16_t kFlagGeneratedLoops = 2;

// Header.
inline constexpr size_t kMagicAt = 0;               // u8[4]
inline constexpr size_t kVersionAt = 4;             // u16
inline constexpr size_t kFlagsAt = 6;               // u16
inline constexpr size_t kImageBytesAt = 8;          // u32
inline constexpr size_t kCrcAt = 12;                // u32
inline constexpr size_t kCoreMaskAt = 16;           // u32
inline constexpr size_t kLxBytesAt = 20;            // u32
inline constexpr size_t kSectionsAt = 24;           // u32
inline constexpr size_t kCoreRegisterRowsAt = 28;   // u32, 0 or 32
inline constexpr size_t kTableEntriesAt = 32;       // u32
inline constexpr size_t kInstructionsAt = 36;       // u32, of all sections
inline constexpr size_t kCoreRegisterWidthAt = 40;  // u32, 1..1024; 0 without rows
inline constexpr size_t kNextAt = 44;               // u32
inline constexpr size_t kReserved0At = 48;          // 16 bytes, 0
inline constexpr size_t kNameAt = 64;               // 32 bytes, filled with 0
inline constexpr size_t kReserved1At = 96;          // 32 bytes, 0

// One entry of the section directory.
inline constexpr size_t kSectionBytes = 16;
inline constexpr size_t kSectionUnitAt = 0;      // u8
inline constexpr size_t kSectionReservedAt = 1;  // 3 bytes, 0
inline constexpr size_t kSectionMaskAt = 4;      // u32
inline constexpr size_t kSectionOffsetAt = 8;    // u32, bytes from the start of the image
inline constexpr size_t kSectionCountAt = 12;    // u32, instructions

template <typename T>
void Put(uint8_t* to, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    to[i] = static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i));
  }
}
template <typename T>
T Get(const uint8_t* from) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<uint64_t>(from[i]) << (8 * i);
  return static_cast<T>(value);
}

// CRC-32C of the image with the CRC field and the address table (all its sticks) taken as zero.
uint32_t ImageCrc(const uint8_t* image, size_t image_bytes, size_t table_at, size_t table_bytes);

}  // namespace spyre::image
