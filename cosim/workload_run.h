// What a session does with a workload beside running it: compiling it before, and verifying its
// outputs after. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/config.h"
#include "cosim/reference.h"
#include "cosim/workload.h"
#include "runtime/compiler/kernel.h"

namespace spyre::cosim {

// Of one launch.
compiler::Kernel CompileWorkload(const Workload& workload);

// inputs, outputs: one per tensor of the workload, empty where it is not of that kind; outputs as
// the card left them.
Verification VerifyWorkload(const WorkloadConfig& config, const Workload& workload,
                            const std::vector<HostData>& inputs,
                            const std::vector<HostData>& outputs);

}  // namespace spyre::cosim
