// SPDX-License-Identifier: Apache-2.0
// What `sweep` prints when its points have ended. Pure function, any thread.
#pragma once

#include <string>

#include "cosim/sweep/sweep.h"

namespace spyre::cosim {

// The best points, and the verdict: counts, reasons of points that are not done, the files if there
// are any.
std::string SweepText(const PlannedSweep& planned, const SweepResults& results, bool has_files);

}  // namespace spyre::cosim
