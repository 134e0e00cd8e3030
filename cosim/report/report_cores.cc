// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/ranges.h"
#include "cosim/config/effect.h"
#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_usage.h"
#include "cosim/workload/operation_workload.h"
#include "runtime/compiler/codegen/expected_time.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

// Time on what all cores share does not shrink with their number.
constexpr trace::Cause kOfCores[] = {trace::Cause::kLxPort,    trace::Cause::kPtRows,
                                     trace::Cause::kPtWeights, trace::Cause::kPtFill,
                                     trace::Cause::kVector,    trace::Cause::kSequencer};

uint64_t Cores(const compiler::DimensionSizes& split) {
  uint64_t cores = 1;
  for (const auto& [dimension, slices] : split) cores *= static_cast<uint64_t>(slices);
  return cores;
}

// Cores that the compiler would use if no key limited it.
uint64_t PossibleCores(const RunConfig& config, uint64_t used) {
  if (KindOf(config.workload) != WorkloadKind::kOperation)
    return config.workload.cores == 0 ? used : config.card.cores;
  compiler::KernelSpec spec = PlanOperation(config).kernel_spec;
  spec.split.clear();
  spec.cores = static_cast<int>(config.card.cores);
  return Cores(compiler::SplitOf(spec));
}

double PartInsideCores(const RunResult& result) {
  const trace::PathTimes& path = result.launch_path;
  const uint64_t total = trace::TotalPs(path);
  uint64_t inside = 0;
  for (const trace::Cause cause : kOfCores) inside += path[static_cast<size_t>(cause)];
  return total == 0 ? 0 : static_cast<double>(inside) / static_cast<double>(total);
}

}  // namespace

std::optional<IdleCores> IdleCoresOf(const RunResult& result) {
  const RunConfig& config = result.config;
  const auto used = static_cast<uint64_t>(result.plan.cores_used);
  if (!result.tenants.empty() || !result.cards.empty() || used == 0 || used >= config.card.cores)
    return std::nullopt;
  IdleCores idle;
  idle.used = used;
  idle.all = config.card.cores;
  idle.possible = std::max(used, PossibleCores(config, used));
  if (idle.possible == used) return idle;
  const bool of_operation = KindOf(config.workload) == WorkloadKind::kOperation;
  if (of_operation && !PlanOperation(config).kernel_spec.split.empty())
    idle.keys = "workload.split";
  if (config.workload.cores != 0 && config.workload.cores < config.card.cores)
    idle.keys += std::string(idle.keys.empty() ? "" : " and ") + "workload.cores";
  if (idle.keys.empty()) idle.keys = "the work division";
  idle.gain = PartInsideCores(result) *
              (1 - static_cast<double>(used) / static_cast<double>(idle.possible));
  return idle;
}

std::string ToText(const IdleCores& idle) {
  const std::string text =
      fmt::format("{} of {} cores have no work", idle.all - idle.used, idle.all);
  if (idle.possible == idle.used)
    return text + fmt::format(": the work division gives some to {} only", idle.used);
  return text + fmt::format(": {} gives work to {}, and {} could have some", idle.keys, idle.used,
                            idle.possible);
}

std::optional<LateCore> LateCoreOf(const RunResult& result) {
  const flex::CompletedOperation* longest = nullptr;
  const auto length = [](const flex::CompletedOperation& operation) {
    return operation.finished_ps - operation.started_ps;
  };
  for (const flex::CompletedOperation& operation : result.launches) {
    if (result.IsKernel(operation) && operation.executed &&
        (longest == nullptr || length(operation) > length(*longest)))
      longest = &operation;
  }
  if (longest == nullptr) return std::nullopt;
  const auto usage = result.kernel_usages.find(longest->correlation);
  if (usage == result.kernel_usages.end() || usage->second.core_ends.size() < 2)
    return std::nullopt;
  std::vector<CoreEnd> ends = usage->second.core_ends;
  StableSort(ends, [](const CoreEnd& a, const CoreEnd& b) { return a.end_ps < b.end_ps; });
  LateCore late;
  late.kernel = longest->name;
  late.core = ends.back().core;
  late.late_ps = ends.back().end_ps - ends[ends.size() / 2].end_ps;
  if (late.late_ps == 0) return std::nullopt;  // all met at a barrier: who was waited for is gone
  late.share = static_cast<double>(late.late_ps) /
               static_cast<double>(std::max<uint64_t>(length(*longest), 1));
  return late;
}

std::string ToText(const LateCore& late) {
  return fmt::format("core {} was done {} after the median core, {} of the longest kernel, {}",
                     late.core, trace::FormatTime(late.late_ps), trace::FormatPercent(late.share),
                     late.kernel);
}

Json IdleCoresJson(const RunResult& result) {
  const std::optional<IdleCores> idle = IdleCoresOf(result);
  if (!idle) return nullptr;
  return {{"used", idle->used},
          {"of", idle->all},
          {"possible", idle->possible},
          {"because", idle->keys},
          {"estimated_change", -idle->gain}};
}

Json LateCoreJson(const RunResult& result) {
  const std::optional<LateCore> late = LateCoreOf(result);
  if (!late) return nullptr;
  return {{"kernel", late->kernel},
          {"core", late->core},
          {"late_ns", Ns(late->late_ps)},
          {"share", late->share}};
}

}  // namespace spyre::cosim
