// SPDX-License-Identifier: Apache-2.0
// What the user of a program that is not ours reads at its end. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/verdict.h"
#include "cosim/program/program_checks.h"
#include "cosim/report/report_next.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

// `verdict` of report.json and of the summary.
Verdict VerdictOf(const RunResult& result, const ProgramChecks& checks);

// What would help: which kernel to look at first.
std::vector<NextStep> NextStepsOf(const RunResult& result);

// What the kernels took and what was copied, then the verdict. result: of the whole program; its
// launches are all its operations. Lines of at most 100 columns, but for names of files.
std::string ProgramSummary(const RunResult& result, const ProgramChecks& checks);

}  // namespace spyre::cosim
