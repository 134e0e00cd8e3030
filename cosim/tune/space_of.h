// SPDX-License-Identifier: Apache-2.0
// The plans that a configuration leaves open. Looks at SENCORES and reads the files that the
// configuration names; any thread.
#pragma once

#include <functional>
#include <memory>

#include "cosim/config/config.h"
#include "cosim/tune/fixed_keys.h"
#include "cosim/tune/plan.h"

namespace spyre::cosim {

// The configuration with a plan.
using ApplyPlan = std::function<RunConfig(const Plan& plan)>;

// Throws Error(kBadInput) for a configuration that leaves nothing open, with the reason: a bundle,
// fused attention, several workloads or cards.
std::unique_ptr<PlanSpace> SpaceOf(const RunConfig& config, const FixedKeys& fixed,
                                   const ApplyPlan& apply);

}  // namespace spyre::cosim
