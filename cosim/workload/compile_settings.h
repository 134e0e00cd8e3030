// SPDX-License-Identifier: Apache-2.0
// What the card and the environment give to the compiler. Pure functions, any thread. Errors:
// Error(kBadInput) that names the key or the variable.
#pragma once

#include "cosim/config/config.h"
#include "runtime/compiler/division/matmul_cost.h"

namespace spyre::cosim {

// Cores that the work may be divided over: workload.cores if it is given, else card.cores, or
// SENCORES if that is set and smaller.
// `sencores`: the variable's text, or null.
int MaxCores(const RunConfig& config, const char* sencores);

// The timing that work division by cost decides by: the public calibration, for this card's rates.
compiler::MatmulTiming MatmulTimingOf(const model::CardConfig& card);

}  // namespace spyre::cosim
