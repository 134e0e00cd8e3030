// SPDX-License-Identifier: Apache-2.0
// Bundles that read behind the end of an argument. The public front end pads a dimension that a
// matrix product reduces to whole sticks, and then reads what lies behind the tensor; the lanes of
// the other operand are zero there, so that it does not matter. A wrong shape looks the same but
// for the result. Any thread. Errors: Error(kBadInput) of the reference of bundles.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/reference/launched_bundle.h"
#include "cosim/tensors/host_data.h"

namespace spyre::cosim {

// Whether some element of an output differs by what lies behind the arguments: the reference of the
// bundle is run twice on `inputs`, one for each tensor (empty where it is not an input), with two
// patterns there. bytes: how many each tensor has of its own; empty: those of its layout.
bool DependsOnNeighbours(const LaunchedBundle& launched, const std::vector<HostData>& inputs,
                         const std::vector<uint64_t>& bytes = {});

}  // namespace spyre::cosim
