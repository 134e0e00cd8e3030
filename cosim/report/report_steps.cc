// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_steps.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_bounds.h"
#include "cosim/report/report_usage.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

Json ExecutionJson(const RunResult& result, const flex::CompletedOperation& operation,
                   const StepExecution& execution) {
  const BundleStep& step = result.steps.at(execution.step);
  Json iterations = Json::object();
  const std::vector<int64_t> values = IterationsOf(step, execution.iteration);
  for (size_t loop = 0; loop < values.size(); ++loop)
    iterations[fmt::format("i{}", step.loops[loop].number)] = values[loop];
  const Roofline roofline =
      RooflineOf(PeaksOf(result.config.card, execution.usage.cores), execution.usage,
                 execution.macs, execution.bytes_read + execution.bytes_written);
  return {{"name", StepName(step, execution.iteration)},
          {"file", step.file},
          {"op", step.op},
          {"iteration", iterations},
          {"stream", operation.stream},
          {"device_ns", Ns(execution.end_ps - execution.start_ps)},
          {"start_ns", Ns(execution.start_ps)},
          {"end_ns", Ns(execution.end_ps)},
          {"macs", execution.macs},
          {"device_bytes_read", execution.bytes_read},
          {"device_bytes_written", execution.bytes_written},
          {"roofline", ToJson(roofline)},
          {"bounds", BoundsJson(execution.usage)},
          {"balance", BalanceJson(execution.usage)},
          {"lost_time", LostTimeJson(execution.usage)},
          {"loads", LoadsJson(execution.usage)}};
}

}  // namespace

Json StepKernelsJson(const RunResult& result, const flex::CompletedOperation& operation) {
  const auto kernel = result.kernel_usages.find(operation.correlation);
  if (result.steps.empty() || kernel == result.kernel_usages.end()) return nullptr;
  Json kernels = Json::array();
  for (const StepExecution& execution : kernel->second.executions)
    kernels.push_back(ExecutionJson(result, operation, execution));
  return kernels;
}

}  // namespace spyre::cosim
