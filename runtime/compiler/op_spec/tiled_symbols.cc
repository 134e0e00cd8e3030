// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/op_spec/tiled_symbols.h"

#include <algorithm>

#include "base/ranges.h"

namespace spyre::compiler {
namespace {

using Levels = std::vector<std::vector<std::string>>;

// loops.size(): none, or several.
size_t OnlyLoopThatNames(const Levels& loops, const std::string& name) {
  size_t found = loops.size();
  for (size_t level = 0; level < loops.size(); ++level) {
    if (std::count(loops[level].begin(), loops[level].end(), name) == 0) continue;
    if (found != loops.size()) return loops.size();
    found = level;
  }
  return found;
}

}  // namespace

Levels DistributeTiledSymbols(const std::vector<std::string>& names, const Levels& loops,
                              std::string* unclear) {
  std::vector<std::string> named;
  for (const auto& level : loops) named.insert(named.end(), level.begin(), level.end());
  if (named == names) return loops;
  Levels levels(loops.size());
  if (loops.size() == 1) {
    levels[0] = names;
    return levels;
  }
  if (names.size() == loops.size()) {
    for (size_t level = 0; level < names.size(); ++level) levels[level] = {names[level]};
    return levels;
  }
  size_t outermost = 0;  // the list is outermost first
  for (const std::string& name : names) {
    const size_t level = OnlyLoopThatNames(loops, name);
    if (level < outermost || level == loops.size()) {
      *unclear = name;
      return levels;
    }
    levels[level].push_back(name);
    outermost = level;
  }
  return levels;
}

bool IsListForEachLoop(const PyValue& value) {
  return AnyFits(value.items, [](const PyValue& item) {
    return item.kind == PyValue::Kind::kList || item.kind == PyValue::Kind::kTuple;
  });
}

bool SomeOpHasTiledSymbols(const PyValue& value) {
  const bool is_op = value.kind == PyValue::Kind::kCall &&
                     value.text.substr(value.text.rfind('.') + 1) == "OpSpec";
  if (is_op) {
    return AnyFits(value.keywords, [](const PyKeyword& k) { return k.name == "tiled_symbols"; });
  }
  return AnyFits(value.items, SomeOpHasTiledSymbols) ||
         AnyFits(value.keywords, [](const PyKeyword& k) { return SomeOpHasTiledSymbols(k.value); });
}

}  // namespace spyre::compiler
