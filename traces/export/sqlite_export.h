// SPDX-License-Identifier: Apache-2.0
// The trace as an SQLite database: one table of slices, and what is asked for most as views. Times
// are nanoseconds with ps digits. docs/trace-viewers.md lists tables and views with sample queries.
#pragma once

#include <string>

#include "traces/trace_file.h"

namespace spyre::trace {

// Writes the whole database or nothing: a file that was there is replaced at the end. Throws
// spyre::Error(kBadInput) naming the path if it cannot be written.
void ExportSqlite(const Trace& trace, const std::string& path);

}  // namespace spyre::trace
