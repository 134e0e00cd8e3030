// SPDX-License-Identifier: Apache-2.0
// The result of `spyre-cosim calibrate` as text, as JSON and as the tables of docs/accuracy.md.
// Pure functions, any thread. The same results give the same text.
#pragma once

#include <string>
#include <vector>

#include "cosim/calibrate/calibrate_statistics.h"

namespace spyre::cosim {

std::string CalibrationText(const std::vector<CalibrationPoint>& points,
                            const std::vector<PointResult>& results);
// "families" and "points"; times in microseconds, errors as fractions, null for a point that
// failed.
std::string CalibrationJson(const std::vector<CalibrationPoint>& points,
                            const std::vector<PointResult>& results);
std::string CalibrationMarkdown(const std::vector<CalibrationPoint>& points,
                                const std::vector<PointResult>& results);
// The `most` points of each family that are farthest off, by more than 5 %, each with what is known
// of the reason (error_reasons.h).
std::string WorstMarkdown(const std::vector<CalibrationPoint>& points,
                          const std::vector<PointResult>& results, size_t most);

}  // namespace spyre::cosim
