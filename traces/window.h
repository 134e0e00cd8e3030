// SPDX-License-Identifier: Apache-2.0
// A part of a run: from one time to another. Pure functions, any thread; picoseconds.
#pragma once

#include <cstdint>

#include "traces/trace_file.h"

namespace spyre::trace {

// The records that touch [from_ps, to_ps], whole: for viewers.
Trace Touching(Trace trace, uint64_t from_ps, uint64_t to_ps);
// The same, cut to the window, with the share of their bytes that a constant rate gives: for
// figures. What the run measured of its launches as a whole is gone.
Trace CutTo(Trace trace, uint64_t from_ps, uint64_t to_ps);

// What "relative to the launch" counts from: when the first operation of the launches was queued,
// or when the first kernel started if the run does not say; 0 without kernels.
uint64_t LaunchBeginPs(const Trace& trace);

}  // namespace spyre::trace
