// SPDX-License-Identifier: Apache-2.0
// Whether a bundle brings what it reads from LX. Pure function, any thread.
#pragma once

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// Throws BadInput naming the SDSC file, the operation and the bytes, if a core reads a part of its
// LX in which no operation before, in the order of first executions, writes anything: what an
// earlier bundle left there is not there when this one runs alone.
void CheckLxReads(const Bundle& bundle);

}  // namespace spyre::compiler
