// SPDX-License-Identifier: Apache-2.0
// Verification of one operation's output against its reference. Runs on all processors; results do
// not depend on their number. Errors: Error(kBadInput) for an operation without a reference.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/reference/attention_reference.h"
#include "cosim/reference/reference.h"
#include "cosim/tensors/host_data.h"
#include "cosim/verify/verification.h"

namespace spyre::cosim {

// Compares `output` (float16) with the reference: every element, or with sample_size > 0 that many
// seeded ones, and those of `also`, which is in increasing order. NaNs are equal to each other.
// tolerance: Verification's.
Verification Verify(const Reference& reference, const uint16_t* output, int64_t sample_size,
                    uint64_t seed, double tolerance = 0, const std::vector<int64_t>& also = {});

// problem: without data. inputs, outputs: one per tensor, the last of which is the output.
Verification VerifyOperation(ReferenceProblem problem, const std::vector<HostData>& inputs,
                             const std::vector<HostData>& outputs, const CheckOptions& options);
// The same of fused attention: inputs q, k, v.
Verification VerifyAttention(AttentionProblem problem, const std::vector<HostData>& inputs,
                             const std::vector<HostData>& outputs, const CheckOptions& options);

}  // namespace spyre::cosim
