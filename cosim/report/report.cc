// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/build_info/build_info.h"
#include "base/json_text.h"
#include "cosim/report/kernel_ranking.h"
#include "cosim/report/nanoseconds.h"
#include "cosim/report/report_advice.h"
#include "cosim/report/report_bounds.h"
#include "cosim/report/report_cards.h"
#include "cosim/report/report_energy.h"
#include "cosim/report/report_fast.h"
#include "cosim/report/report_faults.h"
#include "cosim/report/report_hazards.h"
#include "cosim/report/report_model.h"
#include "cosim/report/report_steps.h"
#include "cosim/report/report_summary.h"
#include "cosim/report/report_tasks.h"
#include "cosim/report/report_tenants.h"
#include "cosim/report/report_trust.h"
#include "cosim/report/report_usage.h"
#include "cosim/report/report_verdict.h"
#include "cosim/tensors/host_data.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

double Utilization(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json CoreFinishJson(const KernelUsage& kernel) {
  Json cores = Json::object();
  for (const CoreEnd& core : kernel.core_ends) {
    const std::string name =
        kernel.cores.service ? "service core" : fmt::format("core {:02}", core.core);
    cores[name] = Ns(core.end_ps);
  }
  return cores;
}

Json OperationJson(const RunResult& result, const flex::CompletedOperation& operation) {
  Json entry = {{"name", operation.name},
                {"stream", operation.stream},
                {"device_ns", Ns(operation.finished_ps - operation.started_ps)},
                {"start_ns", Ns(operation.started_ps)},
                {"end_ns", Ns(operation.finished_ps)},
                {"macs", operation.macs},
                {"device_bytes_read", operation.device_bytes_read},
                {"device_bytes_written", operation.device_bytes_written}};
  const auto number = result.kernel_numbers.find(operation.correlation);
  if (number != result.kernel_numbers.end()) entry["number"] = number->second;
  if (!operation.label.empty()) entry["label"] = operation.label;
  const auto kernel = result.kernel_usages.find(operation.correlation);
  // The launches of a model are many.
  if (kernel != result.kernel_usages.end() && !result.model)
    entry["core_finish_ns"] = CoreFinishJson(kernel->second);
  return entry;
}

Json DecisionsJson(const RunResult& result) {
  Json decisions = Json::array();
  for (const compiler::Decision& decision : result.decisions) {
    Json refused = Json::array();
    for (const compiler::Decision::Refused& other : decision.refused)
      refused.push_back({{"candidate", other.candidate}, {"rule", other.rule}});
    decisions.push_back({{"pass", decision.pass},
                         {"subject", decision.subject},
                         {"chosen", decision.chosen},
                         {"because", decision.because},
                         {"refused", std::move(refused)}});
  }
  return decisions;
}

Json LxJson(const RunResult& result) {
  Json list = Json::array();
  for (const auto& [name, lx] : result.lx) {
    Json buffers = Json::array();
    for (const compiler::LxUse& use : lx.uses) {
      buffers.push_back({{"name", use.name},
                         {"address", use.address},
                         {"bytes", use.bytes},
                         {"first_step", use.first_step},
                         {"last_step", use.last_step},
                         {"core_mask", use.cores}});
    }
    list.push_back({{"kernel", name}, {"steps", lx.steps}, {"buffers", std::move(buffers)}});
  }
  return list;
}

Json NotVerifiedJson(const RunResult& result) {
  return result.not_verified.empty() ? Json(nullptr) : Json(result.not_verified);
}

Json VerifiedJson(const RunResult& result) {
  if (!result.verification) return nullptr;
  const Verification& v = *result.verification;
  Json first = Json::array();
  for (const Mismatch& mismatch : v.first) {
    first.push_back({{"tensor", mismatch.tensor},
                     {"element", mismatch.element},
                     {"got", BitsText(mismatch, mismatch.got)},
                     {"expected", BitsText(mismatch, mismatch.expected)}});
  }
  Json worst = nullptr;
  if (v.worst) {  // JSON has no infinity: null
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    worst = {{"tensor", v.worst->tensor},
             {"element", v.worst->element},
             {"got", number(v.worst->got)},
             {"expected", number(v.worst->expected)},
             {"limit", number(v.worst->limit)}};
  }
  return {{"elements", v.elements},
          {"total", std::max(v.total, v.elements)},
          {"mismatches", v.mismatches},
          {"max_abs_error", v.max_abs_error},
          {"max_relative_error", v.max_relative_error},
          {"max_ulp_error", v.max_ulp_error},
          {"error_elements", v.error_elements},
          {"not_decided", v.undecided},
          {"not_finite", v.not_finite},
          {"overflow", v.overflow.empty() ? Json(nullptr) : Json(v.overflow)},
          {"reference_not_finite", v.unjudged},
          {"tolerance", v.tolerance},
          {"beyond_tolerance", v.beyond},
          {"within_tolerance", v.within_tolerance()},
          {"worst", worst},
          {"passed", v.passed()},
          {"reference", v.reference},
          {"first_mismatches", first}};
}

}  // namespace

std::string ReportJson(const RunResult& result, const RunDigest* reference,
                       const std::vector<Expectation>& expectations) {
  const uint64_t window = result.end_ps - result.begin_ps;
  const uint64_t launch_window = result.LaunchPs();
  Json kernels = Json::array();
  Json corrections = Json::array();
  Json tile_kernels = Json::array();
  Json programs = Json::array();
  const auto tasks = TasksOf(result);
  for (const flex::CompletedOperation& operation : result.launches) {
    if (operation.opcode != Opcode::COMPUTE) continue;
    Json entry = OperationJson(result, operation);
    if (!result.IsKernel(operation)) {
      (operation.correction ? corrections : tile_kernels).push_back(std::move(entry));
      continue;
    }
    // The launches of a model are many and alike: their parts are summed up instead.
    const std::optional<OperationUsage> usage =
        result.model ? std::nullopt : UsageOf(result, operation);
    if (usage) {
      entry["roofline"] = ToJson(usage->roofline);
      entry["bounds"] = BoundsJson(usage->usage);
      entry["balance"] = BalanceJson(usage->usage);
      entry["lost_time"] = LostTimeJson(usage->usage);
      entry["loads"] = LoadsJson(usage->usage);
    }
    if (const auto task = tasks.find(operation.correlation); task != tasks.end())
      entry["task"] = task->second;
    Json executed = StepKernelsJson(result, operation);
    if (Json steps = StepsJson(result, operation); !steps.is_null()) {
      entry["steps"] = std::move(steps);
      if (executed.is_null()) entry["step_executions"] = StepExecutionsJson(result, operation);
    }
    if (executed.is_null()) {
      kernels.push_back(std::move(entry));
      continue;
    }
    // A bundle's kernels are the executions of its SDSC files; all together are its program.
    programs.push_back(std::move(entry));
    for (Json& kernel : executed) kernels.push_back(std::move(kernel));
  }
  const OperationUsage launches = UsageOfLaunches(result);
  Json units = Json::array();
  for (size_t i = 0; i < result.units.size(); ++i) {
    const model::UnitStatistics& unit = result.units[i];
    const model::UnitStatistics& launch = result.launch_units[i];
    units.push_back({{"name", unit.name},
                     {"busy_ns", Ns(unit.busy_ps)},
                     {"utilization", Utilization(unit.busy_ps, window)},
                     {"bytes", unit.bytes},
                     {"requests", unit.requests},
                     {"waited_ns", Ns(unit.waited_ps)},
                     {"launch_busy_ns", Ns(launch.busy_ps)},
                     {"launch_utilization", Utilization(launch.busy_ps, result.UnitsPs())},
                     {"launch_bytes", launch.bytes}});
  }
  Json tensors = Json::object();
  for (const auto& [name, path] : result.tensor_paths) tensors[name] = path;
  Json report = {{"workload", result.description},
                 {"build", JsonOf(ToJson(ThisBuild()))},
                 {"config", JsonOf(ToJson(result.config))},
                 {"sim_time_ns", Ns(result.sim_ps)},
                 {"window_ns", Ns(window)},
                 {"launch_ns", Ns(launch_window)},
                 {"wall_s", result.wall.total},
                 {"wall",
                  {{"generate_s", result.wall.generate},
                   {"compile_s", result.wall.compile},
                   {"model_s", result.wall.model},
                   {"verify_s", result.wall.verify}}},
                 {"verified", VerifiedJson(result)},
                 {"not_verified", NotVerifiedJson(result)},
                 {"warnings", result.warnings},
                 {"decisions", DecisionsJson(result)},
                 {"operations",
                  {{"queued", result.launch_counts.queued},
                   {"completed", result.launch_counts.completed},
                   {"failed", result.launch_counts.failed},
                   {"not_executed", result.launch_counts.not_executed},
                   {"transfers", result.transfers},
                   {"program_loads", result.program_loads}}},
                 {"division",
                  {{"schedule", compiler::Name(result.config.workload.schedule)},
                   {"cores_used", result.plan.cores_used},
                   {"split", result.plan.split},
                   {"tile", result.plan.tile},
                   {"lx_bytes_used", result.plan.lx_bytes_used}}},
                 {"lx", LxJson(result)},
                 {"roofline",
                  {{"launches", ToJson(launches.roofline)},
                   {"session", ToJson(UsageOfSession(result).roofline)}}},
                 {"bounds", BoundsJson(launches.usage)},
                 {"window", WindowJson(result)},
                 {"balance", BalanceJson(launches.usage)},
                 {"lost_time", LostTimeJson(launches.usage)},
                 {"loads", LoadsJson(launches.usage)},
                 {"kernels", kernels},
                 {"corrections", corrections},
                 {"tile_kernels", tile_kernels},
                 {"units", units},
                 {"trace",
                  {{"path", result.trace_path},
                   {"digest", fmt::format("{:016x}", result.trace_digest)},
                   {"records", result.trace_records},
                   {"dropped", result.trace_dropped},
                   {"bytes", result.trace_bytes},
                   {"waves", result.wave_paths}}},
                 {"tensors", tensors},
                 {"spyrecode", result.spyrecode_dir}};
  const auto [bytes_read, bytes_written] = KernelBytes(result);
  report["device_memory"] = {{"bytes_read", bytes_read}, {"bytes_written", bytes_written}};
  if (Json energy = EnergyJson(result); !energy.is_null()) report["energy"] = std::move(energy);
  report["hazards"] = HazardsJson(result.hazards);
  report["advice"] = AdviceJson(result);
  report["kernel_ranking"] = KernelRankingJson(result, result.LaunchPs());
  report["trust"] = TrustJson(result);
  report["verdict"] = VerdictJson(result, reference, expectations);
  report["overlap"] = OverlapJson(result);
  report["host"] = HostJson(result);
  report["memory"] = MemoryJson(result);
  if (result.tasks) report["issue"] = TasksJson(result);
  if (result.model) report["model"] = ModelJson(result);
  if (!result.tenants.empty()) report["tenants"] = TenantsJson(result);
  if (!result.cards.empty()) {
    report["cards"] = CardsJson(result);
    report["collective"] = CollectiveJson(result);
    report["collectives"] = ListCollectivesJson(result);
  }
  report["management"] = {{"log", result.firmware_log}};
  if (result.fast) report["fast"] = FastJson(result);
  if (!result.faults.empty()) report["faults"] = FaultsJson(result);
  if (!expectations.empty()) report["expectations"] = ToJson(expectations);
  if (reference != nullptr) {
    const std::string difference = Difference(DigestOf(result), *reference);
    report["reference"] = {{"sim_time_ns", Ns(reference->sim_ps)},
                           {"window_ns", Ns(reference->window_ps)},
                           {"launch_ns", Ns(reference->launch_ps)},
                           {"wall_s", reference->wall_s},
                           {"responses", reference->responses.size()},
                           {"equal", difference.empty()},
                           {"difference", difference}};
  }
  if (!result.transport.empty()) {
    report["transport"] = result.transport;
    // The counters behind these are in the server's process.
    for (const char* key : {"roofline", "bounds", "window", "balance", "lost_time", "loads",
                            "units", "host", "management"})
      report.erase(key);
  }
  if (result.formula) {
    report["fast"] = FormulaJson(result);
    // Counters of a card, of which there was none.
    for (const char* key : {"roofline", "bounds", "window", "balance", "lost_time", "loads",
                            "units", "host", "management", "energy", "overlap", "memory"})
      report.erase(key);
  }
  if (!result.steps.empty()) report["bundle"] = {{"programs", std::move(programs)}};
  return DumpJson(report, 2) + "\n";
}

}  // namespace spyre::cosim
