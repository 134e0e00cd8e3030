// SPDX-License-Identifier: Apache-2.0
// Work division of a whole graph. Each operation by itself follows the rule it is asked for; a
// group of operations in one loop may instead agree on one division, so that every core finds what
// it needs in its own LX. Pure functions, any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/contract/memory_map.h"
#include "runtime/compiler/division/matmul_cost.h"
#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/tiling/graph.h"

namespace spyre::compiler {

// Slices by dimension; 1 of those that are not named.
using NamedSplits = std::map<std::string, int64_t>;

struct DivisionOptions {
  SplitRule rule = SplitRule::kPublic;  // for each operation by itself
  MatmulTiming timing;                  // for SplitRule::kCost
  int max_cores = kMaxCores;
  bool k_fast = true;
  // Operations of one tile group are cut along the dimensions that all of them walk.
  bool agree = true;
  std::map<std::string, NamedSplits> splits;  // of operations that no rule is asked for, by name
};

// The division of each computed operation, by its name. `loop_names`: of NameLoops before tiling;
// copies that tiling inserted have the names of what they copy.
//
// agree: where the rule already gives all operations of a group the same slices of the same
// dimensions, it stands. Else the dimensions that every operation of the group walks and none
// reduces share the cores, largest first, counted in sticks where any operation has them inside a
// stick; operations for which that would exceed the span of a core keep the rule's answer.
// Restickify does not take part: it moves data between cores anyway.
//
// splits go before all of it. Throws CompileError "InvalidPlan" with the nearest valid choice:
// "unknown_op", "unknown_dim", "split_not_divisible", "too_many_cores", "two_reductions".
//
// In the end every loop is cut into equal parts: a loop that ends within a stick is in as many as
// divide its elements.
std::map<std::string, WorkDivision> DivideGraph(
    const Graph& graph, const std::map<std::string, std::vector<std::string>>& loop_names,
    const DivisionOptions& options);

}  // namespace spyre::compiler
