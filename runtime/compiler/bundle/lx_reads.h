// SPDX-License-Identifier: Apache-2.0
// Whether a bundle brings what it reads from LX. Pure function, any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// Throws BadInput naming the SDSC file, the operation and the bytes, if a core reads a part of its
// LX in which no operation before, in the order of first executions, writes anything: what an
// earlier bundle left there is not there when this one runs alone.
void CheckLxReads(const Bundle& bundle);

// For a bundle that is to run alone: an argument 'lx', the last one, has what the bundle reads in
// LX and does not write before: for each tensor, core by core, the sticks from its first byte to
// its last. A copy of it to LX goes before the first step. Returns a line for each tensor; none:
// nothing had to be added. After BindSegments.
std::vector<std::string> TakeLxFromArgument(Bundle& bundle);

// Likewise, of a bundle that writes no argument: an argument 'lx_results' gets what it writes to LX
// and neither reads nor overwrites, which is there for a later bundle.
std::vector<std::string> GiveLxToArgument(Bundle& bundle);

}  // namespace spyre::compiler
