// SPDX-License-Identifier: Apache-2.0
// A host computation that was worked out once, so that a launch only fills addresses in. C++17.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "spyrecode-host-functions/spyrecode.h"

namespace deeptools {

// Where the address of an input symbol goes.
struct HcmPatch {
  uint32_t output_offset = 0;  // bytes
  uint32_t input_symbol = 0;
};

struct FastHcmPatchPlan {
  bool valid = false;
  uint32_t output_size = 0;  // bytes of the correction input
  uint32_t num_input_symbols = 0;
  std::vector<HcmPatch> patches;
};

// False if the computation cannot be worked out in advance.
bool buildFastHcmPatchPlan(FastHcmPatchPlan& plan, const Hcm& hcm);
// As processComputeOnHostCommand, with `count` addresses; by the plan if it is valid, which is what
// it returns.
bool processComputeOnHostCommandFast(FastHcmPatchPlan& plan, const Hcm& hcm, void* output,
                                     const int64_t* addresses, size_t count);

}  // namespace deeptools
