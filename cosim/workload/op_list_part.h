// SPDX-License-Identifier: Apache-2.0
// Operations taken out of their list, as a list of their own: what a kernel is made of where a list
// is more than one. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/front_end/plan.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

struct OpListPart {
  compiler::NamedGraph graph;
  std::vector<int> tensors, dims;     // of the list, by position in graph.tensors and graph.dims
  std::vector<std::string> warnings;  // of hints that lose a dimension
  // Of one operation: operations that compute the same on the same shapes and layouts have equal
  // keys.
  std::string key;
};

// `ops`: positions in list.ops, neighbours; hints lie around all of one hint's operations or none.
// One operation gets names that depend on what it is alone, unless keep_names, several keep their
// names. Outputs are
// the list's, and what operations behind them read. sticks: of the list's tensors, as far as they
// are chosen (NamedTensor::stick).
OpListPart TakeOut(const compiler::NamedGraph& list, const std::vector<size_t>& ops,
                   const std::vector<int>& sticks, bool keep_names = false);

// The list's operations in runs that may not be cut, because one hint or one group of
// the plan is around them.
std::vector<std::vector<size_t>> UncutRuns(const compiler::NamedGraph& list,
                                           const compiler::Plan& plan);

// Every entry of the plan belongs to some operation of the list; the kernel of that one checks the
// rest. Throws CompileError (InvalidPlan) with the nearest name.
void CheckPlanNames(const compiler::NamedGraph& list, const compiler::Plan& plan);

// The list's operations in parts: between the plan's cuts, and on both sides of what the host
// computes, which is a part of one operation. What one hint or group is around stays together;
// CompileError (InvalidPlan) for a cut in there.
std::vector<std::vector<size_t>> PartsOf(const compiler::NamedGraph& list,
                                         const compiler::Plan& plan);

}  // namespace spyre::cosim
