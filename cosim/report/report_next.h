// SPDX-License-Identifier: Apache-2.0
// What would make a run faster, by what is known without simulating anything again: the compiler's
// cost model of another division, and the critical path, off which a part that were twice as fast
// could take half of its time at most. Estimates, and marked so; `what-if` and `tune` simulate
// them. Pure functions but for SENCORES, as AdviceOf.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

struct NextStep {
  std::string what;
  double gain = 0;          // share of the launch window that it would take off
  bool is_at_most = false;  // else about that
  std::string confirm;      // the command that simulates it
};

// The most helpful first; nothing that gains less than 3 %, and at most two.
std::vector<NextStep> NextSteps(const RunResult& result);

std::string ToText(const NextStep& step);
nlohmann::ordered_json ToJson(const std::vector<NextStep>& steps);

}  // namespace spyre::cosim
