// SPDX-License-Identifier: Apache-2.0
// Times of points that `calibrate --json` has written, in place of simulating the points again: the
// inverse of CalibrationJson (calibrate_report.h).
//
// Pure but for reading; any thread. Errors: Error(kBadInput) naming the file and the point.
#pragma once

#include <string>
#include <vector>

#include "cosim/calibrate/calibrate_statistics.h"

namespace spyre::cosim {

// What the text says of each point, in the order of `points`. A point is found by its file, as it
// was named then, and its place there; the text may have more points. Throws if a point is missing,
// or was another operation or had another reference then. `name` is what messages call the text.
std::vector<PointResult> ParseSavedTimes(const std::string& text, const std::string& name,
                                         const std::vector<CalibrationPoint>& points);
std::vector<PointResult> ReadSavedTimes(const std::string& path,
                                        const std::vector<CalibrationPoint>& points);

}  // namespace spyre::cosim
