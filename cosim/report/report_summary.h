// SPDX-License-Identifier: Apache-2.0
// What a run prints for people: the verdict (report_verdict.h), and if asked for, the rest.
// ReportVerdict and ReportSummary are declared in report.h. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// Of device memory by all kernels of the launches, read and written.
std::pair<uint64_t, uint64_t> KernelBytes(const RunResult& result);

// Bits of an element in the width of its format.
std::string BitsText(const Mismatch& mismatch, uint64_t bits);

// "out, element 7: got 1.5 (0x3e00), expected 1 (0x3c00)".
std::string ToText(const Mismatch& mismatch);

}  // namespace spyre::cosim
