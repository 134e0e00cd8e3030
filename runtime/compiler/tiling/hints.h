// SPDX-License-Identifier: Apache-2.0
// Hints by named dimensions: the user names dimensions of tensors and says, for a range of
// operations, into how many slices a dimension is to be cut. Here the names are followed through
// the graph, hints are resolved to each operation's own loops, and groups for coarse tiling are
// made of them.
//
// Pure functions on the graph, any thread. Source: the coarse-tiling RFC, docs/facts.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/compiler/tiling/coarse_tile.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

// Operations under one hint. Scopes that nest are listed outermost first; the slices of one scope
// nest in the order in which they are given.
struct HintScope {
  std::vector<std::string> ops;
  std::vector<std::pair<std::string, int64_t>> slices;  // dimension -> count
};

// Names of each operation's loops: ranges first, then reduction ranges; "": no name known. A loop
// has its own name, else that of the dimension it walks; where inputs disagree the first named one
// counts.
// Operations that are not computed pass no names on.
using DimNames = std::map<std::string, std::vector<std::string>>;
DimNames NameLoops(const Graph& graph);

// Gives every operation of a scope one DimHint per slice of the scope, outermost first, whether it
// has the dimension or not. Hints that were there before are replaced. Throws BadInput for an
// operation that is not in the graph, a dimension that no tensor has (with the nearest name), and a
// count below 1.
void AssignDimHints(Graph& graph, const std::vector<HintScope>& scopes);

// Groups of neighbouring computed operations under the same hints; a computed operation without
// hints, or with others, ends a group. Each hint makes a level if some operation of the group walks
// its dimension as one of its output; the others do the same in each iteration of it. A group
// without levels is left out. `log` (may be null) gets a line for each operation that a hint does
// not divide, and why: it lacks the dimension, or reduces along it.
std::vector<TileGroup> HintsToGroups(const Graph& graph, std::vector<std::string>* log);

}  // namespace spyre::compiler
