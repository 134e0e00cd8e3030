// SPDX-License-Identifier: Apache-2.0
// What kernels with one input share: the places of their operands, and the tokens between the load,
// vector and store units, each of which works one buffer ahead of the next. Used by code generation
// only.
#pragma once

#include <cstdint>

namespace spyre::compiler::one_input {

enum Token : uint8_t {
  kInFull = 1,  // load -> vector
  kInFree,      // vector -> load
  kOutFull,     // vector -> store
  kOutFree,     // store -> vector
};

inline constexpr int kIn = 0;
inline constexpr int kOut = 1;
inline constexpr int kSlots = 2;  // buffers of an operand, used in turn

}  // namespace spyre::compiler::one_input
