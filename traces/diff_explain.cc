// SPDX-License-Identifier: Apache-2.0
#include "traces/diff_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/ranges.h"
#include "traces/critical_path.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

constexpr size_t kKernelsShown = 12;

// Every value of a JSON document by its path; lists as they are.
void Flatten(const nlohmann::json& value, const std::string& path,
             std::map<std::string, std::string>& out) {
  if (!value.is_object()) {
    out[path] = value.is_string() ? value.get<std::string>() : DumpJson(value);
    return;
  }
  for (const auto& [key, inner] : value.items())
    Flatten(inner, path.empty() ? key : fmt::format("{}.{}", path, key), out);
}

std::vector<KeyChange> KeyChanges(const Trace& a, const Trace& b) {
  std::map<std::string, std::string> in_a, in_b;
  Flatten(SortedJsonOf(a.metadata), "", in_a);
  Flatten(SortedJsonOf(b.metadata), "", in_b);
  std::map<std::string, KeyChange> changes;
  for (const auto& [key, value] : in_a) changes[key] = {key, value, ""};
  for (const auto& [key, value] : in_b) {
    KeyChange& change = changes[key];
    change.key = key;
    change.b = value;
  }
  std::vector<KeyChange> out;
  for (auto& [key, change] : changes) {
    if (change.a != change.b) out.push_back(std::move(change));
  }
  return out;
}

std::string BoundIn(const RunResults& results, uint64_t flow) {
  const auto path = results.kernels.find(flow);
  return path == results.kernels.end() ? "none" : BoundOf(path->second).resource;
}

uint64_t Apart(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

std::string SignedTimeOf(uint64_t a, uint64_t b) {
  return a == b ? "0" : (b > a ? "+" : "-") + FormatTime(Apart(a, b));
}

std::string PercentOf(uint64_t a, uint64_t b, uint64_t whole) {
  if (whole == 0) return "-";
  const double change = static_cast<double>(b) - static_cast<double>(a);
  return fmt::format("{:+.1f} %", 100 * change / static_cast<double>(whole));
}

bool IsWithin(uint64_t a, uint64_t b, double tolerance) {
  return static_cast<double>(Apart(a, b)) <= tolerance * static_cast<double>(a);
}

std::string KeysText(const std::vector<KeyChange>& keys) {
  if (keys.empty()) return "";
  Table table({"configured", "A", "B"}, 3);
  for (const KeyChange& key : keys) {
    table.Add({Printable(key.key), key.a.empty() ? "-" : Printable(key.a),
               key.b.empty() ? "-" : Printable(key.b)});
  }
  return "\n" + table.ToString("");
}

std::string WindowText(const RunResults& a, const RunResults& b) {
  if (!a.known() || !b.known()) return "";
  const uint64_t window_a = a.launch_end_ps - a.launch_begin_ps;
  const uint64_t window_b = b.launch_end_ps - b.launch_begin_ps;
  std::string text = fmt::format("\nLaunches: A {}, B {}, change {} ({})\n", FormatTime(window_a),
                                 FormatTime(window_b), SignedTimeOf(window_a, window_b),
                                 PercentOf(window_a, window_b, window_a));
  Table table({"spent on", "resource", "A", "B", "change", "of launches"}, 2);
  std::vector<size_t> order;
  for (size_t i = 0; i < kCauses; ++i) {
    if (a.path[i] != b.path[i]) order.push_back(i);
  }
  StableSort(order, [&](size_t x, size_t y) {
    return Apart(a.path[x], b.path[x]) > Apart(a.path[y], b.path[y]);
  });
  for (const size_t i : order) {
    const auto cause = static_cast<Cause>(i);
    std::string name = CauseName(cause);
    std::replace(name.begin(), name.end(), '_', ' ');
    table.Add({name, std::string(ResourceText(ResourceName(cause))), FormatTime(a.path[i]),
               FormatTime(b.path[i]), SignedTimeOf(a.path[i], b.path[i]),
               PercentOf(a.path[i], b.path[i], window_a)});
  }
  return table.empty() ? text : text + table.ToString("");
}

std::string KernelsText(const Explanation& explanation, double tolerance) {
  const uint64_t window =
      explanation.a.known() ? explanation.a.launch_end_ps - explanation.a.launch_begin_ps : 0;
  Table table(
      {"kernel", "A", "B", "time A", "time B", "change", "of launches", "bound A", "bound B"});
  size_t shown = 0, more = 0;
  for (const KernelChange& kernel : explanation.kernels) {
    if (IsWithin(kernel.time_a_ps, kernel.time_b_ps, tolerance)) continue;
    if (shown == kKernelsShown) {
      ++more;
      continue;
    }
    ++shown;
    table.Add(
        {Printable(kernel.name), kernel.time_a_ps == 0 ? "-" : fmt::to_string(kernel.number_a),
         kernel.time_b_ps == 0 ? "-" : fmt::to_string(kernel.number_b),
         FormatTime(kernel.time_a_ps), FormatTime(kernel.time_b_ps),
         SignedTimeOf(kernel.time_a_ps, kernel.time_b_ps),
         PercentOf(kernel.time_a_ps, kernel.time_b_ps, window), kernel.bound_a, kernel.bound_b});
  }
  if (table.empty()) return "";
  std::string text = "\n" + table.ToString("");
  if (more > 0) text += fmt::format("{} more kernels that differ\n", more);
  return text;
}

}  // namespace

Explanation Explain(const Trace& a, const Trace& b) {
  Explanation out;
  out.a = ParseRunResults(a.results);
  out.b = ParseRunResults(b.results);
  out.keys = KeyChanges(a, b);
  std::map<std::pair<std::string, size_t>, KernelChange> kernels;
  std::map<std::string, size_t> seen;
  for (const KernelRun& kernel : Kernels(a)) {
    KernelChange& change = kernels[{kernel.name, seen[kernel.name]++}];
    change.name = kernel.name;
    change.number_a = kernel.number;
    change.time_a_ps = kernel.end_ps - kernel.start_ps;
    change.bound_a = BoundIn(out.a, kernel.flow);
  }
  seen.clear();
  for (const KernelRun& kernel : Kernels(b)) {
    KernelChange& change = kernels[{kernel.name, seen[kernel.name]++}];
    change.name = kernel.name;
    change.number_b = kernel.number;
    change.time_b_ps = kernel.end_ps - kernel.start_ps;
    change.bound_b = BoundIn(out.b, kernel.flow);
  }
  for (auto& [key, change] : kernels) {
    if (change.time_a_ps == change.time_b_ps) {
      ++out.same_kernels;
    } else {
      out.kernels.push_back(std::move(change));
    }
  }
  StableSort(out.kernels, [](const KernelChange& x, const KernelChange& y) {
    return Apart(x.time_a_ps, x.time_b_ps) > Apart(y.time_a_ps, y.time_b_ps);
  });
  return out;
}

std::string ToText(const Explanation& explanation, double tolerance) {
  return KeysText(explanation.keys) + WindowText(explanation.a, explanation.b) +
         KernelsText(explanation, tolerance);
}

nlohmann::json ToJson(const Explanation& explanation) {
  const auto ns = [](uint64_t ps) { return static_cast<double>(ps) / 1e3; };
  auto keys = nlohmann::json::array();
  for (const KeyChange& key : explanation.keys)
    keys.push_back({{"key", key.key}, {"a", key.a}, {"b", key.b}});
  auto kernels = nlohmann::json::array();
  for (const KernelChange& kernel : explanation.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"number_a", kernel.number_a},
                       {"number_b", kernel.number_b},
                       {"time_a_ns", ns(kernel.time_a_ps)},
                       {"time_b_ns", ns(kernel.time_b_ps)},
                       {"bound_a", kernel.bound_a},
                       {"bound_b", kernel.bound_b}});
  }
  const auto launches = [&ns](const RunResults& results) -> nlohmann::json {
    if (!results.known()) return nullptr;
    return {{"window_ns", ns(results.launch_end_ps - results.launch_begin_ps)},
            {"bounds", ToJson(results.path)}};
  };
  return {{"keys", std::move(keys)},
          {"launches_a", launches(explanation.a)},
          {"launches_b", launches(explanation.b)},
          {"kernels", std::move(kernels)}};
}

bool DiffersBy(const Explanation& explanation, double tolerance) {
  const RunResults &a = explanation.a, &b = explanation.b;
  if (a.known() && b.known()) {
    return !IsWithin(a.launch_end_ps - a.launch_begin_ps, b.launch_end_ps - b.launch_begin_ps,
                     tolerance);
  }
  return AnyFits(explanation.kernels, [tolerance](const KernelChange& kernel) {
    return !IsWithin(kernel.time_a_ps, kernel.time_b_ps, tolerance);
  });
}

}  // namespace spyre::trace
