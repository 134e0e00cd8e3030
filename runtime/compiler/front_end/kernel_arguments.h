// SPDX-License-Identifier: Apache-2.0
// The caller's tensors of a kernel that the front end made. Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// In order of the kernel's arguments. `list` has its sticks planned, `graph` was lowered from it.
std::vector<FrontEndArgument> KernelArguments(const NamedGraph& list, const Graph& graph);

}  // namespace spyre::compiler
