// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/ir/nearest_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace spyre::compiler {

std::vector<int64_t> DivisorsUpTo(int64_t size, int64_t most) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d <= size / d; ++d) {
    if (size % d != 0) continue;
    if (d <= most) low.push_back(d);
    if (d != size / d && size / d <= most) high.push_back(size / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::string NearestOf(int64_t value, const std::vector<int64_t>& valid) {
  std::optional<int64_t> below, above;
  for (const int64_t other : valid) {
    if (other < value) below = std::max(below.value_or(other), other);
    if (other > value) above = std::min(above.value_or(other), other);
  }
  if (below && above) return fmt::format("{} or {}", *below, *above);
  if (!below && !above) return "";
  return std::to_string(below ? *below : *above);
}

}  // namespace spyre::compiler
