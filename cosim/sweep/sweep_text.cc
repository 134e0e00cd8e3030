// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_text.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBestRows = 5;
constexpr size_t kReasons = 3;

std::string ValueText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : DumpJson(value);
}

// Keys without the parts that all of them have: "tile.m" of workload.tile.m and workload.split.m.
std::vector<std::string> ShortKeys(const std::vector<std::string>& keys) {
  size_t common = keys.empty() ? 0 : keys[0].rfind('.') + 1;
  for (const std::string& key : keys) {
    while (common > 0 && key.compare(0, common, keys[0], 0, common) != 0)
      common = common < 2 ? 0 : keys[0].rfind('.', common - 2) + 1;
  }
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const std::string& key : keys) names.push_back(key.substr(common));
  return names;
}

std::string CountsText(const PlannedSweep& planned, const SweepResults& results) {
  std::map<TrialStatus, size_t> counts;
  for (const SweepRow& row : results.rows) ++counts[row.result.status];
  std::string text = fmt::format("{} of {} points", results.rows.size(), results.points);
  const char* separator = ": ";
  for (const auto& [status, count] : counts) {
    text += fmt::format("{}{} {}", separator, count, Name(status));
    separator = ", ";
  }
  text += "\n";
  if (planned.unmet > 0)
    text += fmt::format("{} combinations do not meet the conditions\n", planned.unmet);
  if (planned.duplicate > 0)
    text += fmt::format("{} drawn points were there already\n", planned.duplicate);
  return text;
}

// The most frequent reasons of points that did not come to right numbers.
std::string ReasonsText(const SweepResults& results) {
  std::map<std::string, size_t> counts;
  for (const SweepRow& row : results.rows) {
    if (row.result.status != TrialStatus::kDone)
      ++counts[fmt::format("{}: {}", Name(row.result.status), row.result.reason)];
  }
  std::vector<std::pair<std::string, size_t>> reasons(counts.begin(), counts.end());
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < std::min(reasons.size(), kReasons); ++i)
    text += fmt::format("  {} x {}\n", reasons[i].second, reasons[i].first);
  if (reasons.size() > kReasons)
    text += fmt::format("  ... {} more reasons\n", reasons.size() - kReasons);
  return text;
}

// The points on the front, sorted by the first objective.
std::string BestText(const SweepResults& results) {
  std::vector<const SweepRow*> front;
  for (const SweepRow& row : results.rows)
    if (row.on_front) front.push_back(&row);
  if (front.empty()) return "";
  const std::string first = results.objectives.front().name;
  const bool by_figure =
      std::find(results.keys.begin(), results.keys.end(), first) == results.keys.end();
  if (by_figure) {
    const double sign = results.objectives.front().more_is_better ? -1 : 1;
    std::stable_sort(front.begin(), front.end(), [&](const SweepRow* a, const SweepRow* b) {
      return sign * a->result.Number(first) < sign * b->result.Number(first);
    });
  }
  std::vector<std::string> header = {"point"};
  for (const std::string& key : ShortKeys(results.keys)) header.push_back(key);
  std::vector<std::string> figures;
  for (const Objective& objective : results.objectives) {
    if (std::find(results.keys.begin(), results.keys.end(), objective.name) == results.keys.end())
      figures.push_back(objective.name);
  }
  if (std::find(figures.begin(), figures.end(), "launch_ns") == figures.end())
    figures.emplace_back("launch_ns");
  for (const std::string& figure : figures) header.push_back(figure);
  header.insert(header.end(), {"division", "bound_by"});
  trace::Table table(header);
  for (size_t i = 0; i < std::min(front.size(), kBestRows); ++i) {
    const SweepRow& row = *front[i];
    std::vector<std::string> cells = {std::to_string(row.point)};
    for (const Json& value : row.values) cells.push_back(ValueText(value));
    for (const std::string& name : figures) {
      const size_t figure = NumberFigure(name);
      cells.push_back(FigureText(NumberFigures()[figure], row.result.numbers[figure]));
    }
    cells.insert(cells.end(), {row.result.texts[1], row.result.texts[0]});
    table.Add(std::move(cells));
  }
  std::string text = results.objectives.size() == 1
                         ? "\nBest by " + first + ":\n"
                         : fmt::format("\nPareto front, {} points:\n", front.size());
  text += table.ToString("  ");
  if (front.size() > kBestRows)
    text += fmt::format("  ... {} more, column pareto of the results\n", front.size() - kBestRows);
  return text;
}

}  // namespace

std::string SweepText(const PlannedSweep& planned, const SweepResults& results, bool has_files) {
  std::string text = CountsText(planned, results) + ReasonsText(results) + BestText(results);
  if (!has_files) {
    return text + fmt::format(
                      "\nJournal: {}; the results are made when no point is missing, or by "
                      "--collect\n",
                      planned.out);
  }
  return text + fmt::format(
                    "\nTable:    {0}/results.csv\n          {0}/results.jsonl\n"
                    "Database: {0}/results.sqlite\nPage:     {0}/index.html\n",
                    planned.out);
}

}  // namespace spyre::cosim
