// SPDX-License-Identifier: Apache-2.0
// In which order a tensor of a SuperDSC has the dimensions of its operation. Plain data, pure
// functions.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace spyre::compiler {

// The dimensions that one tensor has, innermost first, and its stick.
struct DimOrder {
  std::vector<int> dims;
  std::optional<int> stick;

  bool Has(int dim) const { return std::find(dims.begin(), dims.end(), dim) != dims.end(); }
};

// Counted from the inside, reduced dimensions outermost.
inline size_t PositionOf(const DimOrder& order, const std::vector<int>& reduced, int dim) {
  std::vector<int> walked;
  for (int d : order.dims) {
    if (std::find(reduced.begin(), reduced.end(), d) == reduced.end()) walked.push_back(d);
  }
  walked.insert(walked.end(), reduced.begin(), reduced.end());
  return static_cast<size_t>(std::find(walked.begin(), walked.end(), dim) - walked.begin());
}

}  // namespace spyre::compiler
