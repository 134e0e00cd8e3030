// SPDX-License-Identifier: Apache-2.0
// The tenants of a run in report.json and in the summary: what each did, and how much slower it was
// beside the others than alone. Pure functions.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// "tenants" of report.json.
nlohmann::ordered_json TenantsJson(const RunResult& result);
// One row for each tenant; empty: there are none. Errors follow, a line each.
std::string TenantsTable(const RunResult& result, size_t width);

}  // namespace spyre::cosim
