// SPDX-License-Identifier: Apache-2.0
// Operations on values of bundle.mlir. Pure functions. Only the files of this folder include it.
#pragma once

#include <mlir/IR/AffineMap.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/compiler/bundle/mlir/affine_value.h"

namespace spyre::compiler {

using BinaryOperation = std::optional<AffineValue> (*)(const AffineValue&, const AffineValue&);

// "arith.addi"; null for an operation that a bundle does not have.
BinaryOperation FindBinary(const std::string& name);

// The first result of the map. Operands: dimensions, then symbols. Empty if the result is not such
// a value.
std::optional<AffineValue> EvaluateMap(mlir::AffineMap map,
                                       const std::vector<AffineValue>& operands);

}  // namespace spyre::compiler
