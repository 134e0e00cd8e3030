// Verification of a list of operations: its bundle bit by bit (bundle_verify.h), and the outputs
// against the operations themselves in float64 (graph_reference.h), which finds what the compiler
// got wrong before there was a bundle. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/config.h"
#include "cosim/reference.h"
#include "cosim/workload.h"

namespace spyre::cosim {

// As VerifyWorkload. The float64 errors are those against the operations: inputs as the card holds
// them, no rounding in between. They do not decide whether the run passed, since what rounding in
// each operation may add up to depends on the operations. With verify = "sample" they are left out.
Verification VerifyGraph(const WorkloadConfig& config, const Workload& workload,
                         const std::vector<HostData>& inputs, const std::vector<HostData>& outputs);

// Adds the float64 errors of the outputs against the workload's list of operations to `result`.
void MeasureAgainstOperations(const Workload& workload, const std::vector<HostData>& inputs,
                              const std::vector<HostData>& outputs, Verification& result);

}  // namespace spyre::cosim
