// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/core_columns.h"

#include <algorithm>

namespace spyre::compiler {

int CoreColumns::Add(const Column& column) {
  const auto it = std::find(columns_.begin(), columns_.end(), column);
  if (it != columns_.end()) return static_cast<int>(it - columns_.begin());
  columns_.push_back(column);
  return static_cast<int>(columns_.size()) - 1;
}

std::vector<std::vector<int64_t>> CoreColumns::Rows() const {
  if (columns_.empty()) return {};
  std::vector<std::vector<int64_t>> rows(kMaxCores);
  for (int core = 0; core < kMaxCores; ++core) {
    for (const Column& column : columns_) rows[core].push_back(column[core]);
  }
  return rows;
}

}  // namespace spyre::compiler
