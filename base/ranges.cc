// SPDX-License-Identifier: Apache-2.0
#include "base/ranges.h"

#include <algorithm>
#include <numeric>

namespace spyre {

std::vector<size_t> StableOrder(size_t count, bool (*less)(const void* context, size_t a, size_t b),
                                const void* context) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return less(context, a, b); });
  return order;
}

}  // namespace spyre
