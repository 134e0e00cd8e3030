// SPDX-License-Identifier: Apache-2.0
// Why the passes of the front end did what they did: the decisions behind each pass, for `compile
// --explain`, report.json and the form of a graph. Pure functions, any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/tiling/tiling_propagation.h"

namespace spyre::compiler {

// Each looks at the graph as its pass left it.
// Restickify operations that `stick` inserted, and which reader wanted them.
std::vector<Decision> ExplainConversions(const FrontEndResult& graph);
std::vector<Decision> ExplainSticks(const FrontEndResult& graph);
// For each hint: the loop that it became, the operations that it divides and those that it does
// not. For each group: why it ends where it ends.
std::vector<Decision> ExplainHints(const FrontEndResult& graph);
// For each result in a loop: the tile alone, a copy or the whole buffer. `before`: as `tile` left
// it.
std::vector<Decision> ExplainTiles(const Graph& before, const TilePropagation& propagation);
// For each operation: its splits, and the splits that were refused by which rule.
std::vector<Decision> ExplainDivision(const FrontEndResult& graph, const FrontEndOptions& options);
// For each buffer: LX, pool or argument, and what kept it out of LX.
std::vector<Decision> ExplainPlaces(const FrontEndResult& graph, const FrontEndOptions& options);

// For people: pass by pass, each decision with its reason and what was refused.
std::string ExplainText(const std::vector<Decision>& decisions);

}  // namespace spyre::compiler
