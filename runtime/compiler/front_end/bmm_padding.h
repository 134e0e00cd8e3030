// SPDX-License-Identifier: Apache-2.0
// The pass `insert_bmm_padding`, as in the public compiler: a matmul whose sum does not run over
// whole sticks gets zeros behind the rows of its second operand. Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// For each matmul over K elements that are not whole sticks: a buffer for its second operand with
// the next whole number of sticks of rows, an operation that writes zeros into the rows behind K,
// and one that copies the operand into the others. Both stand right before the matmul, or, where
// loops of hints or of the plan are around it that do not compute the operand, before those. Each
// such matmul has a buffer of its own, as in the public compiler.
//
// The first operand stays as it is: its rows are whole sticks in device memory anyway, and what the
// sticks hold behind K is masked (kMaskContraction, coordinateMasking_ of the matmul). The loop of
// K keeps its range; emission widens it to whole sticks.
void InsertBmmPadding(FrontEndResult& graph, const FrontEndOptions& options);

// `name`, with `_` behind it until no operation and no tensor of the list has it.
std::string UnusedName(const FrontEndResult& graph, std::string name);

// The name of the number 0 in a host type, as an argument of the kernel, which it becomes.
std::string ZeroArgument(FrontEndResult& graph, DataFormat format);

}  // namespace spyre::compiler
