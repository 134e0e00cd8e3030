// SPDX-License-Identifier: Apache-2.0
#include "cosim/reference/matmul_block.h"

#include <algorithm>
#include <cstring>

namespace spyre::cosim {
namespace {

constexpr int64_t kMatmulChunk = 64;
constexpr int kVectorBytes = 32;

// Lane by lane the operations are those of the scalar type, so the vector form adds in the same
// order; the compiler is told not to fuse multiply and add.
template <class Real>
struct Vector;
template <>
struct Vector<float> {
  using Type = float __attribute__((vector_size(kVectorBytes)));
};
template <>
struct Vector<double> {
  using Type = double __attribute__((vector_size(kVectorBytes)));
};

template <class Real>
__attribute__((always_inline)) inline void Block(const Real* a, const Real* panel, int64_t k,
                                                 const std::vector<int64_t>& slice_ends,
                                                 Real* results) {
  using Lanes = typename Vector<Real>::Type;
  constexpr int64_t kLaneCount = kVectorBytes / sizeof(Real);
  constexpr int64_t kVectors = 2;  // columns in steps of two vectors: they stay in registers
  for (int64_t column = 0; column < kMatmulPanel; column += kVectors * kLaneCount) {
    Lanes total[kMatmulRows][kVectors] = {};
    int64_t slice_at = 0;
    for (const int64_t slice_end : slice_ends) {
      Lanes sum[kMatmulRows][kVectors] = {};
      for (int64_t chunk_at = slice_at; chunk_at < slice_end; chunk_at += kMatmulChunk) {
        const int64_t chunk_end = std::min(slice_end, chunk_at + kMatmulChunk);
        Lanes chunk[kMatmulRows][kVectors] = {};
        for (int64_t kk = chunk_at; kk < chunk_end; ++kk) {
          Lanes b[kVectors];
          std::memcpy(b, panel + kk * kMatmulPanel + column, sizeof b);
          for (int64_t r = 0; r < kMatmulRows; ++r) {
            const Real value = a[r * k + kk];
            chunk[r][0] += value * b[0];
            chunk[r][1] += value * b[1];
          }
        }
        for (int64_t r = 0; r < kMatmulRows; ++r) {
          sum[r][0] += chunk[r][0];
          sum[r][1] += chunk[r][1];
        }
      }
      for (int64_t r = 0; r < kMatmulRows; ++r) {
        total[r][0] = slice_at == 0 ? sum[r][0] : total[r][0] + sum[r][0];
        total[r][1] = slice_at == 0 ? sum[r][1] : total[r][1] + sum[r][1];
      }
      slice_at = slice_end;
    }
    for (int64_t r = 0; r < kMatmulRows; ++r)
      std::memcpy(results + r * kMatmulPanel + column, total[r], sizeof total[r]);
  }
}

template <class Real>
void BlockPortable(const Real* a, const Real* panel, int64_t k,
                   const std::vector<int64_t>& slice_ends, Real* results) {
  Block(a, panel, k, slice_ends, results);
}

#if defined(__x86_64__) && !defined(SPYRE_SCALAR)
template <class Real>
__attribute__((target("avx2"))) void BlockAvx2(const Real* a, const Real* panel, int64_t k,
                                               const std::vector<int64_t>& slice_ends,
                                               Real* results) {
  Block(a, panel, k, slice_ends, results);
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
template <class Real>
void BlockAvx2(const Real* a, const Real* panel, int64_t k, const std::vector<int64_t>& slice_ends,
               Real* results) {
  Block(a, panel, k, slice_ends, results);
}
bool HasAvx2() { return false; }
#endif

template <class Real>
void Fastest(const Real* a, const Real* panel, int64_t k, const std::vector<int64_t>& slice_ends,
             Real* results) {
  static const auto block = HasAvx2() ? BlockAvx2<Real> : BlockPortable<Real>;
  block(a, panel, k, slice_ends, results);
}

}  // namespace

void MatmulBlock(const float* a, const float* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, float* results) {
  Fastest(a, panel, k, slice_ends, results);
}

void MatmulBlock(const double* a, const double* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, double* results) {
  Fastest(a, panel, k, slice_ends, results);
}

}  // namespace spyre::cosim
