// SPDX-License-Identifier: Apache-2.0
// The counted loop tree of a list of stamped operations: neighbours with the same path are one
// loop. Fusion runs after it and leaves loops whole.
//
// Pure functions, any thread. Source: the coarse-tiling RFC, docs/facts.md.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "runtime/compiler/ir/extent.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

constexpr size_t kDeepestNest = 64;  // loops within each other

// One operation as the grouping sees it; an empty path: not in a loop.
struct LoopMember {
  std::string name;
  std::vector<int> group_id;
  std::vector<Extent> count;
};

struct CountedLoop;
using LoopNode = std::variant<size_t, CountedLoop>;  // a member by position, or a loop

struct CountedLoop {
  Extent count;
  std::vector<LoopNode> body;
};

// A run is as many neighbours as have the first's number at this depth; it becomes a loop with the
// first's count, and its body is grouped one level deeper. Members with a shorter path stay plain
// members of the loop that their path ends in. An inner number may appear again in the same run: a
// second inner loop.
//
// Throws CompileError AssertionError "count_length_mismatch" for a member whose counts are not as
// many as its path is long, "inconsistent_loop_count" for neighbours of a run with other counts,
// RuntimeError "not_contiguous" for an outermost number in two runs; BadInput for paths of more
// than 64 levels.
std::vector<LoopNode> GroupLoops(const std::vector<LoopMember>& members);

std::vector<LoopMember> LoopMembersOf(const Graph& graph);  // one for each operation, in order

// The members of a tree in order: for a tree of GroupLoops, 0 .. members-1.
std::vector<size_t> FlattenLoops(const std::vector<LoopNode>& nodes);

}  // namespace spyre::compiler
