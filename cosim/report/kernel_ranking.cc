// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/kernel_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/ranges.h"
#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_tasks.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHalf = 0.5;

// Kernels by name, in the order in which they are first asked for.
class KernelsByName {
 public:
  KernelTotal& Of(const std::string& name) {
    const auto [place, is_new] = places_.emplace(name, kernels_.size());
    if (is_new) kernels_.emplace_back().name = name;
    return kernels_[place->second];
  }
  std::vector<KernelTotal> Take() { return std::move(kernels_); }

 private:
  std::vector<KernelTotal> kernels_;
  std::unordered_map<std::string, size_t> places_;
};

void AddPath(const trace::PathTimes& path, trace::PathTimes& sum) {
  for (size_t i = 0; i < trace::kCauses; ++i) sum[i] += path[i];
}

void AddPart(const std::string& part, KernelTotal& kernel) {
  const std::vector<std::string>& parts = kernel.parts;
  if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end())
    kernel.parts.push_back(part);
}

// On the resources of a need.
uint64_t PathPsOf(const trace::PathTimes& path, const trace::Need& need) {
  uint64_t ps = 0;
  for (size_t i = 0; i < trace::kCauses; ++i) {
    const std::string resource = trace::ResourceName(static_cast<trace::Cause>(i));
    if (std::find(need.resources.begin(), need.resources.end(), resource) != need.resources.end())
      ps += path[i];
  }
  return ps;
}

void Estimate(RankedKernel& kernel) {
  const trace::Bound bound = trace::BoundOf(kernel.total.path);
  if (bound.total_ps == 0) return;
  kernel.bound_by = bound.resource;
  for (const trace::Need& need : trace::Needs()) {
    const double gain = kernel.share * kHalf *
                        static_cast<double>(PathPsOf(kernel.total.path, need)) /
                        static_cast<double>(bound.total_ps);
    if (gain <= kernel.gain) continue;
    kernel.gain = gain;
    kernel.need = &need;
  }
}

bool HasLaunched(const RunResult& result, const flex::CompletedOperation& operation) {
  return result.IsKernel(operation) && operation.executed;
}

// Null: it marks no steps that have names.
const std::vector<StepUsage>* StepsOf(const RunResult& result,
                                      const flex::CompletedOperation& operation) {
  const auto usage = result.kernel_usages.find(operation.correlation);
  if (usage == result.kernel_usages.end() || usage->second.steps.empty()) return nullptr;
  return &usage->second.steps;
}

void AddSteps(const RunResult& result, const std::vector<StepUsage>& steps,
              KernelsByName& kernels) {
  for (const StepUsage& step : steps) {
    const BundleStep* const of =
        step.step < result.steps.size() ? &result.steps[step.step] : nullptr;
    KernelTotal& kernel = kernels.Of(of == nullptr ? step.name : of->op + " " + of->shape);
    AddPart(of == nullptr ? "" : of->file, kernel);
    kernel.launches += step.executions;
    kernel.device_ps += step.usage.span_ps;
    kernel.macs += step.macs;
    kernel.read += step.bytes_read;
    kernel.written += step.bytes_written;
    AddPath(step.usage.path, kernel.path);
  }
}

// The closed form says what takes most of a kernel's time, but not how much of it.
std::vector<RankedKernel> RankedOfFormula(const RunResult& result) {
  std::vector<RankedKernel> ranked;
  for (KernelTotal& total : LaunchedKernels(result)) {
    RankedKernel& kernel = ranked.emplace_back();
    for (const FormulaTimes::Kernel& known : result.formula->kernels)
      if (known.name == total.name) kernel.bound_by = known.bound;
    kernel.total = std::move(total);
  }
  return ranked;
}

}  // namespace

std::vector<KernelTotal> LaunchedKernels(const RunResult& result) {
  const auto tasks = TasksOf(result);
  KernelsByName kernels;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!HasLaunched(result, operation)) continue;
    const uint64_t ps = operation.finished_ps - operation.started_ps;
    KernelTotal& kernel = kernels.Of(operation.name);
    if (kernel.launches++ == 0) kernel.first_ps = ps;
    if (const auto task = tasks.find(operation.correlation); task != tasks.end())
      AddPart(task->second, kernel);
    kernel.device_ps += ps;
    kernel.macs += operation.macs;
    kernel.read += operation.device_bytes_read;
    kernel.written += operation.device_bytes_written;
    const auto usage = result.kernel_usages.find(operation.correlation);
    if (usage != result.kernel_usages.end()) AddPath(usage->second.usage.path, kernel.path);
  }
  return kernels.Take();
}

std::vector<KernelTotal> KernelsOfProgram(const RunResult& result) {
  KernelsByName kernels;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!HasLaunched(result, operation)) continue;
    const std::vector<StepUsage>* const steps =
        result.steps.empty() ? nullptr : StepsOf(result, operation);
    if (steps == nullptr) return LaunchedKernels(result);
    AddSteps(result, *steps, kernels);
  }
  return kernels.Take();
}

std::vector<RankedKernel> RankedKernels(const RunResult& result, uint64_t window_ps) {
  if (window_ps == 0) return {};
  std::vector<RankedKernel> ranked;
  if (result.formula) {
    ranked = RankedOfFormula(result);
  } else {
    for (KernelTotal& total : KernelsOfProgram(result))
      ranked.emplace_back().total = std::move(total);
  }
  // Cards are alike and work side by side: what counts is a card's part.
  const auto cards = static_cast<double>(std::max<size_t>(1, result.cards.size()));
  for (RankedKernel& kernel : ranked) {
    kernel.share =
        static_cast<double>(kernel.total.device_ps) / cards / static_cast<double>(window_ps);
    if (result.formula) {
      kernel.gain = kernel.share * kHalf;
    } else {
      Estimate(kernel);
    }
  }
  StableSort(ranked, [](const RankedKernel& a, const RankedKernel& b) { return a.gain > b.gain; });
  return ranked;
}

std::string KernelTotal::PartsText() const {
  if (parts.empty()) return "";
  return parts.front() + (parts.size() == 1 ? "" : fmt::format(" and {} more", parts.size() - 1));
}

Json KernelRankingJson(const RunResult& result, uint64_t window_ps) {
  Json kernels = Json::array();
  for (const RankedKernel& kernel : RankedKernels(result, window_ps)) {
    kernels.push_back(
        {{"name", kernel.total.name},
         {"parts", kernel.total.parts},
         {"launches", kernel.total.launches},
         {"device_ns", Ns(kernel.total.device_ps)},
         {"share", kernel.share},
         {"bound_by", kernel.bound_by.empty() ? Json(nullptr) : Json(kernel.bound_by)},
         {"half_of", kernel.need == nullptr ? Json(nullptr) : Json(kernel.need->name)},
         {"change", -kernel.gain},
         {"estimate", true}});
  }
  return kernels;
}

}  // namespace spyre::cosim
