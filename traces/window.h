// SPDX-License-Identifier: Apache-2.0
// A part of a run: from one time to another. Pure functions, any thread; picoseconds.
#pragma once

#include <cstdint>

#include "traces/intervals.h"
#include "traces/trace_file.h"

namespace spyre::trace {

// The records that touch [from_ps, to_ps], whole: for viewers.
Trace Touching(Trace trace, uint64_t from_ps, uint64_t to_ps);
// The same, cut to the window, with the share of their bytes that a constant rate gives: for
// figures. What the run measured of its launches as a whole is gone.
Trace CutTo(Trace trace, uint64_t from_ps, uint64_t to_ps);

// The launches: from the first launch operation queued to the last one finished, as the run says
// (`launch_ns` of report.json). A run that does not say, because it did not end or is of an older
// version: from the start of its first kernel to the end of its last. 0, 0: it has no kernel.
Interval LaunchWindow(const Trace& trace);

// What "relative to the launch" counts from: where LaunchWindow begins.
uint64_t LaunchBeginPs(const Trace& trace);

}  // namespace spyre::trace
