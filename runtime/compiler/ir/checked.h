// SPDX-License-Identifier: Apache-2.0
// Sums and products of 64 bits that do not wrap. Used by passes on sizes of unknown origin.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace spyre::compiler {

// Throw BadInput with the two numbers.
inline int64_t CheckedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw BadInput("{} + {} does not fit 64 bits", a, b);
  return sum;
}
inline int64_t CheckedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw BadInput("{} * {} does not fit 64 bits", a, b);
  return product;
}

}  // namespace spyre::compiler
