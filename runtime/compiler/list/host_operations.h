// SPDX-License-Identifier: Apache-2.0
// Which operations of a list the host computes between two kernels, and what they take: those that
// the card has no instruction for (OpEntry::kHost), and those that compute with integers, which the
// card takes as indices only. Pure functions, any thread.
#pragma once

#include "runtime/compiler/list/named_graph.h"

namespace spyre::compiler {

bool IsOnHost(const NamedGraph& graph, const NamedOp& op);

// Throws CompileError (Unsupported, `dtype`) for an operation on integers that there is not, and
// for integers beside other numbers: a condition and what is converted may be of any type.
void CheckIntegers(const NamedGraph& graph, const NamedOp& op);

// The type of the result: that of the operands; a comparison gives a truth value, a number of
// float16.
DataFormat HostResultFormat(const NamedGraph& graph, const NamedOp& op);

bool HasHostOperation(const NamedGraph& graph);  // NamedOp::on_host of any
// For who wants one kernel of the list: CompileError naming the first host operation.
void RequireNoHostOperation(const NamedGraph& graph);

}  // namespace spyre::compiler
