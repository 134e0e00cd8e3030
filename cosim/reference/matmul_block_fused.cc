// SPDX-License-Identifier: Apache-2.0
// The forms for float, compiled so that a multiplication and the addition of its product become one
// instruction. That keeps the bits. A SEN169 value has 10 bits of significand and is a multiple of
// 2^-40 below 2^33; the values of the narrower formats are fewer bits still. So a product has at
// most 20 bits, is a multiple of 2^-80 below 2^66 (or 0, infinite or NaN), and is exact in float:
// both ways add the same number, with one rounding. Sums of such products are multiples of 2^-80
// too, so none comes near the subnormal numbers, where flags of the processor could matter.
#include "cosim/reference/matmul_block_forms.h"

namespace spyre::cosim {
namespace {

#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
SPYRE_MATMUL_BLOCK(FusedAvx512, __attribute__((target("avx512f,fma"))), float, 64, 1, 2)
SPYRE_MATMUL_BLOCK(FusedAvx2, __attribute__((target("avx2,fma"))), float, 32, 2, 1)
#endif
SPYRE_MATMUL_BLOCK(Portable, , float, 16, 2, 1)

}  // namespace

std::vector<MatmulBlockForm<float>> FloatMatmulBlocks() {
  std::vector<MatmulBlockForm<float>> forms;
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
  if (__builtin_cpu_supports("avx512f")) forms.push_back({"avx512", FusedAvx512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    forms.push_back({"avx2", FusedAvx2});
#endif
  forms.push_back({"portable", Portable});
  return forms;
}

}  // namespace spyre::cosim
