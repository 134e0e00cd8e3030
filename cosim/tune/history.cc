// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/history.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/ranges.h"
#include "cosim/plots/assets.h"
#include "cosim/plots/page.h"
#include "cosim/trials/csv.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

const Figure& FigureOf(const TuneResult& result) { return NumberFigures()[result.objective]; }

Json ExpectedJson(const Plan& plan) {
  return plan.expected_ns ? Json(*plan.expected_ns) : Json(nullptr);
}

Json SetJson(const Plan& plan) {
  Json set = Json::object();
  for (const auto& [key, value] : plan.keys) set[key] = value;
  return set;
}

// How long it took differs from run to run, and has no place in a history.
Json ResultJson(const TrialResult& trial) {
  Json json = ToJson(trial);
  json.erase("wall_s");
  return json;
}

Json TrialJson(const TuneResult& result, size_t number) {
  const TuneTrial& trial = result.search.trials[number];
  Json json = {{"number", number},
               {"stage", Name(trial.stage)},
               {"set", SetJson(trial.plan)},
               {"expected_ns", ExpectedJson(trial.plan)}};
  json.update(ResultJson(trial.result));
  json["best"] = number == result.best;
  return json;
}

}  // namespace

std::string FigureText(const TuneResult& result, const TuneTrial& trial) {
  if (!trial.result.ended()) return Name(trial.result.status);
  const double value = trial.result.numbers[result.objective];
  const std::string unit = FigureOf(result).unit;
  if (unit == "ns") return trace::FormatTime(static_cast<uint64_t>(value * 1000));
  if (unit == "bytes") return trace::FormatBytes(static_cast<uint64_t>(value));
  return fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::string ChangeText(const TuneResult& result, const TuneTrial& trial) {
  const double given = result.given().result.numbers[result.objective];
  if (!trial.result.ended() || given == 0) return "-";
  return fmt::format("{:+.1f} %", 100 * (trial.result.numbers[result.objective] / given - 1));
}

std::vector<std::pair<std::string, uint64_t>> ReasonsOf(const TuneResult& result) {
  std::map<std::string, uint64_t> counts = result.search.refused;
  for (const TuneTrial& trial : result.search.trials)
    if (!trial.result.ended()) ++counts[trial.result.reason];
  std::vector<std::pair<std::string, uint64_t>> reasons(counts.begin(), counts.end());
  StableSort(reasons, [](const auto& a, const auto& b) { return a.second > b.second; });
  return reasons;
}

std::string HistoryCsv(const TuneResult& result) {
  std::string text = "number,stage,plan,expected_ns,status,reason";
  for (const Figure& figure : NumberFigures()) text += fmt::format(",{}", figure.name);
  for (const Figure& figure : TextFigures()) text += fmt::format(",{}", figure.name);
  text += ",best\r\n";
  for (size_t i = 0; i < result.search.trials.size(); ++i) {
    const TuneTrial& trial = result.search.trials[i];
    const Json row = TrialJson(result, i);
    text +=
        fmt::format("{},{},{},{},{},{}", i, Name(trial.stage), CsvCell(TextOf(trial.plan)),
                    CsvCell(row["expected_ns"]), CsvCell(row["status"]), CsvCell(row["reason"]));
    for (const Figure& figure : NumberFigures())
      text += "," + CsvCell(row.value(figure.name, Json()));
    for (const Figure& figure : TextFigures())
      text += "," + CsvCell(row.value(figure.name, Json()));
    text += i == result.best ? ",1\r\n" : ",0\r\n";
  }
  return text;
}

std::string HistoryLines(const TuneResult& result) {
  std::string text;
  for (size_t i = 0; i < result.search.trials.size(); ++i) {
    text += PrintableJson(TrialJson(result, i));
    text += "\n";
  }
  return text;
}

std::string HistoryPage(const TuneResult& result) {
  const Figure& figure = FigureOf(result);
  Json trials = Json::array();
  for (size_t i = 0; i < result.search.trials.size(); ++i) {
    const TuneTrial& trial = result.search.trials[i];
    trials.push_back(
        {{"number", i},
         {"stage", Name(trial.stage)},
         {"plan", TextOf(trial.plan)},
         {"expected", ExpectedJson(trial.plan)},
         {"value", trial.result.ended() ? Json(trial.result.numbers[result.objective]) : Json()},
         {"status", Name(trial.result.status)},
         {"reason", trial.result.reason}});
  }
  return PlotPage("Tuning of " + result.config, kTuneScript,
                  {{"config", result.config},
                   {"objective", figure.name},
                   {"unit", figure.unit},
                   {"more_is_better", figure.more_is_better},
                   {"plans", result.search.plans},
                   {"best", result.best},
                   {"trials", std::move(trials)}});
}

Json ToJson(const TuneResult& result) {
  const Figure& figure = FigureOf(result);
  Json trials = Json::array(), reasons = Json::array(), verified = Json::array();
  for (size_t i = 0; i < result.search.trials.size(); ++i) trials.push_back(TrialJson(result, i));
  for (const auto& [reason, count] : ReasonsOf(result))
    reasons.push_back({{"reason", reason}, {"plans", count}});
  for (const VerifiedPlan& plan : result.verified) {
    Json json = {{"number", plan.trial}};
    json.update(ResultJson(plan.result));
    verified.push_back(std::move(json));
  }
  return {
      {"config", result.config},
      {"objective",
       {{"name", figure.name}, {"unit", figure.unit}, {"more_is_better", figure.more_is_better}}},
      {"budget", result.budget},
      {"seed", result.seed},
      {"plans", result.search.plans},
      {"given", TrialJson(result, 0)},
      {"best", TrialJson(result, result.best)},
      {"right", result.functional ? Json(result.is_right()) : Json(nullptr)},
      {"unmet", result.judged.unmet},
      {"verified", std::move(verified)},
      {"trials", std::move(trials)},
      {"infeasible", std::move(reasons)},
      {"files",
       {{"plan", result.plan_path},
        {"csv", result.csv_path},
        {"lines", result.lines_path},
        {"page", result.page_path}}}};
}

}  // namespace spyre::cosim
