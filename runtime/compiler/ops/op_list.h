// SPDX-License-Identifier: Apache-2.0
// The operations that are kernels of their own (`workload.op`): those of the entries (op_entries.h)
// that are one instruction, one reduction or one matmul, and softmax. Used by code generation, the
// workload reader and error messages. Constant data, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/contract/program.h"

namespace spyre::compiler {

enum class OperationKind : uint8_t { kMatmul, kUnary, kBinary, kReduction, kSoftmax };

struct Operation {
  std::string_view name;
  OperationKind kind;
  uint8_t fn;  // UnaryFn, BinaryFn or ReduceFn; 0 for the others
  std::vector<std::string_view> aliases;
  std::vector<std::string_view> dims;           // must be given
  std::vector<std::string_view> optional_dims;  // may be given, outermost first
  int inputs() const {
    return kind == OperationKind::kMatmul || kind == OperationKind::kBinary ? 2 : 1;
  }
  bool is_mean() const { return name == "mean"; }
};

const std::vector<Operation>& Operations();
const Operation* FindOperation(std::string_view name_or_alias);  // nullptr: unknown

// Throws Error(kBadInput) with the nearest known name.
const Operation& RequireOperation(std::string_view name_or_alias);

}  // namespace spyre::compiler
