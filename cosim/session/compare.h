// SPDX-License-Identifier: Apache-2.0
// A run beside its reference: the same configuration with every block timed or behavioural instead
// of RTL. Numbers, statuses and the order of responses must be equal; times may differ, and the
// report gives both.
#pragma once

#include <string>

#include "cosim/config/config.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

// Runs the reference in a process of its own, because SystemC allows one simulation a process: call
// before this one uses it. Files go to `out_dir`. Throws what the run threw.
RunDigest RunReference(const RunConfig& config, const std::string& out_dir);

}  // namespace spyre::cosim
