// SPDX-License-Identifier: Apache-2.0
// The product of a few rows with a panel of columns, in the documented order of additions: the
// inner part of every matmul reference. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::cosim {

inline constexpr int64_t kMatmulPanel = 16;  // columns computed together
inline constexpr int64_t kMatmulRows = 4;    // rows computed together

// results[r][j] for kMatmulRows rows of `a`, k apart, and one panel [k][kMatmulPanel] of b.
// slice_ends: where each slice of k ends, the last is k. Inside a slice, chunks of 64 k are added
// in increasing order; slices are added in order. double: the same in double. Products of the
// floats must be exact in float, as those of SEN169_FP16 and all narrower formats are.
void MatmulBlock(const float* a, const float* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, float* results);
void MatmulBlock(const double* a, const double* panel, int64_t k,
                 const std::vector<int64_t>& slice_ends, double* results);

}  // namespace spyre::cosim
