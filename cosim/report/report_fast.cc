// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_fast.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/time_units.h"
#include "cosim/report/report_tasks.h"
#include "traces/text.h"

namespace spyre::cosim {

std::pair<uint64_t, uint64_t> FastRange(const RunResult& result, uint64_t ps) {
  if (!result.fast) return {ps, ps};
  const uint64_t known_in_part = result.fast->partly_ps + result.fast->repeated_ps;
  const uint64_t off = known_in_part * result.config.card.fast.error_percent / 100;
  return {ps - std::min(ps, off), ps + off};
}

nlohmann::ordered_json FastJson(const RunResult& result) {
  const model::FastStatistics& fast = *result.fast;
  const uint64_t launch_ps = result.LaunchPs();
  const auto [least, most] = FastRange(result, launch_ps);
  return {{"simulated", {{"launches", fast.whole}, {"device_ns", Nanoseconds(fast.whole_ps)}}},
          {"in_part",
           {{"launches", fast.partly},
            {"device_ns", Nanoseconds(fast.partly_ps)},
            {"simulated_ns", Nanoseconds(fast.simulated_ps)}}},
          {"repeated", {{"launches", fast.repeated}, {"device_ns", Nanoseconds(fast.repeated_ps)}}},
          {"spread", fast.spread},
          {"error_percent", result.config.card.fast.error_percent},
          {"launch_ns", {{"least", Nanoseconds(least)}, {"most", Nanoseconds(most)}}}};
}

nlohmann::ordered_json FormulaJson(const RunResult& result) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const FormulaTimes::Kernel& kernel : result.formula->kernels) {
    nlohmann::ordered_json entry = {{"name", kernel.name},
                                    {"launches", kernel.launches},
                                    {"device_ns", Nanoseconds(kernel.ps)},
                                    {"bound_by", kernel.bound}};
    if (!kernel.task.empty()) entry["task"] = kernel.task;
    kernels.push_back(std::move(entry));
  }
  return {{"closed_form", true}, {"bound_by", FormulaBound(result)}, {"kernels", kernels}};
}

std::string FormulaBound(const RunResult& result) {
  std::map<std::string, uint64_t> ps;
  for (const FormulaTimes::Kernel& kernel : result.formula->kernels)
    ps[kernel.bound] += kernel.launches * kernel.ps;
  ps["what the host computes"] = HostOperationsPs(result);
  const auto most = std::max_element(
      ps.begin(), ps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == ps.end() ? "" : most->first;
}

std::string FastText(const RunResult& result) {
  if (result.formula) {
    return "  fast: kernel times are those of the closed form (docs/accuracy.md); nothing was "
           "simulated, and what is around the kernels takes no time, but for what the host "
           "computes "
           "of a list and what several cards do together\n";
  }
  if (!result.fast) return "";
  const model::FastStatistics& fast = *result.fast;
  std::string text = fmt::format(
      "  fast: {} kernel launches simulated whole, {} in part ({} of {}), {} repeated ({}); the "
      "times of those in part and repeated are within about {} % of the timed model's\n",
      fast.whole, fast.partly, trace::FormatTime(fast.simulated_ps),
      trace::FormatTime(fast.partly_ps), fast.repeated, trace::FormatTime(fast.repeated_ps),
      result.config.card.fast.error_percent);
  if (fast.spread > 0) {
    text += fmt::format(
        "  fast: launches of one program that were simulated differ by up to {:.2f} %\n",
        fast.spread * 100);
  }
  return text;
}

}  // namespace spyre::cosim
