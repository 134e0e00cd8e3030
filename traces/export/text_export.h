// SPDX-License-Identifier: Apache-2.0
// The trace as text: Chrome's JSON trace format (chrome://tracing, Perfetto, speedscope) and CSV.
// Both are written record by record; the caller checks the stream's state afterwards.
#pragma once

#include <ostream>

#include "traces/trace_file.h"

namespace spyre::trace {

// Complete ("X") and instant events, times in us with ps digits, flows as "s", "t", "f" events
// between the slices of one correlation id. Lanes of a track are threads.
void ExportChrome(const Trace& trace, std::ostream& out);

// start_ps,end_ps,process,track,category,name,flow,bytes,detail in order of recording, RFC 4180.
void ExportCsv(const Trace& trace, std::ostream& out);

}  // namespace spyre::trace
