// SPDX-License-Identifier: Apache-2.0
// Whether a run can keep what [expect] says at all. Any thread.
#pragma once

#include "cosim/config/config.h"

namespace spyre::cosim {

// Throws Error(kBadInput) for a value that no run can have, and for what needs a trace where there
// is none.
void CheckExpect(const RunConfig& config);

}  // namespace spyre::cosim
