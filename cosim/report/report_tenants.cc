// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_tenants.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_hazards.h"
#include "cosim/session/tenant_times.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> Ratio(uint64_t time, uint64_t alone) {
  if (alone == 0) return std::nullopt;
  return static_cast<double>(time) / static_cast<double>(alone);
}

Json RatioJson(uint64_t time, uint64_t alone) {
  const std::optional<double> ratio = Ratio(time, alone);
  return ratio ? Json(*ratio) : Json(nullptr);
}

std::string RatioText(uint64_t time, uint64_t alone) {
  const std::optional<double> ratio = Ratio(time, alone);
  return ratio ? fmt::format("x{:.2f}", *ratio) : "-";
}

Json TimesJson(const TenantTimes& times) {
  return {{"window_ns", Ns(times.window_ps)},
          {"launch_ns", Ns(times.launch_ps)},
          {"device_ns", Ns(times.device_ps)},
          {"longest_wait_ns", Ns(times.longest_wait_ps)}};
}

Json TenantJson(const TenantResult& tenant) {
  const RunResult& run = tenant.run;
  Json json = {{"name", tenant.name},
               {"function", tenant.function},
               {"start_us", tenant.start_us},
               {"workload", run.description},
               {"error", tenant.error ? Json(tenant.error->what()) : Json(nullptr)},
               {"verified", run.verification ? Json(run.verification->passed()) : Json(nullptr)},
               {"elements", run.verification ? run.verification->elements : 0},
               {"mismatches", run.verification ? run.verification->mismatches : 0},
               {"begin_ns", Ns(run.begin_ps)},
               {"end_ns", Ns(run.end_ps)}};
  const TenantTimes times = TimesOf(run);
  json.update(TimesJson(times));
  json["operations"] = {
      {"queued", run.launch_counts.queued}, {"completed", run.launch_counts.completed},
      {"failed", run.launch_counts.failed}, {"not_executed", run.launch_counts.not_executed},
      {"transfers", run.transfers},         {"program_loads", run.program_loads}};
  json["host"] = {{"busy_ns", Ns(tenant.host.busy_ps)}, {"waited_ns", Ns(tenant.host.waited_ps)}};
  json["peak_bytes"] = run.tensor_memory.peak_bytes + run.program_memory.peak_bytes;
  json["hazards"] = HazardsJson(run.hazards);
  json["alone"] = nullptr;
  json["slowdown"] = nullptr;
  if (tenant.alone) {
    json["alone"] = TimesJson(*tenant.alone);
    json["slowdown"] = {{"window", RatioJson(times.window_ps, tenant.alone->window_ps)},
                        {"launch", RatioJson(times.launch_ps, tenant.alone->launch_ps)},
                        {"output_equal", times.output_digest == tenant.alone->output_digest}};
  }
  json["directory"] = run.out_dir;
  return json;
}

std::string ResultText(const TenantResult& tenant) {
  if (tenant.error) return "failed";
  if (!tenant.run.verification) return "not verified";
  return tenant.run.verification->passed() ? "verified" : "WRONG";
}

}  // namespace

Json TenantsJson(const RunResult& result) {
  Json tenants = Json::array();
  for (const TenantResult& tenant : result.tenants) tenants.push_back(TenantJson(tenant));
  return tenants;
}

std::string TenantsTable(const RunResult& result, size_t width) {
  if (result.tenants.empty()) return "";
  trace::Table table({"tenant", "VF", "result", "with transfers", "alone", "slower", "launches",
                      "alone", "slower"});
  std::string errors;
  for (const TenantResult& tenant : result.tenants) {
    const TenantTimes times = TimesOf(tenant.run);
    const TenantTimes alone = tenant.alone.value_or(TenantTimes{});
    const auto text = [&](uint64_t ps) {
      return ps == 0 ? std::string("-") : trace::FormatTime(ps);
    };
    table.Add({tenant.name, std::to_string(tenant.function), ResultText(tenant),
               text(times.window_ps), text(alone.window_ps),
               RatioText(times.window_ps, alone.window_ps), text(times.launch_ps),
               text(alone.launch_ps), RatioText(times.launch_ps, alone.launch_ps)});
    if (tenant.error) errors += fmt::format("  {}\n", tenant.error->what());
    if (tenant.alone && times.output_digest != tenant.alone->output_digest)
      errors += fmt::format("  {}: its outputs DIFFER from those of its run alone\n", tenant.name);
  }
  return "Tenants:\n" + table.ToString("  ", width) + errors;
}

}  // namespace spyre::cosim
