// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/matmul_block.h"

#include "cosim/reference/matmul_block_forms.h"

namespace spyre::cosim {
namespace {

// Operands in double may be any numbers, whose products are rounded: nothing is fused here.
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
SPYRE_MATMUL_BLOCK(Avx512, __attribute__((target("avx512f"))), double, 64, 2, 1)
SPYRE_MATMUL_BLOCK(Avx2, __attribute__((target("avx2"))), double, 32, 2, 1)
#endif
SPYRE_MATMUL_BLOCK(Portable, , double, 16, 2, 1)

}  // namespace

std::vector<MatmulBlockForm<double>> DoubleMatmulBlocks() {
  std::vector<MatmulBlockForm<double>> forms;
#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
  if (__builtin_cpu_supports("avx512f")) forms.push_back({"avx512", Avx512});
  if (__builtin_cpu_supports("avx2")) forms.push_back({"avx2", Avx2});
#endif
  forms.push_back({"portable", Portable});
  return forms;
}

void MatmulBlock(const float* a, const float* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, float* results) {
  static const auto block = FloatMatmulBlocks().front().run;
  block(a, panel, k, slice_ends, results);
}

void MatmulBlock(const double* a, const double* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, double* results) {
  static const auto block = DoubleMatmulBlocks().front().run;
  block(a, panel, k, slice_ends, results);
}

}  // namespace spyre::cosim
