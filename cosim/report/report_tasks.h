// SPDX-License-Identifier: Apache-2.0
// The part of the report that says how work was issued: streams and tasks, what of the card worked
// at the same time, what it cost the host and device memory. Used by report.cc; pure functions.
// docs/report.md explains every figure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>

#include "cosim/measure/overlap.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

// Of the launches. Corrections are kPrepare, on whatever engine they ran.
OverlapSummary OverlapOf(const RunResult& result);

// Names of tasks by correlation of the kernel that did them; empty if there was one kernel.
std::unordered_map<uint64_t, std::string> TasksOf(const RunResult& result);

nlohmann::ordered_json OverlapJson(const RunResult& result);
nlohmann::ordered_json TasksJson(const RunResult& result);  // null: one kernel
nlohmann::ordered_json HostJson(const RunResult& result);
nlohmann::ordered_json MemoryJson(const RunResult& result);

// The lines of the summary.
std::string TasksText(const RunResult& result);
// Of them, what the host computed of a list; empty: nothing.
std::string HostOperationsText(const RunResult& result);
// What it took for that.
uint64_t HostOperationsPs(const RunResult& result);

}  // namespace spyre::cosim
