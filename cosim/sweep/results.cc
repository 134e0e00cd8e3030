// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json_text.h"
#include "cosim/sweep/pareto.h"
#include "cosim/trials/csv.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> ObjectiveOf(const SweepResults& results, const SweepRow& row,
                                  const Objective& objective) {
  const double sign = objective.more_is_better ? -1 : 1;
  const auto key = std::find(results.keys.begin(), results.keys.end(), objective.name);
  if (key != results.keys.end()) {
    const Json& value = row.values[static_cast<size_t>(key - results.keys.begin())];
    if (!value.is_number()) return std::nullopt;
    return sign * value.get<double>();
  }
  const double number = row.result.Number(objective.name);
  return std::isnan(number) ? std::nullopt : std::optional(sign * number);
}

}  // namespace

void MarkFront(SweepResults& results) {
  std::vector<std::vector<double>> values;
  std::vector<SweepRow*> rows;
  for (SweepRow& row : results.rows) {
    row.on_front = false;
    if (row.result.status != TrialStatus::kDone) continue;
    std::vector<double> of_row;
    for (const Objective& objective : results.objectives) {
      if (const auto value = ObjectiveOf(results, row, objective)) of_row.push_back(*value);
    }
    if (of_row.size() != results.objectives.size()) continue;
    values.push_back(std::move(of_row));
    rows.push_back(&row);
  }
  const std::vector<bool> on_front = ParetoFront(values);
  for (size_t i = 0; i < rows.size(); ++i) rows[i]->on_front = on_front[i];
}

std::string ToCsv(const SweepResults& results) {
  std::string text = "point";
  for (const std::string& key : results.keys) text += "," + CsvCell(key);
  text += ",status,reason";
  for (const Figure& figure : NumberFigures()) text += fmt::format(",{}", figure.name);
  for (const Figure& figure : TextFigures()) text += fmt::format(",{}", figure.name);
  text += ",pareto\r\n";
  for (const SweepRow& row : results.rows) {
    text += std::to_string(row.point);
    for (const Json& value : row.values) text += "," + CsvCell(value);
    text += fmt::format(",{},{}", Name(row.result.status), CsvCell(row.result.reason));
    const Json figures = ToJson(row.result);
    for (const Figure& figure : NumberFigures())
      text += "," + CsvCell(figures.value(figure.name, Json()));
    for (const Figure& figure : TextFigures())
      text += "," + CsvCell(figures.value(figure.name, Json()));
    text += row.on_front ? ",1\r\n" : ",0\r\n";
  }
  return text;
}

std::string ToJsonLines(const SweepResults& results) {
  std::string text;
  for (const SweepRow& row : results.rows) {
    Json set = Json::object();
    for (size_t i = 0; i < results.keys.size(); ++i) set[results.keys[i]] = row.values[i];
    Json line = {{"point", row.point}, {"set", std::move(set)}};
    Json result = ToJson(row.result);
    result.erase("wall_s");  // differs from run to run, and says nothing of the card
    line.update(result);
    line["pareto"] = row.on_front;
    text += DumpJson(line) + "\n";
  }
  return text;
}

}  // namespace spyre::cosim
