// SPDX-License-Identifier: Apache-2.0
// What the tenants or cards of a session did, added up: the part of the RunResult that a single
// run's is. Pure function.
#pragma once

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// Fills launches, counts, times, verification, memory and files of `result` from its tenants or
// cards, whose names go before those of tensors and responses.
void AddUp(RunResult& result);

}  // namespace spyre::cosim
