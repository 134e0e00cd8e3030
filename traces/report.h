// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page about one run, or two beside each other: `trace report`. No network,
// no files beside it. The page itself is written in TypeScript, in page/; what it is given:
//
//   run-N-head          JSON: names, tracks, kinds, kernels, critical paths, the summary, and what
//                       report.json of the run has, packed
//   run-N-levels        report_levels.h, packed
//   run-N-slices-B      report_slices.h, block B, packed
//
// each in a script element of that id, zlib in base64 (deflate.h).
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "traces/trace_file.h"

namespace spyre::trace {

// Slices of a run that the page holds; beyond, neighbours shorter than a time that the page states
// are merged. A page of two million stays below 15 MB.
inline constexpr size_t kReportSlices = 2'250'000;

struct ReportRun {
  const Trace& trace;
  std::string title;                // normally the file's name
  nlohmann::json report = nullptr;  // report.json of the same run; null: there is none
};

// runs: one or two. The caller checks the stream's state.
void WriteReport(const std::vector<ReportRun>& runs, std::ostream& out,
                 size_t max_slices = kReportSlices);

// report.json beside the trace, if it is of the same run, which the digest says; else null.
nlohmann::json ReportBeside(const std::string& trace_path, const Trace& trace);

extern const char* const kReportPage;  // the page; %TITLE% and %DATA% are replaced

}  // namespace spyre::trace
