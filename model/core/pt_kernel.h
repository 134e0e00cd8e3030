// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the PT array: what MATMUL does to memory, without time and without SystemC.
// Semantics, layouts and the order of additions are those of kMatmul in model/contract/program.h:
//   a    [i][kk]  SEN169 at a + (kk/64) * a_kstick_stride + i * 128 + (kk%64) * 2
//   b    [kk][j]  SEN169 at b + (j/64) * b_nstick_stride + kk * 128 + (j%64) * 2
//   acc  [i][j]   fp32   at acc + (j/64) * acc_nstick_stride + i * 256 + (j%64) * 4
// Strides are bytes; n is a multiple of 64; `accumulate` false zeroes acc first. acc must not
// overlap a or b. Nothing needs alignment. Any thread; scratch memory is per thread.
//
// Every form gives the same bits: the order of additions is fixed, and the product of two SEN169
// values is exact in fp32, so a fused and a separate multiply-add agree. Only the sign and payload
// of a NaN may differ; rounding to SEN169 makes every NaN 0x7FFF. Sums of exact products cannot
// reach the fp32 subnormal range, so no form meets a slow path there.
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::model {

using PtMatmulFn = void (*)(uint8_t* acc, const uint8_t* a, const uint8_t* b, int m, int n, int k,
                            int64_t a_kstick_stride, int64_t b_nstick_stride,
                            int64_t acc_nstick_stride, bool accumulate);

// The fastest form this processor can run.
void PtMatmul(uint8_t* acc, const uint8_t* a, const uint8_t* b, int m, int n, int k,
              int64_t a_kstick_stride, int64_t b_nstick_stride, int64_t acc_nstick_stride,
              bool accumulate);

// The definition, one element after the other. For tests.
void PtMatmulScalar(uint8_t* acc, const uint8_t* a, const uint8_t* b, int m, int n, int k,
                    int64_t a_kstick_stride, int64_t b_nstick_stride, int64_t acc_nstick_stride,
                    bool accumulate);

// Every fast form this processor can run, fastest first; PtMatmul is the first. Tests hold them all
// equal to the scalar one.
struct PtVariant {
  const char* name;
  PtMatmulFn run;
};
std::vector<PtVariant> PtVariants();

}  // namespace spyre::model
