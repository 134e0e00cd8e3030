// SPDX-License-Identifier: Apache-2.0
// What bundle.mlir must keep to before MLIR's own parser may see it: that parser recurses, and has
// no limits of its own. Pure function, any thread.
#pragma once

#include <string>

namespace spyre::compiler {

// Throws BadInput with file, line and column for brackets nested too deep, an expression of too
// many operators, an affine map that is too long, bytes that are not text, and words of attributes
// and types that a bundle does not have.
void CheckMlirText(const std::string& text, const std::string& file);

// "file:line:column"; the offset counts from 0, line and column from 1.
std::string PlaceOf(const std::string& text, const std::string& file, size_t offset);

}  // namespace spyre::compiler
