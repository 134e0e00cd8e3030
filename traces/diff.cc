// SPDX-License-Identifier: Apache-2.0
#include "traces/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/ranges.h"
#include "traces/text.h"
#include "traces/window.h"

namespace spyre::trace {
namespace {

struct Figures {
  const std::string& name;
  uint64_t count, time_ps, bytes;
};
Figures Of(const OperationSummary& op) { return {op.name, op.count, op.total_ps, op.bytes}; }
Figures Of(const GroupSummary& group) {
  return {group.name, group.slices, group.busy_sum_ps, group.bytes};
}
Figures Of(const UnitSummary& unit) { return {unit.name, unit.slices, unit.busy_ps, unit.bytes}; }

uint64_t Distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

template <typename T>
std::vector<Change> Match(const std::vector<T>& a, const std::vector<T>& b) {
  std::map<std::string, Change> changes;
  for (const T& item : a) {
    const Figures figures = Of(item);
    Change& change = changes[figures.name];
    change.count_a = figures.count;
    change.time_a_ps = figures.time_ps;
    change.bytes_a = figures.bytes;
  }
  for (const T& item : b) {
    const Figures figures = Of(item);
    Change& change = changes[figures.name];
    change.count_b = figures.count;
    change.time_b_ps = figures.time_ps;
    change.bytes_b = figures.bytes;
  }
  std::vector<Change> out;
  out.reserve(changes.size());
  for (auto& [name, change] : changes) {
    change.name = name;
    out.push_back(std::move(change));
  }
  StableSort(out, [](const Change& x, const Change& y) {
    return Distance(x.time_a_ps, x.time_b_ps) > Distance(y.time_a_ps, y.time_b_ps);
  });
  return out;
}

std::string SignedTime(uint64_t a, uint64_t b) {
  return a == b ? "0" : (b > a ? "+" : "-") + FormatTime(Distance(a, b));
}

std::string Changes(const char* title, const char* time, const std::vector<Change>& changes) {
  Table table({title, "count A", "count B", std::string(time) + " A", std::string(time) + " B",
               "change", "relative", "bytes A", "bytes B", "relative"});
  for (const Change& change : changes) {
    if (!change.IsChange()) continue;
    table.Add(
        {change.name, fmt::to_string(change.count_a), fmt::to_string(change.count_b),
         FormatTime(change.time_a_ps), FormatTime(change.time_b_ps),
         SignedTime(change.time_a_ps, change.time_b_ps),
         FormatRelative(static_cast<double>(change.time_a_ps),
                        static_cast<double>(change.time_b_ps)),
         FormatBytes(change.bytes_a), FormatBytes(change.bytes_b),
         FormatRelative(static_cast<double>(change.bytes_a), static_cast<double>(change.bytes_b))});
  }
  const auto same = std::count_if(changes.begin(), changes.end(),
                                  [](const Change& change) { return !change.IsChange(); });
  std::string out = "\n";
  if (!table.empty()) out += table.ToString("");
  if (same > 0) out += fmt::format("{} more with the same figures in both ({})\n", same, title);
  return out;
}

// What most readers want to know: how much longer the launches of B take, and where most of that
// is.
std::string Answer(const Diff& diff) {
  if (diff.launch_a_ps == 0 || diff.launch_b_ps == 0) return "";
  const uint64_t distance = Distance(diff.launch_a_ps, diff.launch_b_ps);
  const bool longer = diff.launch_b_ps > diff.launch_a_ps;
  std::string text =
      distance == 0
          ? fmt::format("B's launches take as long as A's, {}", FormatTime(diff.launch_a_ps))
          : fmt::format("B's launches take {:.1f} % {}: {}, A's {}",
                        100 * static_cast<double>(distance) / static_cast<double>(diff.launch_a_ps),
                        longer ? "longer" : "less", FormatTime(diff.launch_b_ps),
                        FormatTime(diff.launch_a_ps));
  // Sorted by their change; transfers before the launches may have changed too.
  const auto most = FindIf(diff.operations, [&](const Change& change) {
    return StartsWith(change.name, "COMPUTE") && change.time_a_ps != change.time_b_ps &&
           (change.time_b_ps > change.time_a_ps) == longer;
  });
  if (distance > 0 && most != diff.operations.end()) {
    text += fmt::format("; most of it in {} ({})", most->name,
                        SignedTime(most->time_a_ps, most->time_b_ps));
  }
  return text + "\n";
}

std::string WorkloadOf(const Trace& trace) {
  const auto metadata = SortedJsonIfAny(trace.metadata);
  if (!metadata.is_object()) return "";
  const auto workload = metadata.find("workload");
  return workload != metadata.end() && workload->is_string()
             ? Printable(workload->get<std::string>())
             : "";
}

// Figures of different work say little beside each other.
std::string OtherWork(const Diff& diff) {
  if (diff.workload_a == diff.workload_b || diff.workload_a.empty() || diff.workload_b.empty())
    return "";
  return fmt::format("A and B ran different workloads: A {}; B {}\n", diff.workload_a,
                     diff.workload_b);
}

nlohmann::json ChangesJson(const std::vector<Change>& changes) {
  auto out = nlohmann::json::array();
  for (const Change& change : changes) {
    out.push_back({{"name", change.name},
                   {"count_a", change.count_a},
                   {"count_b", change.count_b},
                   {"time_a_ns", static_cast<double>(change.time_a_ps) / 1e3},
                   {"time_b_ns", static_cast<double>(change.time_b_ps) / 1e3},
                   {"bytes_a", change.bytes_a},
                   {"bytes_b", change.bytes_b}});
  }
  return out;
}

}  // namespace

Diff Compare(const Trace& trace_a, const Trace& trace_b) {
  const uint64_t from_ps = std::max(trace_a.whole_from_ps, trace_b.whole_from_ps);
  const Summary a = Summarize(trace_a, from_ps);
  const Summary b = Summarize(trace_b, from_ps);
  Diff diff;
  diff.is_identical = a.digest == b.digest;
  diff.workload_a = WorkloadOf(trace_a);
  diff.workload_b = WorkloadOf(trace_b);
  diff.run_a_ps = a.run_ps();
  diff.run_b_ps = b.run_ps();
  const Interval launch_a = LaunchWindow(trace_a), launch_b = LaunchWindow(trace_b);
  diff.launch_a_ps = launch_a.end_ps - launch_a.start_ps;
  diff.launch_b_ps = launch_b.end_ps - launch_b.start_ps;
  diff.digest_a = a.digest;
  diff.digest_b = b.digest;
  diff.dropped_a = a.dropped;
  diff.dropped_b = b.dropped;
  diff.is_interrupted_a = a.is_interrupted;
  diff.is_interrupted_b = b.is_interrupted;
  diff.from_ps = from_ps;
  diff.operations = Match(a.operations, b.operations);
  diff.groups = Match(a.groups, b.groups);
  diff.units = Match(a.units, b.units);
  return diff;
}

std::string ToText(const Diff& diff, bool per_core) {
  const bool is_part = diff.dropped_a > 0 || diff.dropped_b > 0;
  std::string interrupted;
  if (diff.is_interrupted_a) interrupted += fmt::format("A: {}", kInterrupted);
  if (diff.is_interrupted_b) interrupted += fmt::format("B: {}", kInterrupted);
  if (diff.is_identical) {
    return interrupted + fmt::format("identical: both runs have digest {:016x}", diff.digest_a) +
           (is_part ? "\n" : fmt::format(" and took {}\n", FormatTime(diff.run_a_ps)));
  }
  std::string out =
      interrupted + OtherWork(diff) + Answer(diff) +
      fmt::format(
          "Simulated time: A {}, B {}, change {} ({})\n", FormatTime(diff.run_a_ps),
          FormatTime(diff.run_b_ps), SignedTime(diff.run_a_ps, diff.run_b_ps),
          FormatRelative(static_cast<double>(diff.run_a_ps), static_cast<double>(diff.run_b_ps)));
  if (is_part) {
    out += fmt::format(
        "Not whole runs: the oldest records were dropped, A {}, B {}. All figures are of the time "
        "from "
        "{} on, where neither misses any.\n",
        diff.dropped_a, diff.dropped_b, FormatTime(diff.from_ps));
  }
  out += Changes("control block", "time", diff.operations);
  out += Changes("unit", "busy", per_core ? diff.units : diff.groups);
  return out;
}

nlohmann::json ToJson(const Diff& diff) {
  return {{"identical", diff.is_identical},
          {"workload_a", diff.workload_a},
          {"workload_b", diff.workload_b},
          {"digest_a", fmt::format("{:016x}", diff.digest_a)},
          {"digest_b", fmt::format("{:016x}", diff.digest_b)},
          {"dropped_a", diff.dropped_a},
          {"dropped_b", diff.dropped_b},
          {"from_ns", static_cast<double>(diff.from_ps) / 1e3},
          {"interrupted_a", diff.is_interrupted_a},
          {"interrupted_b", diff.is_interrupted_b},
          {"sim_time_a_ns", static_cast<double>(diff.run_a_ps) / 1e3},
          {"sim_time_b_ns", static_cast<double>(diff.run_b_ps) / 1e3},
          {"launch_a_ns", static_cast<double>(diff.launch_a_ps) / 1e3},
          {"launch_b_ns", static_cast<double>(diff.launch_b_ps) / 1e3},
          {"control_blocks", ChangesJson(diff.operations)},
          {"groups", ChangesJson(diff.groups)},
          {"units", ChangesJson(diff.units)}};
}

}  // namespace spyre::trace
