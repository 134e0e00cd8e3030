// SPDX-License-Identifier: Apache-2.0
// What a configuration expects of its run ([expect]), and what came of it. Reads the trace file and
// the rules that it is held to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

struct Expectation {
  std::string key;    // "expect.max_launch_ns"; of rules, with the name of the rule
  std::string found;  // "launches took 40726.123 ns, at most 30000 expected"
  bool met = true;
};

// Those that the configuration has, in its order. Throws Error for rules that cannot be read.
std::vector<Expectation> ExpectationsOf(const RunResult& result);

nlohmann::ordered_json ToJson(const std::vector<Expectation>& expectations);
// A line for the summary, and one for each that is not met; "" without expectations.
std::string ToText(const std::vector<Expectation>& expectations);

}  // namespace spyre::cosim
