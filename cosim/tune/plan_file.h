// SPDX-License-Identifier: Apache-2.0
// A plan that `tune` found as a configuration that `run` takes. Any thread.
#pragma once

#include <string>

#include "cosim/tune/tune.h"

namespace spyre::cosim {

// The keys that were given or that differ from the card's preset, so that the file stands alone;
// paths are absolute, since it lies elsewhere than the configuration that it was made from.
// Comments say what was found, and which keys are the plan's.
std::string PlanFile(const RunConfig& config, const TuneResult& result);

}  // namespace spyre::cosim
