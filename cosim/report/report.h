// SPDX-License-Identifier: Apache-2.0
// What a run is told about: report.json for programs, a summary for people. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "cosim/report/expectations.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

// The text of report.json; docs/report.md describes its fields. Times in ns.
// reference: of output.compare, or null. expectations: of [expect].
std::string ReportJson(const RunResult& result, const RunDigest* reference = nullptr,
                       const std::vector<Expectation>& expectations = {});
// What `run` prints: the verdict, in at most twelve lines.
std::string ReportVerdict(const RunResult& result, const RunDigest* reference = nullptr,
                          const TextStyle& style = {},
                          const std::vector<Expectation>& expectations = {});
// What `run --details` prints: the verdict, then where the time went, where the files are, what
// next. `program`: how the user called this program, for the commands it proposes.
std::string ReportSummary(const RunResult& result, const std::string& program,
                          const RunDigest* reference = nullptr, const TextStyle& style = {},
                          const std::vector<Expectation>& expectations = {});

}  // namespace spyre::cosim
