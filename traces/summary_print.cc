// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/time_units.h"
#include "traces/summary.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

constexpr size_t kBusiestUnits = 3;  // named per kernel

std::string Rate(uint64_t bytes, uint64_t time_ps) {
  return bytes == 0 ? "-" : fmt::format("{:.2f}", GigabytesPerSecond(bytes, time_ps));
}

std::string MeanTime(double ps) {
  return FormatTime(ps >= 1.8e19 ? UINT64_MAX : static_cast<uint64_t>(ps));
}

// The scalars of the metadata: "card = spyre   config = 1f03".
std::string MetadataLine(const std::string& metadata) {
  std::string line;
  const auto object = SortedJsonOf(metadata);
  for (const auto& [key, value] : object.items()) {
    if (value.is_structured()) continue;
    line += fmt::format("{}{} = {}", line.empty() ? "" : "   ", Printable(key),
                        value.is_string() ? Printable(value.get<std::string>()) : DumpJson(value));
  }
  return line.empty() ? line : line + '\n';
}

// Where the time of the launches went.
std::string WindowLines(const RunResults& results) {
  std::string out = fmt::format("Launches {} from {}: window = card {} + host {} + idle {}\n",
                                FormatTime(results.launch_end_ps - results.launch_begin_ps),
                                FormatTime(results.launch_begin_ps), FormatTime(results.card_ps),
                                FormatTime(results.host_ps), FormatTime(results.idle_ps));
  const Bound bound = BoundOf(results.path);
  if (bound.total_ps == 0) return out;
  return out + fmt::format("Bound by {}: {} of the launches' critical path\n",
                           ResourceText(bound.resource), FormatPercent(bound.share()));
}

std::string Busiest(const OperationSummary& operation) {
  std::string text;
  for (size_t i = 0; i < std::min(operation.units.size(), kBusiestUnits); ++i) {
    const GroupShare& share = operation.units[i];
    text +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", share.group, FormatPercent(share.utilization));
  }
  return text;
}

Table TableOfOperations(const char* what) {
  return Table(
      {what, "busiest units meanwhile", "count", "total", "min", "mean", "max", "bytes", "GB/s"},
      2);
}

void AddOperation(Table& table, const OperationSummary& op) {
  table.Add({op.name, Busiest(op), fmt::to_string(op.count), FormatTime(op.total_ps),
             FormatTime(op.min_ps), MeanTime(op.MeanPs()), FormatTime(op.max_ps),
             FormatBytes(op.bytes), Rate(op.bytes, op.total_ps)});
}

std::string OperationTable(const Summary& summary, bool kernels) {
  Table table = TableOfOperations(kernels ? "kernel" : "control block");
  for (const OperationSummary& op : summary.operations) {
    if (op.is_kernel == kernels) AddOperation(table, op);
  }
  if (table.empty()) return "";
  return fmt::format("\n{}\n{}", kernels ? "Kernels" : "Other control blocks", table.ToString());
}

std::string StepTable(const Summary& summary) {
  Table table = TableOfOperations("step");
  for (const OperationSummary& step : summary.steps) AddOperation(table, step);
  return table.empty() ? "" : "\nSteps of the kernels, in their order\n" + table.ToString();
}

std::string UnitTable(const Summary& summary, bool per_core) {
  const auto run = static_cast<double>(summary.run_ps());
  Table table(
      {"unit", "n", "busy", "min", "max", "of run", "of window", "slices", "bytes", "GB/s"});
  for (const GroupSummary& group : summary.groups) {
    const double busy = group.BusyMeanPs();
    const bool many = group.units.size() > 1;
    table.Add({group.name, fmt::to_string(group.units.size()), MeanTime(busy),
               many ? FormatTime(group.busy_min_ps) : "", many ? FormatTime(group.busy_max_ps) : "",
               FormatPercent(Ratio(busy, run)),
               FormatPercent(Ratio(busy, static_cast<double>(group.last_ps - group.first_ps))),
               fmt::to_string(group.slices), FormatBytes(group.bytes),
               Rate(group.bytes, group.busy_any_ps)});
    if (!per_core || !many) continue;
    for (const size_t index : group.units) {
      const UnitSummary& unit = summary.units[index];
      const auto unit_busy = static_cast<double>(unit.busy_ps);
      const auto window = static_cast<double>(unit.last_ps - unit.first_ps);
      table.Add({"  " + unit.name, "", FormatTime(unit.busy_ps), "", "",
                 FormatPercent(Ratio(unit_busy, run)), FormatPercent(Ratio(unit_busy, window)),
                 fmt::to_string(unit.slices), FormatBytes(unit.bytes),
                 Rate(unit.bytes, unit.busy_ps)});
    }
  }
  if (table.empty()) return "";
  return "\nUnits (busy: mean of n; bytes: all n together; GB/s: while any is busy)\n" +
         table.ToString();
}

std::string StreamTables(const Summary& summary, size_t max_operations) {
  std::string out;
  for (const StreamSummary& stream : summary.streams) {
    out += fmt::format("\n{}: {} operations, busy {}, gaps {} in total, largest {}\n",
                       Printable(stream.name), stream.operations.size(), FormatTime(stream.busy_ps),
                       FormatTime(stream.gap_total_ps), FormatTime(stream.gap_largest_ps));
    Table table({"operation", "start", "time", "gap before", "bytes"});
    const size_t shown = std::min(stream.operations.size(), max_operations);
    for (size_t i = 0; i < shown; ++i) {
      const StreamOperation& op = stream.operations[i];
      table.Add({op.name, FormatTime(op.start_ps), FormatTime(op.end_ps - op.start_ps),
                 FormatTime(op.gap_ps), FormatBytes(op.bytes)});
    }
    if (!table.empty()) out += table.ToString();
    if (shown < stream.operations.size()) {
      out += fmt::format("  ... {} more (--operations N shows N of them)\n",
                         stream.operations.size() - shown);
    }
  }
  return out;
}

nlohmann::json OperationJson(const OperationSummary& op) {
  nlohmann::json units = nlohmann::json::object();
  for (const GroupShare& share : op.units) units[share.group] = share.utilization;
  return {{"name", op.name},
          {"count", op.count},
          {"total_ns", Nanoseconds(op.total_ps)},
          {"min_ns", Nanoseconds(op.min_ps)},
          {"mean_ns", Nanoseconds(op.MeanPs())},
          {"max_ns", Nanoseconds(op.max_ps)},
          {"bytes", op.bytes},
          {"gb_per_s", GigabytesPerSecond(op.bytes, op.total_ps)},
          {"unit_utilization", units}};
}

nlohmann::json StreamJson(const StreamSummary& stream) {
  auto operations = nlohmann::json::array();
  for (const StreamOperation& op : stream.operations) {
    operations.push_back({{"name", op.name},
                          {"start_ns", Nanoseconds(op.start_ps)},
                          {"end_ns", Nanoseconds(op.end_ps)},
                          {"gap_ns", Nanoseconds(op.gap_ps)},
                          {"flow", op.flow},
                          {"bytes", op.bytes}});
  }
  return {{"name", stream.name},
          {"operations", operations},
          {"busy_ns", Nanoseconds(stream.busy_ps)},
          {"gap_total_ns", Nanoseconds(stream.gap_total_ps)},
          {"gap_largest_ns", Nanoseconds(stream.gap_largest_ps)}};
}

}  // namespace

std::string ToText(const Summary& summary, const SummaryOptions& options) {
  std::string out =
      fmt::format("Simulated time {}   {} records   {} dropped   digest {:016x}\n",
                  FormatTime(summary.run_ps()), summary.records, summary.dropped, summary.digest);
  if (summary.dropped > 0) {
    out += fmt::format(
        "The oldest {} records were dropped: all figures are of the part from {} on, where none is "
        "missing.\n",
        summary.dropped, FormatTime(summary.begin_ps));
    out += "A larger trace.capacity or fewer trace.categories keep the whole run.\n";
  } else if (summary.begin_ps > 0) {
    out += fmt::format("All figures are of the part from {} on.\n", FormatTime(summary.begin_ps));
  }
  if (summary.is_interrupted) out += kInterrupted;
  out += MetadataLine(summary.metadata);
  if (summary.results.known()) out += WindowLines(summary.results);
  if (summary.records == 0) return out + "No records: was every category masked?\n";
  out += OperationTable(summary, true);
  out += StepTable(summary);
  out += OperationTable(summary, false);
  out += UnitTable(summary, options.per_core);
  out += StreamTables(summary, options.stream_operations);
  return out;
}

nlohmann::json ToJson(const Summary& summary) {
  const auto run = static_cast<double>(summary.run_ps());
  nlohmann::json out = {{"sim_time_ns", Nanoseconds(summary.run_ps())},
                        {"begin_ns", Nanoseconds(summary.begin_ps)},
                        {"end_ns", Nanoseconds(summary.end_ps)},
                        {"records", summary.records},
                        {"dropped", summary.dropped},
                        {"interrupted", summary.is_interrupted},
                        {"digest", fmt::format("{:016x}", summary.digest)},
                        {"metadata", SortedJsonOf(summary.metadata)}};
  if (const RunResults& results = summary.results; results.known()) {
    out["launches"] = {{"begin_ns", Nanoseconds(results.launch_begin_ps)},
                       {"end_ns", Nanoseconds(results.launch_end_ps)},
                       {"card_ns", Nanoseconds(results.card_ps)},
                       {"host_ns", Nanoseconds(results.host_ps)},
                       {"idle_ns", Nanoseconds(results.idle_ps)},
                       {"bounds", ToJson(results.path)}};
  }
  for (const char* key : {"kernels", "steps", "control_blocks", "streams", "units", "groups"}) {
    out[key] = nlohmann::json::array();
  }
  for (const OperationSummary& op : summary.operations) {
    out[op.is_kernel ? "kernels" : "control_blocks"].push_back(OperationJson(op));
  }
  for (const OperationSummary& step : summary.steps) out["steps"].push_back(OperationJson(step));
  for (const StreamSummary& stream : summary.streams) out["streams"].push_back(StreamJson(stream));
  for (const UnitSummary& unit : summary.units) {
    const auto busy = static_cast<double>(unit.busy_ps);
    const auto window = static_cast<double>(unit.last_ps - unit.first_ps);
    out["units"].push_back({{"name", unit.name},
                            {"busy_ns", Nanoseconds(unit.busy_ps)},
                            {"utilization", Ratio(busy, run)},
                            {"utilization_active", Ratio(busy, window)},
                            {"slices", unit.slices},
                            {"bytes", unit.bytes},
                            {"gb_per_s", GigabytesPerSecond(unit.bytes, unit.busy_ps)}});
  }
  for (const GroupSummary& group : summary.groups) {
    const auto window = static_cast<double>(group.last_ps - group.first_ps);
    out["groups"].push_back({{"name", group.name},
                             {"units", group.units.size()},
                             {"busy_mean_ns", Nanoseconds(group.BusyMeanPs())},
                             {"busy_min_ns", Nanoseconds(group.busy_min_ps)},
                             {"busy_max_ns", Nanoseconds(group.busy_max_ps)},
                             {"utilization", Ratio(group.BusyMeanPs(), run)},
                             {"utilization_active", Ratio(group.BusyMeanPs(), window)},
                             {"slices", group.slices},
                             {"bytes", group.bytes},
                             {"gb_per_s", GigabytesPerSecond(group.bytes, group.busy_any_ps)}});
  }
  return out;
}

}  // namespace spyre::trace
