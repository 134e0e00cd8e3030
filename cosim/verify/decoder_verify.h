// SPDX-License-Identifier: Apache-2.0
// The errors of a decoder stack's output against float64 (decoder_reference.h). Any thread.
#pragma once

#include <vector>

#include "cosim/reference/decoder_reference.h"
#include "cosim/tensors/host_data.h"
#include "cosim/tensors/workload_tensor.h"
#include "cosim/verify/verification.h"

namespace spyre::cosim {

// Adds the errors of the output "y" to `result`, and to its reference what was compared. tensors:
// of the model, by the names of decoder_reference.h ("x", "layers.0.wq", ..., "norm", "head");
// inputs and outputs: one per tensor. linear_weights: matrices are [outputs, inputs], not as the
// reference has them. Limits are derived as for a list of operations (rounding_limits.h).
void MeasureAgainstDecoder(const DecoderShape& shape, bool linear_weights,
                           const std::vector<WorkloadTensor>& tensors,
                           const std::vector<HostData>& inputs,
                           const std::vector<HostData>& outputs, Verification& result);

}  // namespace spyre::cosim
