// SPDX-License-Identifier: Apache-2.0
// What of the memory follows its rate. Pure function, any thread.
#pragma once

#include "cosim/config/config.h"

namespace spyre::cosim {

// The time from burst to burst in a bank group is one or two bursts. Whoever changes the rate of
// the memory and not that time (RunConfig::given) means the same number of bursts. before: the
// memory of the card's preset. What does not divide is left for the check of the card.
void FollowMemoryRate(const model::MemoryConfig& before, RunConfig& config);

}  // namespace spyre::cosim
