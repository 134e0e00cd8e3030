// Verification of a bundle's outputs: bit by bit against the reference of bundles, and against the
// same walk in float64. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/bundle_memory.h"
#include "cosim/config.h"
#include "cosim/reference.h"
#include "cosim/workload.h"

namespace spyre::cosim {

// As VerifyWorkload. Every element of every output is compared; with verify = "sample" the float64
// walk, which costs more than the exact one, is left out.
Verification VerifyBundle(const WorkloadConfig& config, const Workload& workload,
                          const std::vector<HostData>& inputs,
                          const std::vector<HostData>& outputs);

// Positions in Bundle::arguments of the workload's tensors, in order.
std::vector<int> TensorArguments(const compiler::Bundle& bundle);

// Zeroed memory for RunBundleReference on the workload's bundle: its tensors, its pool, and as much
// LX as it needs.
BundleMemory ReferenceMemory(const Workload& workload, bool with_ideal);

// Adds the elements of one output to `result`, and those of them that differ.
void CompareBits(const WorkloadTensor& tensor, const HostData& got, const HostData& expected,
                 Verification& result);

}  // namespace spyre::cosim
