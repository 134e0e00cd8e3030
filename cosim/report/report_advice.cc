// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_advice.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "cosim/config/effect.h"
#include "cosim/workload/operation_workload.h"

namespace spyre::cosim {
namespace {

// The model is good to some 15 % (docs/accuracy.md): less than this is no reason to change
// anything.
constexpr double kClearlySlower = 1.2;

std::string SplitText(const compiler::DimensionSizes& split) {
  std::string text;
  for (const auto& [name, slices] : split)
    if (slices > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, slices);
  return text.empty() ? "one core" : text;
}

compiler::DimensionSizes SplitOfRun(const RunResult& result) {
  return {result.plan.split.begin(), result.plan.split.end()};
}

}  // namespace

std::optional<DivisionAdvice> AdviceOf(const RunResult& result) {
  const RunConfig& config = result.config;
  if (!result.tenants.empty() || !result.cards.empty() ||
      config.card.fidelity == model::Fidelity::kFunctional ||
      KindOf(config.workload) != WorkloadKind::kOperation)
    return std::nullopt;
  // What it costs to add up the parts of a divided k is a fit to another mechanism than this
  // card's.
  const auto k = result.plan.split.find("k");
  if (k != result.plan.split.end() && k->second > 1) return std::nullopt;
  compiler::KernelSpec spec = PlanOperation(config).kernel_spec;
  DivisionAdvice advice;
  advice.replaces_split = !spec.split.empty();
  const auto expected = [&](const compiler::DimensionSizes& split) {
    return compiler::ExpectedLaunchNs(spec.op, spec.dims, split, spec.matmul_timing);
  };
  const std::optional<double> of_run = expected(SplitOfRun(result));
  if (!of_run) return std::nullopt;
  spec.split.clear();
  spec.split_rule = compiler::SplitRule::kCost;
  advice.split = compiler::SplitOf(spec);
  advice.expected_ns_of_run = *of_run;
  advice.expected_ns = expected(advice.split).value_or(*of_run);
  if (advice.expected_ns_of_run <= kClearlySlower * advice.expected_ns) return std::nullopt;
  return advice;
}

nlohmann::ordered_json AdviceJson(const RunResult& result) {
  const std::optional<DivisionAdvice> advice = AdviceOf(result);
  if (!advice) return nullptr;
  return {{"division", "cost"},
          {"split", advice->split},
          {"expected_ns", advice->expected_ns},
          {"expected_ns_of_run", advice->expected_ns_of_run}};
}

std::string DivisionText(const RunResult& result, const DivisionAdvice& advice) {
  return fmt::format("workload.division = cost{} ({}, not {})",
                     advice.replaces_split ? " and without workload.split" : "",
                     SplitText(advice.split), SplitText(SplitOfRun(result)));
}

std::string AdviceText(const RunResult& result, const std::string& program, size_t width) {
  const std::optional<DivisionAdvice> advice = AdviceOf(result);
  if (!advice) return "";
  std::string text =
      fmt::format("\nThe cost model expects about {:.1f} times less time with {}",
                  advice->expected_ns_of_run / advice->expected_ns, DivisionText(result, *advice));
  if (!result.config.source.empty())
    text += fmt::format("; see {} tune {}", program, result.config.source);
  return Wrap(text + ".\n", width);
}

}  // namespace spyre::cosim
