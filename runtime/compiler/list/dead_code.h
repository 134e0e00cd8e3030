// SPDX-License-Identifier: Apache-2.0
// Dead code: operations whose results are not used. The first pass, `deadcode_elimination`, as in
// the public compiler. Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/ir/decision.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {

// For each operation of the list, whether an output of the list needs it.
std::vector<bool> LiveOperations(const NamedGraph& graph);

// The list without the others. Tensors keep their positions, also those that nothing uses any
// more; hints that covered dead operations only are gone too.
NamedGraph EliminateDeadCode(const NamedGraph& graph);

// One for each operation that the pass takes out of `graph`.
std::vector<Decision> ExplainDeadCode(const NamedGraph& graph);

}  // namespace spyre::compiler
