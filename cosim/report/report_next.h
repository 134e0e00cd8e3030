// SPDX-License-Identifier: Apache-2.0
// What would make a run faster, by what is known without simulating anything again: the compiler's
// cost model of another division, cores without work, and the critical path, off which a part that
// were twice as fast could take half of its time. The path is that of this run: when it gets
// shorter, another becomes the longest, so the gain may be far less, or a little more. These are
// estimates, and marked so, unless the run has simulated them (RunResult::simulated_changes);
// `what-if` and `tune` simulate them. Pure functions but for SENCORES, as AdviceOf.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

struct NextStep {
  std::string what;
  double gain = 0;          // share of the launch window that it would take off
  bool is_at_most = false;  // half of what the path spends on it; else about that
  std::string confirm;      // the command that simulates it
  bool is_simulated = false;
  // What to simulate: a resource (traces/path_causes.h) that is twice as fast, or settings as of
  // --set. Empty: no single run says.
  std::string resource;
  std::vector<std::string> sets;
};

std::string TwiceAsFast(std::string_view resource);  // NextStep::what of a resource

// Changes worth simulating: the three with the largest estimates, of those that one run answers.
std::vector<NextStep> StepsToSimulate(const RunResult& result);
// Whether simulating them takes a small part of a second: by what the run's units did, not by a
// clock, so that equal runs say the same.
bool IsCheapToSimulate(const RunResult& result);

// The most helpful first; nothing that gains less than 3 %, and at most two. Of a program of
// several kernels the second one names the kernel to look at first.
std::vector<NextStep> NextSteps(const RunResult& result);

// The first of RankedKernels (kernel_ranking.h), of a program that has several; none: it would gain
// less than 3 %. window_ps: what the gain is a share of. confirm: the command that simulates it.
std::optional<NextStep> KernelStep(const RunResult& result, uint64_t window_ps,
                                   const std::string& confirm);

std::string ToText(const NextStep& step);
nlohmann::ordered_json ToJson(const std::vector<NextStep>& steps);

}  // namespace spyre::cosim
