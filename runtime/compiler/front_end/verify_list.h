// SPDX-License-Identifier: Apache-2.0
// The verifier's part that holds the lowered graph to the list it was made from (verify.h): the
// operations, what each reads, and along which dimensions it walks. Pure functions, any thread.
#pragma once

#include <vector>

#include "runtime/compiler/front_end/verify.h"

namespace spyre::compiler {

// Appends what differs. `lower` has run, and names of buffers have been checked.
void FindWhatTheListDoesNotSay(const FrontEndResult& graph, std::vector<Finding>& findings);

}  // namespace spyre::compiler
