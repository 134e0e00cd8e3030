// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/float64_product.h"

#include <cstddef>

namespace spyre::test {

std::vector<double> Float64Product(const std::vector<double>& a, const std::vector<double>& b,
                                   int64_t rows, int64_t inner, int64_t columns) {
  std::vector<double> product(static_cast<size_t>(rows * columns), 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    double* const sums = product.data() + row * columns;
    for (int64_t k = 0; k < inner; ++k) {
      const double factor = a[static_cast<size_t>(row * inner + k)];
      const double* const terms = b.data() + k * columns;
      for (int64_t column = 0; column < columns; ++column) sums[column] += factor * terms[column];
    }
  }
  return product;
}

}  // namespace spyre::test
