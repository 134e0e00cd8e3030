// SPDX-License-Identifier: Apache-2.0
// The public cost model of a matmul (matmul_cost.h) for a card whose loads wait for the ring: what
// `tune` ranks plans by, and what `run` compares divisions by. Pure function, any thread.
//
// The public fit charges the same for an operand however many cores share it, and so finds many
// divisions equal that are not: on this card a load that more than a cohort of cores share takes
// longer. Source: the form and the exponent of the multicast (docs/facts.md).
#pragma once

#include "runtime/compiler/division/matmul_cost.h"

namespace spyre::compiler {

// EstimateMatmul with each operand's load taking as long as its multicast. Nanoseconds; never less
// than EstimateMatmul, and the same where no load is shared by more than a cohort.
double EstimateMatmulOnRing(const MatmulSize& size, const MatmulSplit& split,
                            const MatmulTiming& timing);

}  // namespace spyre::compiler
