// SPDX-License-Identifier: Apache-2.0
// Whether a collective of several cards is right. Two judges: every bit of every card by copying
// and adding on the host what the plan's steps copy and add; and, independent of the plan, what the
// operation means (runtime/collectives/plan.h): float64 sums, or the bytes themselves. Pure
// function.
#pragma once

#include <string>
#include <vector>

#include "cosim/tensors/host_data.h"
#include "cosim/verify/verification.h"
#include "runtime/collectives/plan.h"

namespace spyre::cosim {

// By card. Sums are of SEN169_FP16. Elements are the 16-bit words of the images, of which one that
// differs names the card and `tensor`.
Verification VerifyCollective(const runtime::CollectivePlan& plan, const std::string& tensor,
                              const std::vector<CollectiveImages>& cards);

}  // namespace spyre::cosim
