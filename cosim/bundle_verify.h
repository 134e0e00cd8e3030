// Verification of a bundle's outputs: bit by bit against the reference of bundles, and against the
// same walk in float64. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/config.h"
#include "cosim/reference.h"
#include "cosim/workload.h"

namespace spyre::cosim {

// As VerifyWorkload. Every element of every output is compared; with verify = "sample" the float64
// walk, which costs more than the exact one, is left out.
Verification VerifyBundle(const WorkloadConfig& config, const Workload& workload,
                          const std::vector<HostData>& inputs,
                          const std::vector<HostData>& outputs);

}  // namespace spyre::cosim
