// SPDX-License-Identifier: Apache-2.0
// Carries out host computations of SpyreCode. C++17.
#pragma once

#include "spyrecode-host-functions/fast_process_hcm.h"

namespace deeptools {

// Writes the correction input to `output`. input: a std::vector<int64_t> with the device virtual
// address for each input symbol; null only where there are no symbols. Throws std::runtime_error
// if there is nothing to compute or the number of addresses is wrong.
void processComputeOnHostCommand(const Hcm& hcm, void* output, const void* input);

}  // namespace deeptools
