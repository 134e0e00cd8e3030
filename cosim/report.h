// What a run is told about: report.json for programs, a summary for people. Pure functions.
#pragma once

#include <string>

#include "cosim/session.h"

namespace spyre::cosim {

// The text of report.json; docs/report.md describes its fields. Times in ns.
std::string ReportJson(const RunResult& result);
// A few lines: what ran, whether it is right, where the time went, where the files are, what next.
// `program`: how the user called this program, for the commands it proposes.
std::string ReportSummary(const RunResult& result, const std::string& program);

}  // namespace spyre::cosim
