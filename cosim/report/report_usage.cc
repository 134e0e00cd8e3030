// SPDX-License-Identifier: Apache-2.0
#include "cosim/report/report_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/joined.h"
#include "base/ranges.h"
#include "cosim/report/report_bounds.h"
#include "cosim/report/report_tasks.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kKernelRows = 8;
constexpr size_t kStepRows = 32;
constexpr size_t kLostCauses = 5;  // named in the summary

double Share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

double LostShare(const LostTime& time, const Usage& usage) {
  return Share(static_cast<double>(time.ps),
               static_cast<double>(time.units) * static_cast<double>(usage.span_ps));
}

uint64_t DispatchPs(const RunResult& result) {
  return result.config.card.control.dispatch_ns * 1000;
}

// Every core that ran anything of the launch, without the service core: that only prepares.
CoreSet CoresOf(const RunResult& result) {
  CoreSet cores;
  for (const auto& [correlation, kernel] : result.kernel_usages) cores.mask |= kernel.cores.mask;
  return cores;
}

Roofline RooflineOf(const RunResult& result, const Usage& usage, uint64_t macs, uint64_t bytes) {
  return RooflineOf(PeaksOf(result.config.card, usage.cores), usage, macs, bytes);
}

uint64_t Macs(const RunResult& result) {
  uint64_t macs = 0;
  for (const flex::CompletedOperation& operation : result.launches) macs += operation.macs;
  return macs;
}

Json BalanceJson(const Balance& balance, const char* unit, double scale) {
  const std::optional<double> imbalance = balance.Imbalance();
  return {{"units", balance.units},
          {fmt::format("min_{}", unit), static_cast<double>(balance.min) / scale},
          {fmt::format("mean_{}", unit), balance.Mean() / scale},
          {fmt::format("max_{}", unit), static_cast<double>(balance.max) / scale},
          {"imbalance", imbalance ? Json(*imbalance) : Json(nullptr)}};
}

std::string Imbalance(const Balance& balance) {
  return fmt::format("x{:.2f}", balance.Imbalance().value_or(1));
}

std::string BusyText(const char* unit, const Balance& balance, uint64_t span_ps) {
  const auto percent = [span_ps](double ps) {
    return 100 * Share(ps, static_cast<double>(span_ps));
  };
  return fmt::format("{} {:.1f} / {:.1f} / {:.1f} % ({})", unit,
                     percent(static_cast<double>(balance.min)), percent(balance.Mean()),
                     percent(static_cast<double>(balance.max)), Imbalance(balance));
}

std::string BalanceText(const Usage& usage) {
  std::vector<std::string> cores;
  for (const auto& [name, balance] : {std::pair<const char*, const Balance&>{"load", usage.load_ps},
                                      {"pt", usage.pt_ps},
                                      {"vector", usage.vector_ps}}) {
    if (balance.sum > 0) cores.push_back(BusyText(name, balance, usage.span_ps));
  }
  std::string text;
  if (!cores.empty()) {
    text += fmt::format("  cores, busy least / mean / most (x most by mean): {}\n",
                        Joined(cores, ", "));
  }
  const Balance& channels = usage.channel_bytes;
  return text + fmt::format("  memory channels, least / mean / most: {} / {} / {} ({})\n",
                            trace::FormatBytes(channels.min),
                            trace::FormatBytes(static_cast<uint64_t>(channels.Mean())),
                            trace::FormatBytes(channels.max), Imbalance(channels));
}

std::string LostText(const Usage& usage) {
  std::vector<const LostTime*> causes;
  for (const LostTime& time : usage.lost) {
    if (time.ps > 0) causes.push_back(&time);
  }
  StableSort(causes, [&](const LostTime* a, const LostTime* b) {
    return LostShare(*a, usage) > LostShare(*b, usage);
  });
  if (causes.size() > kLostCauses) causes.resize(kLostCauses);
  std::vector<std::string> parts;
  for (const LostTime* time : causes) {
    std::string cause = time->cause;
    std::replace(cause.begin(), cause.end(), '_', ' ');
    parts.push_back(fmt::format("{} {}", cause, trace::FormatPercent(LostShare(*time, usage))));
  }
  return parts.empty()
             ? std::string()
             : fmt::format("  time lost, share of the units' time: {}\n", Joined(parts, ", "));
}

std::string LoadsText(const LoadTimes& loads) {
  std::vector<std::pair<uint64_t, const char*>> parts = {{loads.memory_ps, "memory"},
                                                         {loads.ring_ps, "the ring"},
                                                         {loads.partners_ps, "partners"},
                                                         {loads.lx_ps, "the LX port"}};
  if (loads.TotalPs() == 0) return "";
  StableSort(parts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> texts;
  for (const auto& [ps, name] : parts) {
    const double share = Share(static_cast<double>(ps), static_cast<double>(loads.TotalPs()));
    if (ps > 0) texts.push_back(fmt::format("{} {}", name, trace::FormatPercent(share)));
  }
  return fmt::format("  loads, the time of a burst: {}\n", Joined(texts, ", "));
}

std::string BoundText(const Roofline& roofline) {
  const double pcie = std::max(roofline.pcie_upstream_share, roofline.pcie_downstream_share);
  const std::string path = PathSentence(roofline.bound);
  std::string text = fmt::format(
      "{}{}PT {} of {:.2f} TMAC/s, vector units {}, memory {} of {:.1f} GB/s, "
      "PCIe {} of {:.1f} GB/s",
      path, path.empty() ? "" : "; busy: ", trace::FormatPercent(roofline.compute_share),
      roofline.peaks.macs_per_s / 1e12, trace::FormatPercent(roofline.vector_share),
      trace::FormatPercent(roofline.memory_share), roofline.peaks.memory_bytes_per_s / 1e9,
      trace::FormatPercent(pcie), roofline.peaks.pcie_bytes_per_s / 1e9);
  if (roofline.mac_per_byte.value_or(0) > 0) {
    text += fmt::format("; {:.1f} MAC/byte (ridge {:.1f})", *roofline.mac_per_byte,
                        roofline.peaks.RidgeMacPerByte());
  }
  return text;
}

// The number that `trace summary --kernel` gives to the kernel.
size_t KernelNumber(const RunResult& result, const flex::CompletedOperation& operation) {
  const auto found = result.kernel_numbers.find(operation.correlation);
  return found == result.kernel_numbers.end() ? 0 : found->second;
}

// One row per kernel, where there are several.
std::string KernelTable(const RunResult& result, size_t width) {
  trace::Table table(
      {"kernel", "time", "TMAC/s", "of peak", "GB/s", "of peak", "MAC/byte", "bound by"});
  size_t kernels = 0;
  const auto tasks = TasksOf(result);
  for (const flex::CompletedOperation& operation : result.launches) {
    if (!result.IsKernel(operation)) continue;
    const std::optional<OperationUsage> usage = UsageOf(result, operation);
    if (!usage || kernels++ >= kKernelRows) continue;
    const Roofline& r = usage->roofline;
    const auto task = tasks.find(operation.correlation);
    table.Add({task == tasks.end()
                   ? fmt::format("{} {}", operation.name, KernelNumber(result, operation))
                   : fmt::format("{} {} {}, stream {}", operation.name,
                                 KernelNumber(result, operation), task->second, operation.stream),
               trace::FormatTime(usage->usage.span_ps), fmt::format("{:.2f}", r.macs_per_s / 1e12),
               trace::FormatPercent(r.compute_share),
               fmt::format("{:.1f}", r.memory_bytes_per_s / 1e9),
               trace::FormatPercent(r.memory_share),
               fmt::format("{:.1f}", r.mac_per_byte.value_or(0)), r.bound.resource});
  }
  if (kernels < 2) return "";
  std::string text = "Kernels:\n" + table.ToString("  ", width);
  if (kernels > kKernelRows) {
    text += fmt::format("  ... {} more in report.json\n", kernels - kKernelRows);
  }
  return text;
}

// One row per step of the first kernel that has any.
std::string StepTable(const RunResult& result, size_t width) {
  for (const flex::CompletedOperation& operation : result.launches) {
    const auto kernel = result.kernel_usages.find(operation.correlation);
    if (kernel == result.kernel_usages.end() || kernel->second.steps.empty()) continue;
    trace::Table table({"step", "executions", "time", "of kernel", "TMAC/s", "GB/s", "bound by"});
    const auto device_ps = static_cast<double>(kernel->second.usage.span_ps);
    const auto& steps = kernel->second.steps;
    for (size_t i = 0; i < std::min(steps.size(), kStepRows); ++i) {
      const StepUsage& step = steps[i];
      const Roofline r =
          RooflineOf(result, step.usage, step.macs, step.bytes_read + step.bytes_written);
      table.Add({step.name, std::to_string(step.executions), trace::FormatTime(step.usage.span_ps),
                 trace::FormatPercent(Share(static_cast<double>(step.usage.span_ps), device_ps)),
                 fmt::format("{:.2f}", r.macs_per_s / 1e12),
                 fmt::format("{:.1f}", r.memory_bytes_per_s / 1e9), r.bound.resource});
    }
    std::string text = "Steps of " + operation.name + ":\n" + table.ToString("  ", width);
    if (steps.size() > kStepRows)
      text += fmt::format("  ... {} more in report.json\n", steps.size() - kStepRows);
    return text;
  }
  return "";
}

}  // namespace

std::optional<OperationUsage> UsageOf(const RunResult& result,
                                      const flex::CompletedOperation& operation) {
  const auto found = result.kernel_usages.find(operation.correlation);
  if (found == result.kernel_usages.end()) return std::nullopt;
  Usage usage = found->second.usage;
  usage.AddLost("launch", found->second.launch_ps);
  usage.AddLost("dispatch", DispatchPs(result));
  const Roofline roofline = RooflineOf(
      result, usage, operation.macs, operation.device_bytes_read + operation.device_bytes_written);
  return OperationUsage{std::move(usage), roofline};
}

OperationUsage UsageOfLaunches(const RunResult& result) {
  uint64_t span_ps = 0, launch_ps = 0, bytes = 0, operations = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    const auto kernel = result.kernel_usages.find(operation.correlation);
    if (kernel == result.kernel_usages.end()) continue;
    ++operations;
    span_ps += kernel->second.usage.span_ps;
    launch_ps += kernel->second.launch_ps;
    bytes += operation.device_bytes_read + operation.device_bytes_written;
  }
  // Copies are among the launches of many kernels, so that their span is the whole window.
  if (result.tasks) span_ps = result.LaunchPs();
  // The units of a card worked for other members, and for a collective, in between.
  if (result.launch_units_ps > 0) span_ps = result.launch_units_ps;
  Usage usage = SummarizeUsage(result.launch_units, CoresOf(result), span_ps);
  usage.path = result.launch_path;
  usage.AddLost("launch", launch_ps);
  usage.AddLost("dispatch", operations * DispatchPs(result));
  const Roofline roofline = RooflineOf(result, usage, Macs(result), bytes);
  return {std::move(usage), roofline};
}

OperationUsage UsageOfSession(const RunResult& result) {
  Usage usage = SummarizeUsage(result.units, CoresOf(result), result.end_ps - result.begin_ps);
  usage.path = result.path;
  const Roofline roofline = RooflineOf(result, usage, Macs(result), usage.channel_bytes.sum);
  return {std::move(usage), roofline};
}

Json ToJson(const Peaks& peaks) {
  return {{"macs_per_s", peaks.macs_per_s},
          {"memory_bytes_per_s", peaks.memory_bytes_per_s},
          {"pcie_bytes_per_s", peaks.pcie_bytes_per_s},
          {"ridge_mac_per_byte", peaks.RidgeMacPerByte()}};
}

Json ToJson(const Roofline& roofline) {
  return {{"bound_by", roofline.bound.resource},
          {"macs_per_s", roofline.macs_per_s},
          {"memory_bytes_per_s", roofline.memory_bytes_per_s},
          {"pcie_upstream_bytes_per_s", roofline.pcie_upstream_bytes_per_s},
          {"pcie_downstream_bytes_per_s", roofline.pcie_downstream_bytes_per_s},
          {"mac_per_byte", roofline.mac_per_byte ? Json(*roofline.mac_per_byte) : Json(nullptr)},
          {"peak", ToJson(roofline.peaks)},
          {"share_of_peak",
           {{"compute", roofline.compute_share},
            {"vector", roofline.vector_share},
            {"memory", roofline.memory_share},
            {"pcie_upstream", roofline.pcie_upstream_share},
            {"pcie_downstream", roofline.pcie_downstream_share}}}};
}

Json BalanceJson(const Usage& usage) {
  return {{"load", BalanceJson(usage.load_ps, "busy_ns", 1000)},
          {"pt", BalanceJson(usage.pt_ps, "busy_ns", 1000)},
          {"vector", BalanceJson(usage.vector_ps, "busy_ns", 1000)},
          {"memory_channels", BalanceJson(usage.channel_bytes, "bytes", 1)}};
}

Json LostTimeJson(const Usage& usage) {
  Json out = Json::object();
  for (const LostTime& time : usage.lost) {
    out[time.cause] = {{"ns", static_cast<double>(time.ps) / 1000},
                       {"units", time.units},
                       {"share", LostShare(time, usage)}};
  }
  return out;
}

Json LoadsJson(const Usage& usage) {
  const auto total = static_cast<double>(usage.loads.TotalPs());
  if (total == 0) return nullptr;
  return {{"burst_ns", total / 1000},
          {"memory", static_cast<double>(usage.loads.memory_ps) / total},
          {"ring", static_cast<double>(usage.loads.ring_ps) / total},
          {"partners", static_cast<double>(usage.loads.partners_ps) / total},
          {"lx", static_cast<double>(usage.loads.lx_ps) / total}};
}

Json StepsJson(const RunResult& result, const flex::CompletedOperation& operation) {
  const auto kernel = result.kernel_usages.find(operation.correlation);
  if (kernel == result.kernel_usages.end() || kernel->second.steps.empty()) return nullptr;
  Json steps = Json::array();
  for (const StepUsage& step : kernel->second.steps) {
    const Roofline roofline =
        RooflineOf(result, step.usage, step.macs, step.bytes_read + step.bytes_written);
    steps.push_back({{"step", step.step},
                     {"name", step.name},
                     {"executions", step.executions},
                     {"device_ns", static_cast<double>(step.usage.span_ps) / 1000},
                     {"macs", step.macs},
                     {"device_bytes_read", step.bytes_read},
                     {"device_bytes_written", step.bytes_written},
                     {"roofline", ToJson(roofline)},
                     {"bounds", BoundsJson(step.usage)},
                     {"balance", BalanceJson(step.usage)},
                     {"lost_time", LostTimeJson(step.usage)},
                     {"loads", LoadsJson(step.usage)}});
  }
  return steps;
}

Json StepExecutionsJson(const RunResult& result, const flex::CompletedOperation& operation) {
  const auto kernel = result.kernel_usages.find(operation.correlation);
  if (kernel == result.kernel_usages.end() || kernel->second.executions.empty()) return nullptr;
  Json executions = Json::array();
  for (const StepExecution& execution : kernel->second.executions) {
    executions.push_back(
        {{"step", execution.step},
         {"iteration", execution.iteration},
         {"start_ns", static_cast<double>(execution.start_ps) / 1000},
         {"device_ns", static_cast<double>(execution.end_ps - execution.start_ps) / 1000},
         {"macs", execution.macs},
         {"device_bytes_read", execution.bytes_read},
         {"device_bytes_written", execution.bytes_written}});
  }
  return executions;
}

std::string UsageText(const RunResult& result) {
  const OperationUsage launches = UsageOfLaunches(result);
  if (launches.usage.span_ps == 0) return "";
  std::string text = WindowText(result);
  text += "  launches: " + BoundText(launches.roofline) + "\n";
  text += "  run: " + BoundText(UsageOfSession(result).roofline) + "\n";
  text += BalanceText(launches.usage);
  return text + LoadsText(launches.usage.loads) + LostText(launches.usage);
}

std::string KernelTables(const RunResult& result, size_t width) {
  if (UsageOfLaunches(result).usage.span_ps == 0) return "";
  return KernelTable(result, width) + (result.tasks ? "" : StepTable(result, width));
}

std::string BoundOfLaunches(const RunResult& result) {
  const OperationUsage launches = UsageOfLaunches(result);
  if (launches.usage.span_ps == 0) return "";
  return BoundSentence(launches.roofline.bound);
}

}  // namespace spyre::cosim
