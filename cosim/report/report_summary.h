// SPDX-License-Identifier: Apache-2.0
// What a run prints for people: three lines that say what ran, whether it is right, how fast it was
// and what bounds it; then the rest. ReportSummary is declared in report.h. Pure functions.
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

}  // namespace spyre::cosim
