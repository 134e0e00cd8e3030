// SPDX-License-Identifier: Apache-2.0
// Whether a list's arguments are large enough for what was emitted from it. Any thread.
#pragma once

#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/front_end/front_end.h"

namespace spyre::compiler {

// bundle: emitted from result.source. Throws CompileError Unsupported "argument_reach" where it
// reaches over the end of an argument, with the operation, the dimension and the remedy. A
// ReStickify of a tensor that has a dimension of size 1 does: it moves blocks of 64 by 64 elements.
void RefuseShortArguments(const FrontEndResult& result, Bundle bundle);

}  // namespace spyre::compiler
