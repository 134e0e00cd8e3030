// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page about one run: `trace report`. No network, no files beside it.
#pragma once

#include <ostream>
#include <string>

#include "traces/trace_file.h"

namespace spyre::trace {

// Slices that the page holds; beyond, neighbours shorter than a screen pixel are merged and the
// page says so.
constexpr size_t kReportSlices = 200000;

// title: shown at the top, normally the file's name. The caller checks the stream's state.
void WriteReport(const Trace& trace, const std::string& title, std::ostream& out,
                 size_t max_slices = kReportSlices);

extern const char* const kReportPage;  // the page; %TITLE% and %DATA% are replaced

}  // namespace spyre::trace
