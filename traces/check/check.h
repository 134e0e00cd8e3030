// SPDX-License-Identifier: Apache-2.0
// Whether a trace keeps rules: `trace check`, and `expect.rules` of a run. Pure functions, any
// thread, but that a baseline is read from its file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/check/rules.h"
#include "traces/trace_file.h"

namespace spyre::trace {

struct RuleResult {
  std::string name, kind;
  bool passed = true;
  std::string found;                  // what was measured: "3 kernels, the longest 80.235 us"
  std::vector<std::string> problems;  // what does not keep the rule, the first kProblemsShown
  uint64_t failures = 0;              // of all
};
inline constexpr size_t kProblemsShown = 5;

// A rule that finds nothing that it could be about fails: it would hold for any run. Throws Error
// for a baseline that cannot be read.
std::vector<RuleResult> CheckRules(const Trace& trace, const std::vector<Rule>& rules);
bool AllPassed(const std::vector<RuleResult>& results);

std::string ToText(const std::vector<RuleResult>& results);
nlohmann::json ToJson(const std::vector<RuleResult>& results);
// JUnit's XML: a test case a rule. suite: the trace's path.
std::string ToJunit(const std::vector<RuleResult>& results, const std::string& suite);

}  // namespace spyre::trace
