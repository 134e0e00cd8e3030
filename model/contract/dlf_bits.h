// SPDX-License-Identifier: Apache-2.0
// SEN169_FP16 <-> fp32 on bit patterns, inline and without branches so that loops over lanes
// vectorise. formats.h has the same conversions as functions of values; use those outside loops.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/vector_clones.h"
#include "contract/registers.h"

namespace spyre {

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline constexpr uint32_t kFloatNanBits = 0x7FC00000;
inline constexpr uint32_t kFloatInfinityBits = 0x7F800000;
inline constexpr uint32_t kDlfToFloatShift = 23 - kDlfFractionBits;
inline constexpr uint32_t kDlfToFloatRebias = 127 - kDlfBias;

// Exact. Either NINF gives the positive quiet NaN.
inline uint32_t FloatBitsFromDlf(uint32_t value) {
  const uint32_t magnitude = value & 0x7FFF;
  const uint32_t sign = (value & 0x8000) << 16;
  uint32_t bits = sign | ((magnitude << kDlfToFloatShift) + (kDlfToFloatRebias << 23));
  bits = magnitude == 0 ? sign : bits;
  return magnitude == 0x7FFF ? kFloatNanBits : bits;
}

// One rounding, ties away from zero: half a unit is added in the last place kept, then the rest is
// cut off; what falls below code 1 is zero and what reaches code 0x7FFF is NINF.
inline uint32_t DlfFromFloatBits(uint32_t bits) {
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  const uint32_t half_unit = 1u << (kDlfToFloatShift - 1);
  const int32_t rebias = kDlfToFloatRebias << kDlfFractionBits;
  int32_t code = static_cast<int32_t>((magnitude + half_unit) >> kDlfToFloatShift) - rebias;
  code = code < 0 ? 0 : code;
  code = code > 0x7FFF ? 0x7FFF : code;
  const uint32_t result = ((bits >> 16) & 0x8000) | static_cast<uint32_t>(code);
  return magnitude > kFloatInfinityBits ? 0x7FFF : result;
}

}  // namespace spyre
