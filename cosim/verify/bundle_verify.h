// SPDX-License-Identifier: Apache-2.0
// Verification of a bundle's outputs: bit by bit against the reference of bundles, and against the
// same walk in float64. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/reference/bundle_memory.h"
#include "cosim/reference/launched_bundle.h"
#include "cosim/tensors/host_data.h"
#include "cosim/verify/verification.h"

namespace spyre::cosim {

// inputs, outputs: one per tensor, empty where it is not of that kind; outputs as the card left
// them. Every element of every output is compared.
Verification VerifyBundle(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
                          const std::vector<HostData>& outputs, const CheckOptions& options);

// The bits alone, for bundles that were made from something else that can be worked out.
Verification VerifyBits(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
                        const std::vector<HostData>& outputs, const CheckOptions& options);

// The first step whose results are beyond SEN169_FP16 where its operands are within, and how many
// of them, in words; empty: there is none. Executes the bundle once more.
std::string FirstOverflow(const LaunchedBundle& launched, const std::vector<HostData>& inputs);

// Positions in Bundle::arguments of the tensors, in order.
std::vector<int> TensorArguments(const compiler::Bundle& bundle);

// Zeroed memory for RunBundleReference: for the tensors, the pool, and as much LX as is needed.
BundleMemory ReferenceMemory(const LaunchedBundle& launched, bool with_ideal);

// Adds the elements of one output to `result`, and those of them that differ.
void CompareBits(const WorkloadTensor& tensor, const HostData& got, const HostData& expected,
                 Verification& result);

}  // namespace spyre::cosim
