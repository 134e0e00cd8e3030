// The arithmetic of the vector unit: what its instructions do to one stick or one value, without
// time and without SystemC. Semantics of the instructions: model/contract/program.h.
//
// A stick is 64 SEN169 codes (128 bytes), an acc stick 64 fp32 (256 bytes). Pointers may be
// unaligned; dst may be the same stick as an operand. Any thread: tables are built once, on first
// use.
//
// Errors of the unary functions: correctly rounded, at most 0.5 units in the last place, ties away
// from zero, for all 65,536 inputs (tested). Special values:
//   - Copy moves the code unchanged. Every other function gives NINF 0x7FFF for either NINF.
//   - Neg flips the sign and Abs clears it, also of zero. Relu gives +0 for zeros and negatives.
//   - Exp, Gelu (the erf form, x/2 * erfc(-x/sqrt 2)), Sigmoid, Tanh, Sqrt, Rsqrt, Reciprocal are
//   the
//     IEEE functions of the value: what overflows, and 1/0, is NINF with the sign; Sqrt and Rsqrt
//     of negatives are 0x7FFF; Sqrt and Gelu of -0 are -0; what underflows is zero with the sign.
// The binary functions are one fp32 operation and one rounding to SEN169. Max and Min give 0x7FFF
// if either operand is NINF, and the first operand if both are equal (also +0 and -0).
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/contract/program.h"

namespace spyre::model {

inline constexpr int kStickLanes = 64;

// Functions beyond the enumerations throw Error(kBadInput).
uint16_t ApplyUnary(UnaryFn fn, uint16_t a);
void UnaryStick(UnaryFn fn, uint16_t* dst, const uint16_t* a);
// With broadcast_lane0, lane 0 of b serves all lanes.
void BinaryStick(BinaryFn fn, uint16_t* dst, const uint16_t* a, const uint16_t* b,
                 bool broadcast_lane0);

// Reductions in fp32: 0, -infinity, +infinity; a + b, or the larger or smaller as Max and Min above
// (NaN if either is NaN).
float ReduceIdentity(ReduceFn fn);
float CombineFp32(ReduceFn fn, float a, float b);
// The first `lanes` lanes of a stick, in increasing order, from the identity (one step of
// kVreduce).
float ReduceLanes(ReduceFn fn, const uint16_t* a, int lanes);
// acc[lane] = combine(acc[lane], a[lane]) for 64 lanes (one row of kVreduceRows).
void CombineStick(ReduceFn fn, float* acc, const uint16_t* a);
// dst[i] = combine(a[i], b[i]) for i < count (kVaccumulate, and the end of a kVreduceRows chunk).
void CombineBlock(ReduceFn fn, float* dst, const float* a, const float* b, size_t count);

// kVround: fp32 to SEN169; with divisor > 1 each value is first divided by it in fp32.
void RoundStick(uint16_t* dst, const float* acc, int64_t divisor);
// The same for lane 0 only; the other 63 lanes of dst become 0.
void RoundLane0(uint16_t* dst, float acc, int64_t divisor);

}  // namespace spyre::model
