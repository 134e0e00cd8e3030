// SPDX-License-Identifier: Apache-2.0
// Verification of a list of operations: its bundle bit by bit (bundle_verify.h), and the outputs
// against the operations themselves in float64 (graph_reference.h), which finds what the compiler
// got wrong before there was a bundle. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/reference/graph_reference.h"
#include "cosim/reference/launched_bundle.h"
#include "cosim/tensors/host_data.h"
#include "cosim/verify/verification.h"
#include "runtime/compiler/list/named_graph.h"

namespace spyre::cosim {

// Compares as VerifyBundle does. The float64 errors are those against the operations: inputs as the
// card holds them, no rounding in between. What rounding may add up to depends on the operations
// and on the data, so the limits come from a second evaluation of the same list in which each
// result is rounded once (rounding_limits.h). A sample has them over some indices of the dimensions
// along which nothing is summed (sample.h).
Verification VerifyOpList(const compiler::NamedGraph& operations, const LaunchedBundle& launched,
                          const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                          const CheckOptions& options);

// The values of a tensor as the card holds them. elements: which ones, as the host counts; empty
// for all.
DoubleTensor DeviceValues(const WorkloadTensor& tensor, const HostData& data,
                          const std::vector<int64_t>& elements);

// Adds the float64 errors of the outputs against the operations to `result`, and to its reference
// what was compared.
void MeasureAgainstOperations(const compiler::NamedGraph& operations,
                              const std::vector<WorkloadTensor>& tensors,
                              const std::vector<HostData>& inputs,
                              const std::vector<HostData>& outputs, const CheckOptions& options,
                              Verification& result);

}  // namespace spyre::cosim
