// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_next.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cosim/report/report_advice.h"
#include "cosim/report/report_usage.h"

namespace spyre::cosim {
namespace {

constexpr double kWorthSaying = 0.03;
constexpr size_t kSteps = 2;

// The part of the window that kernels take, to which the cost model's ratio applies.
double KernelShare(const RunResult& result) {
  uint64_t kernel_ps = 0;
  for (const flex::CompletedOperation& operation : result.launches)
    if (result.IsKernel(operation)) kernel_ps += operation.finished_ps - operation.started_ps;
  const uint64_t window_ps = result.LaunchPs();
  if (window_ps == 0) return 0;
  return std::min(1.0, static_cast<double>(kernel_ps) / static_cast<double>(window_ps));
}

}  // namespace

std::vector<NextStep> NextSteps(const RunResult& result) {
  std::vector<NextStep> steps;
  if (const std::optional<DivisionAdvice> advice = AdviceOf(result)) {
    steps.push_back({DivisionText(result, *advice),
                     (1 - advice->expected_ns / advice->expected_ns_of_run) * KernelShare(result),
                     false, "tune"});
  }
  if (!result.formula) {
    const trace::Bound bound = UsageOfLaunches(result).roofline.bound;
    for (const trace::ResourceTime& resource : bound.resources) {
      steps.push_back(
          {fmt::format("{} twice as fast", trace::ResourceText(resource.resource)),
           static_cast<double>(resource.time_ps) / static_cast<double>(bound.total_ps) / 2, true,
           "what-if"});
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const NextStep& a, const NextStep& b) { return a.gain > b.gain; });
  const auto end = std::find_if(steps.begin(), steps.end(),
                                [](const NextStep& step) { return step.gain < kWorthSaying; });
  steps.erase(end, steps.end());
  if (steps.size() > kSteps) steps.resize(kSteps);
  return steps;
}

std::string ToText(const NextStep& step) {
  return fmt::format("{}: {} {:.0f} % less time (estimate, see {})", step.what,
                     step.is_at_most ? "at most" : "about", 100 * step.gain, step.confirm);
}

nlohmann::ordered_json ToJson(const std::vector<NextStep>& steps) {
  auto list = nlohmann::ordered_json::array();
  for (const NextStep& step : steps) {
    list.push_back({{"what", step.what},
                    {"change", -step.gain},
                    {"at_most", step.is_at_most},
                    {"estimate", true},
                    {"confirm", step.confirm}});
  }
  return list;
}

}  // namespace spyre::cosim
