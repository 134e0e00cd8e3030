// SPDX-License-Identifier: Apache-2.0
// What a fit of the card's numbers says of itself, and the card that it writes: TOML for `--card`
// and card.preset, whose comments say what each number rests on. Pure functions, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cosim/calibrate/calibrate_statistics.h"
#include "cosim/calibrate/fit_card.h"

namespace spyre::cosim {

struct FitTimes {
  std::vector<PointResult> formula_before, formula_after;  // of all points
  std::vector<PointResult> timed_before, timed_after;
};

// Of the points that are fitted to, or of those that are held out; 0 if there are none.
double RmsOf(const std::vector<CalibrationPoint>& points, const std::vector<PointResult>& results,
             bool held_out);

// Whether the points that were held out came out worse by the closed form: then the numbers say
// more about the fitted points than about the card.
bool IsOverfitted(const std::vector<CalibrationPoint>& points, const FitTimes& times);

std::string FitText(const CardFit& fit, const std::vector<CalibrationPoint>& points,
                    const FitTimes& times);
std::string FitJson(const CardFit& fit, const std::vector<CalibrationPoint>& points,
                    const FitTimes& times);
// The keys of [card] that are not as in the built-in preset, and FitText as comments.
std::string FitToml(const CardFit& fit, const std::vector<CalibrationPoint>& points,
                    const FitTimes& times);

}  // namespace spyre::cosim
