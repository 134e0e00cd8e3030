// SPDX-License-Identifier: Apache-2.0
// Lanes of a stick in either format, for the loops of the vector unit's arithmetic. Inline, so that
// the loops vectorise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "model/contract/dlf_bits.h"
#include "model/core/vector_math.h"

#define SPYRE_INLINE inline __attribute__((always_inline))
// Of a lambda: without it the body would be a function of its own, and not vectorised for each
// instruction set (SPYRE_VECTOR_CLONES).
#define SPYRE_INLINE_LAMBDA __attribute__((always_inline))

namespace spyre::model {

struct Sen169Lanes {
  using Code = uint16_t;
  static constexpr int kCount = kStickLanes;
  static SPYRE_INLINE float Value(Code code) { return FloatOf(FloatBitsFromDlf(code)); }
  static SPYRE_INLINE Code Round(float value) {
    return static_cast<Code>(DlfFromFloatBits(BitsOf(value)));
  }
};

struct Fp32Lanes {
  using Code = uint32_t;
  static constexpr int kCount = kFp32StickLanes;
  static SPYRE_INLINE float Value(Code code) { return FloatOf(code); }
  static SPYRE_INLINE Code Round(float value) {
    return value != value ? kFloatNanBits : BitsOf(value);
  }
};

// Calls body(lanes, Sen169Lanes or Fp32Lanes).
template <typename Body>
SPYRE_INLINE auto WithLanes(uint8_t fn, Body body) {
  return (fn & kFp32Sticks) != 0 ? body(Fp32Lanes{}) : body(Sen169Lanes{});
}

// Every lane of dst from fn(lane). The results go through a local block so that dst may be an
// operand.
template <typename Code, int kCount, typename Fn>
SPYRE_INLINE void ForLanes(void* dst, Fn fn) {
  Code result[kCount];
  for (int lane = 0; lane < kCount; ++lane) result[lane] = fn(lane);
  std::memcpy(dst, result, sizeof result);
}

// The codes of a stick; with lane0, its first one in every lane.
template <typename Lanes>
SPYRE_INLINE void LoadLanes(typename Lanes::Code* codes, const void* stick, bool lane0) {
  using Code = typename Lanes::Code;
  if (lane0) {
    Code first;
    std::memcpy(&first, stick, sizeof first);
    for (int lane = 0; lane < Lanes::kCount; ++lane) codes[lane] = first;
  } else {
    std::memcpy(codes, stick, Lanes::kCount * sizeof(Code));
  }
}

}  // namespace spyre::model
