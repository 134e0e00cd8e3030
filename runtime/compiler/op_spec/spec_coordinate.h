// SPDX-License-Identifier: Apache-2.0
// Device coordinates as the front end writes them, taken apart: constant + the sum of
// floor((step * v mod modulus) / divisor), one term for each symbol. Pure functions, any thread.
// Source: public compiler front end (docs/facts.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/compiler/ir/device_coordinates.h"
#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::compiler {

// CoordinateTerm::variable is a position in `symbols`. Throws CompileError Unsupported for anything
// but sums of symbols with integer factors, divided and taken modulo by integers, and for a symbol
// that is not among `symbols`.
Coordinate ToCoordinate(const Expression& expression, const std::vector<IterationSymbol>& symbols);

// The expression again. Constant last, as the front end prints it.
Expression ToExpression(const Coordinate& coordinate, const std::vector<IterationSymbol>& symbols);

}  // namespace spyre::compiler
