// SPDX-License-Identifier: Apache-2.0
// Why the timed model is off for a measured kernel, as far as that is known: docs/accuracy.md,
// "What is not modelled". By what the kernel is and whether it is too fast, not by its size alone.
// Pure function, any thread.
#pragma once

#include <string>

#include "cosim/calibrate/calibrate_points.h"

namespace spyre::cosim {

// error: simulated / measured - 1.
std::string ReasonOf(const CalibrationPoint& point, double error);

}  // namespace spyre::cosim
