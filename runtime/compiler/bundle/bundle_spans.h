// SPDX-License-Identifier: Apache-2.0
// The span of a core: how far apart what it touches of one tensor in device memory may lie. Pure
// functions, any thread. Source: the public SDSC bundle specification, docs/facts.md.
#pragma once

#include <string>
#include <vector>

#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler {

// One "CRITICAL: ..." line, with file, operation and tensor, for each tensor in device memory of
// which a core reaches more than 256 MiB in one execution: the extent of the outermost dimension in
// which the core walks more than one step, times everything inside it.
std::vector<std::string> LongSpans(const Bundle& bundle);

}  // namespace spyre::compiler
