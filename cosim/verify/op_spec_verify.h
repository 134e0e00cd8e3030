// SPDX-License-Identifier: Apache-2.0
// Verification of a bundle that was emitted from OpSpec source: its SuperDSCs bit by bit
// (bundle_verify.h), and the outputs against the source itself in float64 (op_spec_reference.h),
// which finds what the emitter got wrong. Any thread. Errors: Error(kBadInput).
#pragma once

#include <vector>

#include "cosim/reference/launched_bundle.h"
#include "cosim/tensors/host_data.h"
#include "cosim/verify/verification.h"
#include "runtime/compiler/op_spec/op_spec.h"

namespace spyre::cosim {

// As VerifyBundle, with the limits of VerifyOpList. With CheckOptions::sample, sources that cost
// many additions are not worked out in float64; Verification::reference says so.
Verification VerifyOpSpecs(const compiler::KernelSource& source, const LaunchedBundle& launched,
                           const std::vector<HostData>& inputs,
                           const std::vector<HostData>& outputs, const CheckOptions& options);

// Adds the float64 errors of the outputs against the source to `result`, and to its reference what
// was compared.
void MeasureAgainstSource(const compiler::KernelSource& source,
                          const std::vector<WorkloadTensor>& tensors,
                          const std::vector<HostData>& inputs, const std::vector<HostData>& outputs,
                          Verification& result);

}  // namespace spyre::cosim
