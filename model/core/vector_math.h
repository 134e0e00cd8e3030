// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the vector unit: what its instructions do to one stick or one value, without
// time and without SystemC. Semantics of the instructions: model/contract/program.h.
//
// `fn` is the fn byte of the instruction, flags included: with kFp32Sticks a stick is 32 fp32, else
// 64 SEN169 codes; both are 128 bytes. Pointers may be unaligned; dst may be the same stick as an
// operand. Any thread: tables are built once, on first use.
//
// Unary functions, SEN169: correctly rounded, at most 0.5 units in the last place, ties away from
// zero, for all 65,536 inputs (tested). Special values:
//   - Copy moves the code unchanged. Every other function gives NINF 0x7FFF for either NINF.
//   - Neg flips the sign and Abs clears it, also of zero. Relu and Relu6 give +0 for zeros and
//     negatives.
//   - Exp, Gelu (the erf form, x/2 * erfc(-x/sqrt 2)), Sigmoid, Tanh, Sqrt, Rsqrt, Reciprocal, Log,
//     Silu, Softplus, Mish, Floor are the IEEE functions of the value: what overflows, 1/0 and log
//     0 are NINF with the sign; Sqrt, Rsqrt and Log of negatives are 0x7FFF; Sqrt, Gelu, Silu, Mish
//     and Floor of -0 are -0; what underflows is zero with the sign.
// Unary functions, fp32: evaluated in double and rounded once, nearest even; at most 0.501 units in
// the last place off (tested on samples). Infinities and subnormals are IEEE's.
//
// The binary functions are one fp32 operation and one rounding to the format. Max and Min give NaN
// if either operand is, and the first operand if both are equal (also +0 and -0). A NaN result is
// 0x7FFF or 0x7FC00000; only Copy and Select move other NaNs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/contract/program.h"

namespace spyre::model {

inline constexpr int kStickLanes = 64;      // SEN169
inline constexpr int kFp32StickLanes = 32;  // fp32
constexpr int LanesOf(uint8_t fn) {
  return (fn & kFp32Sticks) != 0 ? kFp32StickLanes : kStickLanes;
}

// Functions beyond the enumerations throw Error(kBadInput).
uint16_t ApplyUnary(UnaryFn fn, uint16_t a);
float ApplyUnary(UnaryFn fn, float a);
void UnaryStick(uint8_t fn, void* dst, const void* a);
// Takes one pass of the lanes; the others take more.
bool IsSimple(UnaryFn fn);
void BinaryStick(uint8_t fn, void* dst, const void* a, const void* b);

// Reductions in fp32, from IdentityOf: a + b, a * b, or the larger or smaller as Max and Min above
// (NaN if either is NaN).
float ReduceIdentity(ReduceFn fn);
float CombineFp32(ReduceFn fn, float a, float b);
// The first `lanes` lanes of a stick, in increasing order, from the identity (one step of
// kVreduce).
float ReduceLanes(uint8_t fn, const void* a, int lanes);
// acc[lane] = combine(acc[lane], a[lane]) for all lanes (one row of kVreduceRows).
void CombineStick(uint8_t fn, float* acc, const void* a);
// dst[i] = combine(a[i], b[i]) for i < count (kVaccumulate, and the end of a kVreduceRows chunk).
void CombineBlock(ReduceFn fn, float* dst, const float* a, const float* b, size_t count);

// kVround: fp32 to the lanes of a stick. `operand` is what the instruction's `divisor` register
// holds: above 1, each value is first divided by it in fp32; with kRoundScale it is the bits of the
// fp32 by which each value is multiplied. One lane only: acc[0] is read, nothing else.
void RoundStick(uint8_t fn, void* dst, const float* acc, uint64_t operand);

}  // namespace spyre::model
