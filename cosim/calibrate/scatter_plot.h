// SPDX-License-Identifier: Apache-2.0
// Measured against simulated times as a picture (SVG), both in microseconds on a logarithmic scale:
// a point on the diagonal is right, and those between the thin lines are within 10 %. One colour
// for each kind of kernel; points that are held out are hollow. Pure function, any thread; the same
// results give the same text.
#pragma once

#include <string>
#include <vector>

#include "cosim/calibrate/calibrate_statistics.h"

namespace spyre::cosim {

// Points that failed are left out.
std::string ScatterSvg(const std::vector<CalibrationPoint>& points,
                       const std::vector<PointResult>& results);

}  // namespace spyre::cosim
