// SPDX-License-Identifier: Apache-2.0
// What a list of operations uses, and what it does not. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {

// Results that no operation reads, in order: what the caller gets if the list does not say.
std::vector<int> UnreadResults(const NamedGraph& graph);

// Below which number an index must be: the least dimension that the tensor chooses from. 0: it does
// not choose.
int64_t IndexLimit(const NamedGraph& graph, int tensor);

// Throws BadInput for a dimension that no tensor has, but for `symbols`, which sizes of others are
// made of, and for an input that is never read.
void CheckUses(const NamedGraph& graph, const std::set<std::string>& symbols);

}  // namespace spyre::compiler
