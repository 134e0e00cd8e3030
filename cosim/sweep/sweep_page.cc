// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/sweep_page.h"

#include "base/json_text.h"
#include "cosim/plots/assets.h"
#include "cosim/plots/page.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string SweepPage(const SweepResults& results) {
  Json figures = Json::array();
  for (const Figure& figure : NumberFigures()) {
    figures.push_back({{"name", figure.name},
                       {"unit", figure.unit},
                       {"description", figure.description},
                       {"more_is_better", figure.more_is_better}});
  }
  Json objectives = Json::array();
  for (const Objective& objective : results.objectives) objectives.push_back(objective.name);
  Json rows = Json::array(), counts = Json::object();
  for (const SweepRow& row : results.rows) {
    Json line = {{"point", row.point}};
    for (size_t i = 0; i < results.keys.size(); ++i) {
      const Json& value = row.values[i];
      line[results.keys[i]] = value.is_structured() ? Json(DumpJson(value)) : value;
    }
    Json result = ToJson(row.result);
    result.erase("wall_s");
    line.update(result);
    line["pareto"] = row.on_front;
    rows.push_back(std::move(line));
    Json& count = counts[Name(row.result.status)];
    count = count.is_null() ? 1 : count.get<int>() + 1;
  }
  return PlotPage("Sweep " + results.name, kSweepScript,
                  {{"config", results.config},
                   {"points", results.points},
                   {"counts", std::move(counts)},
                   {"keys", results.keys},
                   {"figures", std::move(figures)},
                   {"objectives", std::move(objectives)},
                   {"rows", std::move(rows)}});
}

}  // namespace spyre::cosim
