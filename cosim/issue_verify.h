// Verification of a workload of many launches: every operation's bundle executed element by
// element, one after the other in order of the list, on the results of those before; and the
// outputs against the operations themselves in float64. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/config.h"
#include "cosim/reference.h"
#include "cosim/workload.h"

namespace spyre::cosim {

// As VerifyGraph. Bits must be equal whatever the order in which the card ran the launches.
Verification VerifyIssue(const WorkloadConfig& config, const Workload& workload,
                         const std::vector<HostData>& inputs, const std::vector<HostData>& outputs);

}  // namespace spyre::cosim
