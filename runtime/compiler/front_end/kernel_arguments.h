// SPDX-License-Identifier: Apache-2.0
// The caller's tensors of a kernel that the front end made, and whether they are large enough for
// what is emitted from it. Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// How the caller has a tensor whose stick is chosen: over its own shape, without the last dimension
// of sparse sticks.
StickLayout CallersLayout(const NamedGraph& named, const NamedTensor& tensor);

// In order of the kernel's arguments. `list` has its sticks planned, `graph` was lowered from it.
std::vector<FrontEndArgument> KernelArguments(const NamedGraph& list, const Graph& graph);

// bundle: emitted from result.source. Throws CompileError Unsupported "argument_reach" where it
// reaches over the end of an argument, with the operation and the remedy.
void RefuseShortArguments(const FrontEndResult& result, Bundle bundle);

}  // namespace spyre::compiler
