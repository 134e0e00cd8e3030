// SPDX-License-Identifier: Apache-2.0
// The part of the report that says what bounded the time: roofline, balance, time lost. Used by
// report.cc; pure functions. docs/report-time.md explains every figure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cosim/measure/usage.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

// One COMPUTE operation.
struct OperationUsage {
  Usage usage;  // with launch and dispatch among the time lost
  Roofline roofline;
};
// nullopt for an operation that never ran.
std::optional<OperationUsage> UsageOf(const RunResult& result,
                                      const flex::CompletedOperation& operation);

// All COMPUTE operations of the launch together, over the sum of their device times.
OperationUsage UsageOfLaunches(const RunResult& result);
// Everything between the first operation queued and the last finished, with the transfers.
OperationUsage UsageOfSession(const RunResult& result);

nlohmann::ordered_json ToJson(const Peaks& peaks);
nlohmann::ordered_json ToJson(const Roofline& roofline);
nlohmann::ordered_json BalanceJson(const Usage& usage);
nlohmann::ordered_json LostTimeJson(const Usage& usage);
// Shares of what bursts of loads took; null if there was none.
nlohmann::ordered_json LoadsJson(const Usage& usage);
// Of a kernel that marks its steps, else null: "steps", all executions of each together, and
// "step_executions", the single ones.
nlohmann::ordered_json StepsJson(const RunResult& result,
                                 const flex::CompletedOperation& operation);
nlohmann::ordered_json StepExecutionsJson(const RunResult& result,
                                          const flex::CompletedOperation& operation);

// Part of the summary. Lines of any width:
std::string UsageText(const RunResult& result);
// Tables that fit the width: a row for each kernel if there are several, and for each step.
std::string KernelTables(const RunResult& result, size_t width);
// "bound by memory bandwidth (50.6 % of the critical path)"; "" if no kernel ran.
std::string BoundOfLaunches(const RunResult& result);

}  // namespace spyre::cosim
