// SPDX-License-Identifier: Apache-2.0
// What a run is told of hazards between streams. Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/flex/hazard.h"

namespace spyre::cosim {

// report.json, `hazards`; null if they were not looked for.
nlohmann::ordered_json HazardsJson(const flex::HazardReport& report);
// For the summary: how many and the first few, indented; "" if they were not looked for.
std::string HazardsText(const flex::HazardReport& report);

}  // namespace spyre::cosim
