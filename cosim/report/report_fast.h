// SPDX-License-Identifier: Apache-2.0
// What of a run's times was simulated, with card.fidelity = "fast". Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// Between which times `ps` of the run's launches lie, if launches that were not simulated to their
// end are off by card.fast.error_percent; on another card, `ps` and `ps`.
std::pair<uint64_t, uint64_t> FastRange(const RunResult& result, uint64_t ps);
// report.json, `fast`. result.fast is there.
nlohmann::ordered_json FastJson(const RunResult& result);
// The same of a run by the closed form. result.formula is there.
nlohmann::ordered_json FormulaJson(const RunResult& result);
// What bounds the kernels that took longest; "" if nothing ran.
std::string FormulaBound(const RunResult& result);
// For the summary: how many launches of each kind, indented; "" on another card.
std::string FastText(const RunResult& result);

}  // namespace spyre::cosim
