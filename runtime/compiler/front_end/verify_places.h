// SPDX-License-Identifier: Apache-2.0
// The verifier's part for buffers in LX and pool (verify.h). Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/front_end/verify.h"

namespace spyre::compiler {

// Appends what is wrong with graph.lx. Everything before `lx` has been checked.
void FindPlacesThatAreWrong(const FrontEndResult& graph, const FrontEndOptions& options,
                            std::vector<Finding>& findings);

}  // namespace spyre::compiler
