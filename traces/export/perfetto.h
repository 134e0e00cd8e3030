// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf trace format, encoded by hand: open the file at https://ui.perfetto.dev.
//
// Counter tracks with units below a process "counters" (counters.h). One process track per process,
// one child track per lane (lanes of one track share its name, the viewer draws them together).
// Slices carry category, name, flow id (control block correlation) and annotations: bytes, stream
// or detail, and start_ps and duration_ps, because the format's clock counts whole nanoseconds:
// starts and ends are rounded down, which keeps order and nesting. Field numbers:
// protos/perfetto/trace/*.proto of the Perfetto project.
#pragma once

#include <ostream>

#include "traces/trace_file.h"

namespace spyre::trace {

// The caller checks the stream's state afterwards.
void ExportPerfetto(const Trace& trace, std::ostream& out);

}  // namespace spyre::trace
