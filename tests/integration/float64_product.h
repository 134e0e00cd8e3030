// SPDX-License-Identifier: Apache-2.0
// What a matmul should give, as loops in float64. Pure function, any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::test {

// Row-major matrices: rows x inner times inner x columns. Terms are added in the order of `inner`.
std::vector<double> Float64Product(const std::vector<double>& a, const std::vector<double>& b,
                                   int64_t rows, int64_t inner, int64_t columns);

}  // namespace spyre::test
