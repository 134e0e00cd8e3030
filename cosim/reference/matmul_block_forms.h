// SPDX-License-Identifier: Apache-2.0
// The forms of MatmulBlock, one for each instruction set; for matmul_block.cc and its tests. Every
// form gives the same bits.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "cosim/reference/matmul_block.h"

namespace spyre::cosim {

template <class Real>
struct MatmulBlockForm {
  const char* name;
  void (*run)(const Real* a, const Real* panel, int64_t k, const std::vector<int64_t>& slice_ends,
              Real* results);
};

// Those that this processor can run, fastest first. Multiplication and addition are fused in the
// forms for float where the processor can, and never in those for double.
std::vector<MatmulBlockForm<float>> FloatMatmulBlocks();
std::vector<MatmulBlockForm<double>> DoubleMatmulBlocks();

// kBytes of one machine register. Written out: the compiler does not take a dependent vector_size
// for arithmetic with scalars.
template <class Real, int kBytes>
struct MatmulLanes;
#define SPYRE_LANES(real, bytes)                           \
  template <>                                              \
  struct MatmulLanes<real, bytes> {                        \
    typedef real Type __attribute__((vector_size(bytes))); \
  }
SPYRE_LANES(float, 16);
SPYRE_LANES(float, 32);
SPYRE_LANES(float, 64);
SPYRE_LANES(double, 16);
SPYRE_LANES(double, 32);
SPYRE_LANES(double, 64);
#undef SPYRE_LANES

// kVectors registers of columns at a time and kChunks chunks side by side: together with the rows,
// enough sums for the multipliers not to wait for each other, and few enough to stay in registers.
template <class Real, int kBytes, int kVectors, int kChunks>
struct MatmulBlockLoop {
  using Lanes = typename MatmulLanes<Real, kBytes>::Type;
  static constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(Real));
  static constexpr int64_t kChunk = 64;

  // kCount chunks of `steps` steps from `at` on, added to `sum` in order.
  template <int kCount>
  static __attribute__((always_inline)) inline void Chunks(const Real* a, const Real* panel,
                                                           int64_t k, int64_t at, int64_t steps,
                                                           int64_t column,
                                                           Lanes (&sum)[kMatmulRows][kVectors]) {
    Lanes chunk[kCount][kMatmulRows][kVectors] = {};
    for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 4
      for (int c = 0; c < kCount; ++c) {
        const int64_t kk = at + c * kChunk + step;
        Lanes b[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          std::memcpy(&b[v], panel + kk * kMatmulPanel + column + v * kLanes, sizeof b[v]);
#pragma GCC unroll 8
        for (int64_t r = 0; r < kMatmulRows; ++r) {
          const Real value = a[r * k + kk];
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) chunk[c][r][v] += value * b[v];
        }
      }
    }
    for (int c = 0; c < kCount; ++c) {
      for (int64_t r = 0; r < kMatmulRows; ++r) {
        for (int v = 0; v < kVectors; ++v) sum[r][v] += chunk[c][r][v];
      }
    }
  }

  static __attribute__((always_inline)) inline void Run(const Real* a, const Real* panel, int64_t k,
                                                        const std::vector<int64_t>& slice_ends,
                                                        Real* results) {
    for (int64_t column = 0; column < kMatmulPanel; column += kVectors * kLanes) {
      Lanes total[kMatmulRows][kVectors] = {};
      int64_t slice_at = 0;
      for (const int64_t slice_end : slice_ends) {
        Lanes sum[kMatmulRows][kVectors] = {};
        int64_t at = slice_at;
        for (; at + kChunks * kChunk <= slice_end; at += kChunks * kChunk)
          Chunks<kChunks>(a, panel, k, at, kChunk, column, sum);
        for (; at < slice_end; at += kChunk)
          Chunks<1>(a, panel, k, at, std::min(kChunk, slice_end - at), column, sum);
        for (int64_t r = 0; r < kMatmulRows; ++r) {
          for (int v = 0; v < kVectors; ++v)
            total[r][v] = slice_at == 0 ? sum[r][v] : total[r][v] + sum[r][v];
        }
        slice_at = slice_end;
      }
      for (int64_t r = 0; r < kMatmulRows; ++r)
        std::memcpy(results + r * kMatmulPanel + column, total[r], sizeof total[r]);
    }
  }
};

template <class Real>
using MatmulResults = Real*;

#define SPYRE_MATMUL_BLOCK(name, attribute, real, bytes, vectors, chunks)                    \
  attribute void name(const real* a, const real* panel, int64_t k,                           \
                      const std::vector<int64_t>& slice_ends, MatmulResults<real> results) { \
    MatmulBlockLoop<real, bytes, vectors, chunks>::Run(a, panel, k, slice_ends, results);    \
  }

}  // namespace spyre::cosim
