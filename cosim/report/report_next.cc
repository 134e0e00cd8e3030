// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_next.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/ranges.h"
#include "cosim/report/kernel_ranking.h"
#include "cosim/report/report_advice.h"
#include "cosim/report/report_cores.h"
#include "cosim/report/report_usage.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

constexpr double kWorthSaying = 0.03;
constexpr size_t kSteps = 2;
constexpr size_t kStepsSimulated = 3;
// Of all units. A processor simulates some 5 million a second (tests/benchmarks), without data.
constexpr uint64_t kCheapRequests = 500'000;

// The part of the window that kernels take, to which the cost model's ratio applies.
double KernelShare(const RunResult& result) {
  uint64_t kernel_ps = 0;
  for (const flex::CompletedOperation& operation : result.launches)
    if (result.IsKernel(operation)) kernel_ps += operation.finished_ps - operation.started_ps;
  const uint64_t window_ps = result.LaunchPs();
  if (window_ps == 0) return 0;
  return std::min(1.0, static_cast<double>(kernel_ps) / static_cast<double>(window_ps));
}

bool HasRtl(const model::CardConfig& card) {
  return card.control.fidelity == model::BlockFidelity::kRtl ||
         card.management.fidelity == model::ManagementFidelity::kRtl ||
         card.pt.fidelity == model::BlockFidelity::kRtl;
}

void SortByGain(std::vector<NextStep>& steps) {
  StableSort(steps, [](const NextStep& a, const NextStep& b) { return a.gain > b.gain; });
}

// Estimates, the largest first.
std::vector<NextStep> AllSteps(const RunResult& result) {
  std::vector<NextStep> steps;
  if (const std::optional<DivisionAdvice> advice = AdviceOf(result)) {
    NextStep& step = steps.emplace_back();
    step.what = DivisionText(result, *advice);
    step.gain = (1 - advice->expected_ns / advice->expected_ns_of_run) * KernelShare(result);
    step.confirm = "tune";
    step.sets = {"workload.division=cost"};
    if (advice->replaces_split) {
      for (const char* dim : {"batch", "m", "k", "n"})
        step.sets.push_back(fmt::format("workload.split.{}=0", dim));  // not given
    }
  } else if (const std::optional<IdleCores> idle = IdleCoresOf(result); idle && idle->gain > 0) {
    NextStep& step = steps.emplace_back();
    step.what = fmt::format("work for {} cores, not {} (without {})", idle->possible, idle->used,
                            idle->keys);
    step.gain = idle->gain;
    step.confirm = "tune";
    if (idle->keys == "workload.cores") step.sets = {"workload.cores=0"};
  }
  if (!result.formula) {
    const trace::Bound bound = UsageOfLaunches(result).roofline.bound;
    for (const trace::ResourceTime& resource : bound.resources) {
      NextStep& step = steps.emplace_back();
      step.what = TwiceAsFast(resource.resource);
      step.gain = static_cast<double>(resource.time_ps) / static_cast<double>(bound.total_ps) / 2;
      step.is_at_most = true;
      step.confirm = "what-if";
      step.resource = resource.resource;
    }
  }
  SortByGain(steps);
  return steps;
}

}  // namespace

std::string TwiceAsFast(std::string_view resource) {
  return fmt::format("{} twice as fast", trace::ResourceText(resource));
}

std::vector<NextStep> NextSteps(const RunResult& result) {
  std::vector<NextStep> steps = AllSteps(result);
  for (NextStep& step : steps) {
    const auto simulated = result.simulated_changes.find(step.what);
    if (simulated == result.simulated_changes.end()) continue;
    step.gain = simulated->second;
    step.is_simulated = true;
    step.is_at_most = false;
  }
  // A limit beside simulated gains would come first by being rough.
  if (!result.simulated_changes.empty()) {
    steps.erase(std::remove_if(steps.begin(), steps.end(),
                               [](const NextStep& step) { return step.is_at_most; }),
                steps.end());
  }
  SortByGain(steps);
  const auto end = FindIf(steps, [](const NextStep& step) { return step.gain < kWorthSaying; });
  steps.erase(end, steps.end());
  const std::optional<NextStep> kernel = KernelStep(result, result.LaunchPs(), "what-if --kernels");
  const size_t others = kernel ? kSteps - 1 : kSteps;
  if (steps.size() > others) steps.resize(others);
  if (kernel) steps.push_back(*kernel);
  return steps;
}

std::vector<NextStep> StepsToSimulate(const RunResult& result) {
  std::vector<NextStep> steps;
  for (NextStep& step : AllSteps(result)) {
    const bool can_be = !step.resource.empty() || !step.sets.empty();
    if (can_be && step.gain >= kWorthSaying && steps.size() < kStepsSimulated)
      steps.push_back(std::move(step));
  }
  return steps;
}

bool IsCheapToSimulate(const RunResult& result) {
  if (result.formula || !result.tenants.empty() || !result.cards.empty() ||
      !result.faults.empty() || result.config.card.fidelity != model::Fidelity::kTimed ||
      HasRtl(result.config.card))
    return false;
  uint64_t requests = 0;
  for (const model::UnitStatistics& unit : result.units) requests += unit.requests;
  return requests <= kCheapRequests;
}

std::optional<NextStep> KernelStep(const RunResult& result, uint64_t window_ps,
                                   const std::string& confirm) {
  const std::vector<RankedKernel> ranked = RankedKernels(result, window_ps);
  if (ranked.size() < 2 || ranked.front().gain < kWorthSaying) return std::nullopt;
  const RankedKernel& first = ranked.front();
  NextStep step;
  step.what =
      fmt::format("of {} kernels first {} ({} of the time), with half {}", ranked.size(),
                  first.total.name, trace::FormatPercent(first.share),
                  first.need == nullptr ? "its work" : fmt::format("the {}", first.need->text));
  step.gain = first.gain;
  step.confirm = confirm;
  return step;
}

std::string ToText(const NextStep& step) {
  if (step.is_simulated)
    return fmt::format("{}: {:.1f} % less time (simulated)", step.what, 100 * step.gain);
  return fmt::format("{}: {} {:.0f} % less time (estimate, see {})", step.what,
                     step.is_at_most ? "up to about" : "about", 100 * step.gain, step.confirm);
}

nlohmann::ordered_json ToJson(const std::vector<NextStep>& steps) {
  auto list = nlohmann::ordered_json::array();
  for (const NextStep& step : steps) {
    list.push_back({{"what", step.what},
                    {"change", -step.gain},
                    {"at_most", step.is_at_most},
                    {"estimate", !step.is_simulated},
                    {"confirm", step.confirm}});
  }
  return list;
}

}  // namespace spyre::cosim
