// SPDX-License-Identifier: Apache-2.0
// The closed form of the time of a kernel that has steps. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "cosim/estimate/kernel_works.h"
#include "model/formula/kernel_time.h"

namespace spyre::cosim {

// Of one launch.
struct KernelEstimate {
  double ns = 0;                                            // from start to finish on the card
  model::FormulaBound bound = model::FormulaBound::kStart;  // of the steps that take longest
  uint64_t macs = 0, bytes_read = 0, bytes_written = 0;
};

KernelEstimate Estimate(const KernelLaunches& kernel, const model::CardParameters& card);

}  // namespace spyre::cosim
