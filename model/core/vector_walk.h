// SPDX-License-Identifier: Apache-2.0
// Where a vector instruction finds the sticks of an operand. For the vector unit's own files.
#pragma once

#include <cstdint>

#include "model/core/units.h"

namespace spyre::model {

// The 16-bit lanes that a stick takes, whatever its format: an fp32 element takes two of them.
inline constexpr uint64_t kLanes = 64;
inline constexpr uint64_t kMaxRows = 1 << 20;

// The sticks of one operand: planes x rows from a checked start.
struct VectorUnit::Walk {
  uint8_t* base;
  uint64_t plane_stride;
  uint64_t row_stride;
  uint8_t* At(uint64_t plane, uint64_t row) const {
    return base + plane * plane_stride + row * row_stride;
  }
  float* Acc(uint64_t plane, uint64_t row) const {
    return reinterpret_cast<float*>(At(plane, row));
  }
};

}  // namespace spyre::model
