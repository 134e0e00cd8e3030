// SPDX-License-Identifier: Apache-2.0
// The product of a few rows with a panel of columns, in the documented order of additions: the
// inner part of every matmul reference; and by it, in float64, sums of products of operands of any
// dimensions. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <functional>
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

// An operand, and where in it each batch, each line of a batch and each term of a line is.
struct ContractionLines {
  const double* data;
  std::vector<int64_t> batches, lines, terms;
};
// Where each batch, row and column is in the result.
struct ContractionResult {
  double* data;
  std::vector<int64_t> batches, rows, columns;
};

// Lines of `a` are rows of the result, lines of `b` its columns. Terms of a line are added in
// chunks of 64, in order; `finish` makes a result of a sum.
void Contract(const ContractionLines& a, const ContractionLines& b, const ContractionResult& result,
              const std::function<double(double)>& finish);

}  // namespace spyre::cosim
