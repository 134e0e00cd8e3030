// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/pareto.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/ranges.h"

namespace spyre::cosim {
namespace {

bool Dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool is_better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    is_better = is_better || a[i] < b[i];
  }
  return is_better;
}

}  // namespace

std::vector<bool> ParetoFront(const std::vector<std::vector<double>>& values) {
  std::vector<bool> on_front(values.size(), false);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // Whatever dominates a point comes before it in this order, and so does something on the front
  // that dominates it.
  StableSort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<size_t> front;
  for (const size_t i : order) {
    // If there are two objectives, the last point of the front has the least second one.
    const size_t first = values[i].size() <= 2 && !front.empty() ? front.size() - 1 : 0;
    const bool dominated =
        std::any_of(front.begin() + static_cast<ptrdiff_t>(first), front.end(),
                    [&](size_t other) { return Dominates(values[other], values[i]); });
    if (dominated) continue;
    on_front[i] = true;
    front.push_back(i);
  }
  return on_front;
}

}  // namespace spyre::cosim
