// SPDX-License-Identifier: Apache-2.0
// Values that differ from core to core: one column each in the core registers of a program. Used by
// code generation only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/contract/memory_map.h"
#include "model/contract/program.h"

namespace spyre::compiler {

class CoreColumns {
 public:
  using Column = std::array<int64_t, kMaxCores>;

  // Number of the core register that holds the column; equal columns share one.
  int Add(const Column& column);

  int64_t At(int column, int core) const { return columns_[column][core]; }

  // One row per core, as Program::core_registers; empty if there are no columns.
  std::vector<std::vector<int64_t>> Rows() const;

 private:
  std::vector<Column> columns_;
};

}  // namespace spyre::compiler
