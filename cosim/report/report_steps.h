// SPDX-License-Identifier: Apache-2.0
// The part of the report that lists what a bundle's program did by SDSC file and loop iteration.
// Used by report.cc; pure functions. docs/report.md explains every figure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// One entry for each execution of an SDSC file by this COMPUTE, in order; null if the run is not of
// a bundle.
nlohmann::ordered_json StepKernelsJson(const RunResult& result,
                                       const flex::CompletedOperation& operation);

}  // namespace spyre::cosim
