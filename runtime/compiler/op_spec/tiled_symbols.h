// SPDX-License-Identifier: Apache-2.0
// Which loop around an operation advances which of its symbols, where the source of an OpSpec does
// not say it level by level. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/op_spec/python_source.h"

namespace spyre::compiler {

// names: a flat list of tiled symbols, outermost first. loops: what each loop around names,
// outermost first; these are perhaps another operation's names, because names are local to an
// operation. They count where they are just `names`; otherwise, one name for each loop means just
// that; fewer names go to the loops that name them, if only one reading is possible. Returns a list
// for each loop; sets `unclear` to the first name that has no place.
std::vector<std::vector<std::string>> DistributeTiledSymbols(
    const std::vector<std::string>& names, const std::vector<std::vector<std::string>>& loops,
    std::string* unclear);

// Whether the value of a tiled_symbols is a list of lists, one for each loop, not of symbols.
bool IsListForEachLoop(const PyValue& value);

// Whether some OpSpec(...) in the value has the keyword tiled_symbols.
bool SomeOpHasTiledSymbols(const PyValue& value);

}  // namespace spyre::compiler
