// SPDX-License-Identifier: Apache-2.0
// Whether an all-reduce of several cards is right: the documented order of additions (docs/
// multi-card.md), computed from what each card had before, and float64 beside it. Pure function.
#pragma once

#include <vector>

#include "cosim/tensors/host_data.h"
#include "cosim/tensors/workload_tensor.h"
#include "cosim/verify/verification.h"

namespace spyre::cosim {

// before: the device image of `tensor` on each card, SEN169_FP16. after: the tensor of each card on
// the host. Elements of all cards are compared; a mismatch names the card.
Verification VerifyAllReduce(const WorkloadTensor& tensor, const std::vector<HostData>& before,
                             const std::vector<HostData>& after);

}  // namespace spyre::cosim
