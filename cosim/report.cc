#include "cosim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "cosim/host_data.h"
#include "cosim/report_hazards.h"
#include "cosim/report_issue.h"
#include "cosim/report_steps.h"
#include "cosim/report_usage.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

double Ns(uint64_t ps) { return static_cast<double>(ps) / 1000; }
double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json OperationJson(const flex::CompletedOperation& operation) {
  return {{"name", operation.name},
          {"stream", operation.stream},
          {"device_ns", Ns(operation.finished_ps - operation.started_ps)},
          {"start_ns", Ns(operation.started_ps)},
          {"end_ns", Ns(operation.finished_ps)},
          {"macs", operation.macs},
          {"device_bytes_read", operation.device_bytes_read},
          {"device_bytes_written", operation.device_bytes_written}};
}

// Of device memory by all kernels of the launches, read and written.
std::pair<uint64_t, uint64_t> DeviceBytes(const RunResult& result) {
  std::pair<uint64_t, uint64_t> bytes{0, 0};
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    bytes.first += operation.device_bytes_read;
    bytes.second += operation.device_bytes_written;
  }
  return bytes;
}

std::string BitsText(const Mismatch& mismatch, uint64_t bits) {
  return fmt::format("0x{:0{}x}", bits, 2 * HostFormatOf(mismatch.format).bytes);
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
  return {{"elements", v.elements},           {"mismatches", v.mismatches},
          {"max_abs_error", v.max_abs_error}, {"max_relative_error", v.max_relative_error},
          {"max_ulp_error", v.max_ulp_error}, {"error_elements", v.error_elements},
          {"reference", v.reference},         {"first_mismatches", first}};
}

// "core 12/pt" and "core 3/pt" belong to one row, "core */pt".
std::string GroupName(const std::string& unit) {
  std::string group;
  for (size_t i = 0; i < unit.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(unit[i])) != 0;
    if (!digit) {
      group += unit[i];
    } else if (group.empty() || group.back() != '*') {
      group += '*';
    }
  }
  return group;
}

std::string UnitTable(const RunResult& result) {
  struct Group {
    uint64_t units = 0, busy_ps = 0, max_ps = 0, bytes = 0;
  };
  std::map<std::string, Group> groups;
  for (const model::UnitStatistics& unit : result.launch_units) {
    Group& group = groups[GroupName(unit.name)];
    ++group.units;
    group.busy_ps += unit.busy_ps;
    group.max_ps = std::max(group.max_ps, unit.busy_ps);
    group.bytes += unit.bytes;
  }
  std::vector<std::pair<std::string, Group>> rows(groups.begin(), groups.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.busy_ps * b.second.units > b.second.busy_ps * a.second.units;
  });
  constexpr size_t kRows = 8;
  if (rows.size() > kRows) rows.resize(kRows);
  const uint64_t window = result.launch_end_ps - result.launch_begin_ps;
  trace::Table table({"unit", "count", "busy (mean)", "busy (most)", "moved"});
  for (const auto& [name, group] : rows) {
    if (group.busy_ps == 0) continue;
    table.Add({name, std::to_string(group.units),
               trace::FormatPercent(Share(group.busy_ps, window * group.units)),
               trace::FormatPercent(Share(group.max_ps, window)), trace::FormatBytes(group.bytes)});
  }
  return table.empty() ? "" : "Units during the launches:\n" + table.ToString();
}

// "control rtl, management rtl", or "" if no block is RTL.
std::string RtlBlocks(const model::CardConfig& card) {
  std::vector<std::string> blocks;
  if (card.control.fidelity == "rtl") blocks.emplace_back("control processor");
  if (card.management.fidelity == "rtl") blocks.emplace_back("management controller");
  if (card.pt.fidelity == "rtl") blocks.emplace_back("PT array");
  return fmt::format("{}", fmt::join(blocks, ", "));
}

std::string ReferenceText(const RunResult& result, const RunDigest& reference) {
  const std::string difference = Difference(DigestOf(result), reference);
  const uint64_t launch_ps = result.launch_end_ps - result.launch_begin_ps;
  return fmt::format(
      "  against the timed model: {}; launches {} here, {} there ({:+.2f} %), session {} and {}\n",
      difference.empty()
          ? fmt::format("output and order of {} responses equal", reference.responses.size())
          : "DIFFERENT at " + difference,
      trace::FormatTime(launch_ps), trace::FormatTime(reference.launch_ps),
      100 * (static_cast<double>(launch_ps) /
                 std::max(1.0, static_cast<double>(reference.launch_ps)) -
             1),
      trace::FormatTime(result.sim_ps), trace::FormatTime(reference.sim_ps));
}

std::string VerdictText(const RunResult& result) {
  if (!result.verification) {
    return result.config.workload.functional
               ? "not verified (workload.verify = \"none\")"
               : "not verified: timing only, no data (workload.functional = false)";
  }
  const Verification& v = *result.verification;
  if (v.passed()) {
    const std::string exact =
        fmt::format("verified: {} of {} elements bit-exact", v.elements, v.elements);
    if (v.error_elements == 0) return exact + "; none was compared with float64";
    return fmt::format(
        "{}; against float64 at most {:.3g} off, {:.3g} SEN169 ulp, {:.3g} of the largest ({} "
        "elements)",
        exact, v.max_abs_error, v.max_ulp_error, v.max_relative_error, v.error_elements);
  }
  std::string text = fmt::format("WRONG: {} of {} elements differ", v.mismatches, v.elements);
  for (const Mismatch& mismatch : v.first) {
    text += fmt::format(
        "\n    {}, element {}: got {} ({}), expected {} ({})", mismatch.tensor, mismatch.element,
        HostValue(mismatch.format, mismatch.got), BitsText(mismatch, mismatch.got),
        HostValue(mismatch.format, mismatch.expected), BitsText(mismatch, mismatch.expected));
  }
  return text;
}

}  // namespace

std::string ReportJson(const RunResult& result, const RunDigest* reference) {
  const uint64_t window = result.end_ps - result.begin_ps;
  const uint64_t launch_window = result.launch_end_ps - result.launch_begin_ps;
  Json kernels = Json::array();
  Json corrections = Json::array();
  Json programs = Json::array();
  const auto tasks = TasksOf(result);
  for (const flex::CompletedOperation& operation : result.launches) {
    if (operation.opcode != Opcode::COMPUTE) continue;
    Json entry = OperationJson(operation);
    if (!result.IsKernel(operation)) {
      corrections.push_back(std::move(entry));
      continue;
    }
    if (const std::optional<OperationUsage> usage = UsageOf(result, operation)) {
      entry["roofline"] = ToJson(usage->roofline);
      entry["balance"] = BalanceJson(usage->usage);
      entry["lost_time"] = LostTimeJson(usage->usage);
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
                     {"utilization", Share(unit.busy_ps, window)},
                     {"bytes", unit.bytes},
                     {"requests", unit.requests},
                     {"waited_ns", Ns(unit.waited_ps)},
                     {"launch_busy_ns", Ns(launch.busy_ps)},
                     {"launch_utilization", Share(launch.busy_ps, launch_window)},
                     {"launch_bytes", launch.bytes}});
  }
  Json tensors = Json::object();
  for (const auto& [name, path] : result.tensor_paths) tensors[name] = path;
  Json report = {{"workload", result.description},
                 {"config", Json::parse(ToJson(result.config))},
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
                 {"operations",
                  {{"queued", result.launch_counts.queued},
                   {"completed", result.launch_counts.completed},
                   {"failed", result.launch_counts.failed},
                   {"not_executed", result.launch_counts.not_executed},
                   {"transfers", result.transfers},
                   {"program_loads", result.program_loads}}},
                 {"division",
                  {{"cores_used", result.plan.cores_used},
                   {"split", result.plan.split},
                   {"tile", result.plan.tile},
                   {"lx_bytes_used", result.plan.lx_bytes_used}}},
                 {"roofline",
                  {{"launches", ToJson(launches.roofline)},
                   {"session", ToJson(UsageOfSession(result).roofline)}}},
                 {"balance", BalanceJson(launches.usage)},
                 {"lost_time", LostTimeJson(launches.usage)},
                 {"kernels", kernels},
                 {"corrections", corrections},
                 {"units", units},
                 {"trace",
                  {{"path", result.trace_path},
                   {"digest", fmt::format("{:016x}", result.trace_digest)},
                   {"records", result.trace_records},
                   {"dropped", result.trace_dropped},
                   {"waves", result.wave_paths}}},
                 {"tensors", tensors},
                 {"spyrecode", result.spyrecode_dir}};
  const auto [bytes_read, bytes_written] = DeviceBytes(result);
  report["device_memory"] = {{"bytes_read", bytes_read}, {"bytes_written", bytes_written}};
  report["hazards"] = HazardsJson(result.hazards);
  report["overlap"] = OverlapJson(result);
  report["host"] = HostJson(result);
  report["memory"] = MemoryJson(result);
  if (result.issue) report["issue"] = IssueJson(result);
  report["management"] = {{"log", result.firmware_log}};
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
  if (!result.steps.empty()) report["bundle"] = {{"programs", std::move(programs)}};
  return report.dump(2) + "\n";
}

std::string ReportSummary(const RunResult& result, const std::string& program,
                          const RunDigest* reference) {
  uint64_t kernels = 0, kernel_ps = 0, macs = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    ++kernels;
    kernel_ps += operation.finished_ps - operation.started_ps;
    macs += operation.macs;
  }
  const auto [read, written] = DeviceBytes(result);
  std::string text = fmt::format("{} on card '{}', {} mode, {} of {} cores\n", result.description,
                                 result.config.preset, result.config.mode == "vf" ? "VF" : "PF",
                                 result.plan.cores_used, result.config.card.cores);
  if (const std::string rtl = RtlBlocks(result.config.card); !rtl.empty()) {
    text += "  in RTL: " + rtl + "\n";
  }
  text += "  " + VerdictText(result) + "\n";
  text += fmt::format("  stream operations: {} queued, {} completed ({} kernel launch{})\n",
                      result.launch_counts.queued, result.launch_counts.completed, kernels,
                      kernels == 1 ? "" : "es");
  text += fmt::format("  device time: {} in kernels", trace::FormatTime(kernel_ps));
  const double ns = std::max(1e-3, Ns(kernel_ps));
  if (macs > 0) text += fmt::format(", {:.1f} TMAC/s", static_cast<double>(macs) / ns / 1000);
  text += fmt::format(", {:.1f} GB/s of device memory: {} read, {} written\n",
                      static_cast<double>(read + written) / ns, trace::FormatBytes(read),
                      trace::FormatBytes(written));
  text += fmt::format("  first to last launch operation {}, with transfers {}\n",
                      trace::FormatTime(result.launch_end_ps - result.launch_begin_ps),
                      trace::FormatTime(result.end_ps - result.begin_ps));
  text += IssueText(result);
  if (reference != nullptr) text += ReferenceText(result, *reference);
  text += HazardsText(result.hazards);
  text += UsageText(result);
  text += fmt::format(
      "  wall time: {:.2f} s (inputs {:.2f}, compile {:.2f}, model {:.2f}, verify "
      "{:.2f})\n\n",
      result.wall.total, result.wall.generate, result.wall.compile, result.wall.model,
      result.wall.verify);
  text += UnitTable(result);
  text += fmt::format("\nReport:  {}/report.json\n", result.out_dir);
  if (!result.trace_path.empty()) text += fmt::format("Trace:   {}\n", result.trace_path);
  for (const std::string& path : result.wave_paths) text += fmt::format("Waves:   {}\n", path);
  for (const auto& [name, path] : result.tensor_paths) text += fmt::format("Tensor:  {}\n", path);
  text += fmt::format("Program: {}\n", result.spyrecode_dir);
  if (!result.trace_path.empty()) {
    text += fmt::format(
        "\nNext:\n  {0} trace summary {1}\n  {0} trace export --format perfetto {1}\n  {0} disasm "
        "{2}\n",
        program, result.trace_path, result.spyrecode_dir);
  }
  return text;
}

}  // namespace spyre::cosim
