// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "base/ranges.h"

namespace spyre::benchmarks {
namespace {

using nlohmann::json;

double NanosecondsOf(const std::string& unit) {
  constexpr std::pair<const char*, double> kUnits[] = {
      {"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [name, ns] : kUnits)
    if (unit == name) return ns;
  throw BadInput("'{}' is not a unit of time; allowed: ns, us, ms, s", unit);
}

// Fields of Google Benchmark that are numbers and no counters.
bool IsCounter(const std::string& key) {
  constexpr const char* kFields[] = {"family_index", "per_family_instance_index",
                                     "repetitions",  "repetition_index",
                                     "threads",      "iterations",
                                     "real_time",    "cpu_time"};
  return std::none_of(std::begin(kFields), std::end(kFields),
                      [&](const char* field) { return key == field; });
}

Measurement MeasurementOf(const json& entry) {
  Measurement measurement;
  measurement.name = entry.at("name").get<std::string>();
  const double unit_ns = NanosecondsOf(entry.at("time_unit").get<std::string>());
  measurement.wall_ns = entry.at("real_time").get<double>() * unit_ns;
  measurement.cpu_ns = entry.at("cpu_time").get<double>() * unit_ns;
  if (!(measurement.wall_ns > 0 && measurement.cpu_ns > 0))
    throw BadInput("{} took no time: {} ns", measurement.name, measurement.wall_ns);
  for (const auto& [key, value] : entry.items())
    if (value.is_number() && IsCounter(key)) measurement.counters[key] = value.get<double>();
  return measurement;
}

std::optional<double> GeometricMean(const std::vector<double>& ratios) {
  if (ratios.empty()) return std::nullopt;
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

const Measurement* Find(const Results& results, const std::string& name) {
  for (const Measurement& measurement : results.measurements)
    if (measurement.name == name) return &measurement;
  return nullptr;
}

std::string Text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "-";
}

}  // namespace

std::optional<double> Measurement::Counter(const std::string& counter) const {
  const auto it = counters.find(counter);
  return it == counters.end() ? std::nullopt : std::optional(it->second);
}

Results ParseResults(std::string_view text, const std::string& name) {
  Results results;
  try {
    const json document = SortedJsonOf(text);
    for (const auto& [key, value] : document.at("context").items())
      if (value.is_string()) results.context[key] = value.get<std::string>();
    for (const json& entry : document.at("benchmarks")) {
      // Means and deviations of repetitions say nothing that the repetitions do not.
      if (entry.value("run_type", "iteration") != "iteration") continue;
      if (entry.value("error_occurred", false)) continue;
      Measurement measurement = MeasurementOf(entry);
      const auto known = FindIf(results.measurements, [&](const Measurement& other) {
        return other.name == measurement.name;
      });
      if (known == results.measurements.end()) {
        results.measurements.push_back(std::move(measurement));
      } else if (measurement.wall_ns < known->wall_ns) {
        *known = std::move(measurement);
      }
    }
  } catch (const json::exception& error) {
    throw BadInput("{}: not the JSON that --benchmark_out writes: {}", name, error.what());
  } catch (const Error& error) {
    throw error.Within(name);
  }
  return results;
}

Comparison Compare(const Results& earlier, const Results& later) {
  Comparison comparison;
  std::vector<double> wall, cpu, instructions;
  for (const Measurement& after : later.measurements) {
    const Measurement* before = Find(earlier, after.name);
    if (before == nullptr) {
      comparison.only_later.push_back(after.name);
      continue;
    }
    Ratio ratio{after.name, after.wall_ns / before->wall_ns, after.cpu_ns / before->cpu_ns,
                std::nullopt};
    wall.push_back(ratio.wall);
    cpu.push_back(ratio.cpu);
    const auto count_before = before->Counter(kInstructions);
    const auto count_after = after.Counter(kInstructions);
    if (count_before && count_after) {
      ratio.instructions = *count_after / *count_before;
      instructions.push_back(*ratio.instructions);
    }
    comparison.ratios.push_back(std::move(ratio));
  }
  for (const Measurement& before : earlier.measurements)
    if (Find(later, before.name) == nullptr) comparison.only_earlier.push_back(before.name);
  comparison.wall = GeometricMean(wall);
  comparison.cpu = GeometricMean(cpu);
  comparison.instructions = GeometricMean(instructions);
  return comparison;
}

std::string ToText(const Comparison& comparison) {
  size_t width = std::string_view("geometric mean").size();
  for (const Ratio& ratio : comparison.ratios) width = std::max(width, ratio.name.size());
  std::string out = fmt::format("{:{}}  {:>9}  {:>8}  {:>12}   (this run / earlier run)\n", "",
                                width, "wall time", "CPU time", "instructions");
  const auto row = [&](const std::string& name, const std::optional<double>& wall,
                       const std::optional<double>& cpu,
                       const std::optional<double>& instructions) {
    out += fmt::format("{:{}}  {:>9}  {:>8}  {:>12}\n", name, width, Text(wall), Text(cpu),
                       Text(instructions));
  };
  for (const Ratio& ratio : comparison.ratios)
    row(ratio.name, ratio.wall, ratio.cpu, ratio.instructions);
  row("geometric mean", comparison.wall, comparison.cpu, comparison.instructions);
  for (const std::string& name : comparison.only_later)
    out += fmt::format("{} is not in the earlier run\n", name);
  for (const std::string& name : comparison.only_earlier)
    out += fmt::format("{} is only in the earlier run\n", name);
  return out;
}

}  // namespace spyre::benchmarks
