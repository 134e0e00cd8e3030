// SPDX-License-Identifier: Apache-2.0
// What the cost model of the compiler knows better than what ran. Nothing is simulated: it is a
// formula (runtime/compiler/codegen/expected_time.h). Pure functions but for SENCORES, which limits
// the cores as it did in the run.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cosim/session/run_result.h"
#include "runtime/compiler/codegen/expected_time.h"

namespace spyre::cosim {

// A division that the model expects to be clearly faster. Times of one launch.
struct DivisionAdvice {
  compiler::DimensionSizes split;
  double expected_ns = 0;         // of that division
  double expected_ns_of_run = 0;  // of the one that ran
  bool replaces_split = false;    // the run's was forced by workload.split
};

// The division that workload.division = "cost" gives, if the model expects that of the run to take
// more than a fifth longer. Nothing as well where the model knows too little: of operations other
// than a matmul, of a division of k, of lists, bundles and models, of several workloads or cards.
std::optional<DivisionAdvice> AdviceOf(const RunResult& result);

// "workload.division = cost (m 4 x n 8, not m 32)".
std::string DivisionText(const RunResult& result, const DivisionAdvice& advice);
nlohmann::ordered_json AdviceJson(const RunResult& result);  // null: none
// A line for the end of the summary, as wide as that; "": none.
std::string AdviceText(const RunResult& result, const std::string& program, size_t width);

}  // namespace spyre::cosim
