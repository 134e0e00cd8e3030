// SPDX-License-Identifier: Apache-2.0
// A bundle as it is launched: with the tensors and the values that it is given. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "cosim/tensors/workload_tensor.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::cosim {

struct LaunchedBundle {
  compiler::Bundle bundle;              // its segments are bound
  std::vector<WorkloadTensor> tensors;  // its kTensor arguments, in order
  std::vector<int64_t> dimensions;      // its kDimension arguments, in order, in loop trips
};

}  // namespace spyre::cosim
