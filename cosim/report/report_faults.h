// SPDX-License-Identifier: Apache-2.0
// What report.json and its summary say of declared faults. Pure functions, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cosim/session/run_result.h"
#include "cosim/session/session.h"

namespace spyre::cosim {

// A list, in the order of their times; those that did not strike come last.
nlohmann::ordered_json FaultsJson(const RunResult& result);
// A line for each, or "" if none is declared.
std::string FaultsText(const RunResult& result);
// The report of a run that a declared fault has ended: what there is of it, and the error.
std::string FaultedReportJson(const FaultedRun& fault);

}  // namespace spyre::cosim
