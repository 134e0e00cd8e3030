// SPDX-License-Identifier: Apache-2.0
// Single-thread SGEMM of OpenBLAS: what the arithmetic of a matmul costs on the same host in the
// same run.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

namespace spyre {

// The best of at least three runs, of more where they are short. clock: of wall time, or
// CLOCK_THREAD_CPUTIME_ID, which others on the host do not disturb.
inline double SgemmSeconds(int m, int n, int k, clockid_t clock = CLOCK_MONOTONIC) {
  const auto now = [clock] {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  openblas_set_num_threads(1);
  const std::vector<float> a(static_cast<size_t>(m) * k, 0.5F);
  const std::vector<float> b(static_cast<size_t>(k) * n, 0.25F);
  std::vector<float> c(static_cast<size_t>(m) * n);
  double best = 1e9;
  const int repeats = static_cast<int>(std::max<int64_t>(3, 400000000LL / m / n / k));
  for (int i = 0; i < repeats; ++i) {
    const double start = now();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0F, a.data(), k, b.data(), n,
                0.0F, c.data(), n);
    best = std::min(best, now() - start);
  }
  return best;
}

}  // namespace spyre
