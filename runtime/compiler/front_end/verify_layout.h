// SPDX-License-Identifier: Apache-2.0
// The verifier's part for layouts (verify.h). Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/front_end/verify.h"

namespace spyre::compiler {

// Appends buffers whose device layout does not give every element a place of its own, and arguments
// that lie otherwise than their caller has them. `lower` has run, and buffers have been checked.
void FindLayoutsThatAreWrong(const FrontEndResult& graph, std::vector<Finding>& findings);

}  // namespace spyre::compiler
