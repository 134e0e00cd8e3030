// SPDX-License-Identifier: Apache-2.0
// A session of several cards behind one switch: for each card a host program (a rank), which opens
// the card's physical function, runs the workload on inputs of its own, and takes part in the
// collective. Called by RunSession. Errors: of what all cards share; what goes wrong at one card is
// in its CardResult.
#pragma once

#include <string>

#include "cosim/config/config.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session.h"

namespace spyre::cosim {

RunResult RunCards(const RunConfig& config, const std::string& out_dir,
                   const SessionOptions& options);

}  // namespace spyre::cosim
