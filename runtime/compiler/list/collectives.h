// SPDX-License-Identifier: Apache-2.0
// Operations of a list that several cards do together: OpEntry::Kind::kCollective. No kernel has
// them; they stand between kernels, as what the host computes does (NamedOp::on_host). What they
// mean: runtime/collectives/collective_call.h.
//
// Every card runs the same list on data of its own, so each comes to the same collectives in the
// same order. Pure functions, any thread. Errors: BadInput naming the result.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {

bool IsCollective(const NamedOp& op);
bool HasCollective(const NamedGraph& graph);

// Whether it changes its operand's memory, where its result is: all but those with a dimension of
// the whole beside that of a part.
bool IsInPlace(const NamedOp& op);

// The dimensions of the result: those of the operand, with `into` for `dim` where the cards have
// parts of it. Throws CompileError (Unsupported, `dtype`) for elements that cards do not exchange.
std::vector<int> CollectiveDims(const NamedGraph& graph, const NamedOp& op);

// The card that `root` or `peer` names; without the key 0 and 1.
size_t CardOf(const NamedOp& op, const char* key);

// Sizes and cards that no list alone can be wrong about, of a list on so many cards: one has no
// collectives, and a whole has as many parts.
void CheckCollectives(const NamedGraph& graph, uint64_t cards);

// A collective uses its operand's memory for itself. Where that is not the result of a kernel, or
// where somebody else reads it, a `copy` of it comes first. Returns, for each operation of the
// result, its position in `graph` before; of a copy that of its collective.
std::vector<size_t> CopyOperandsOfCollectives(NamedGraph& graph);

}  // namespace spyre::compiler
