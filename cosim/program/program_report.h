// SPDX-License-Identifier: Apache-2.0
// The text of report.json of a program that is not ours. Pure function. Times in ns.
#pragma once

#include <string>

#include "cosim/program/program_checks.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

// result: of the whole program; its launches are all its operations.
std::string ProgramReportJson(const RunResult& result, const ProgramChecks& checks);

}  // namespace spyre::cosim
