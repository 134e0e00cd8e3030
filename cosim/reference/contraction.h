// SPDX-License-Identifier: Apache-2.0
// Sums of products in float64, for lists of operations of any dimensions: every line of one operand
// with every line of another one, in batches. Pure function, any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace spyre::cosim {

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
