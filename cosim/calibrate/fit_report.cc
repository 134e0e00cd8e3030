// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/fit_report.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/printable.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using FitJsonValue = nlohmann::ordered_json;

// "unary 7, matmul-32 12", in the order of the names.
std::string FamiliesText(const std::vector<CalibrationPoint>& points,
                         const std::vector<size_t>& chosen) {
  std::map<std::string, size_t> counts;
  for (const size_t i : chosen) ++counts[points[i].Family()];
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

std::string DeviationText(const FittedKey& key) {
  return fmt::format("+- {:.1f} %", std::expm1(key.deviation) * 100);
}

std::string ChangeText(double before, double after) {
  return fmt::format("{:.1f} -> {:.1f} %", before * 100, after * 100);
}

std::string FilesText(const std::vector<CalibrationPoint>& points) {
  std::vector<std::pair<std::string, size_t>> files;
  for (const CalibrationPoint& point : points) {
    if (files.empty() || files.back().first != point.file) files.emplace_back(point.file, 0);
    ++files.back().second;
  }
  std::string text;
  for (const auto& [file, count] : files)
    text += fmt::format("  {}: {} point{}\n", Printable(file), count, count == 1 ? "" : "s");
  return text;
}

std::string NumbersText(const CardFit& fit) {
  std::string text;
  if (!fit.fitted.empty()) {
    trace::Table table({"fitted", "before", "after", "unit", "deviation", "points"}, 1);
    for (const FittedKey& key : fit.fitted) {
      table.Add({key.key, fmt::format("{}", key.before), fmt::format("{}", key.after), key.unit,
                 DeviationText(key), fmt::format("{}", key.points.size())});
    }
    text += "\n" + table.ToString("");
  }
  std::map<std::string, std::string> held;
  for (const HeldKey& key : fit.held)
    held[key.reason] += fmt::format("  {} = {}\n", key.key, key.value);
  for (const auto& [reason, keys] : held) text += fmt::format("\nNot fitted: {}\n{}", reason, keys);
  return text;
}

std::string ErrorsText(const std::vector<CalibrationPoint>& points, const FitTimes& times) {
  trace::Table table({"RMS error", "points", "closed form", "timed model"}, 1);
  const auto formula_before = Statistics(points, times.formula_before);
  const auto formula_after = Statistics(points, times.formula_after);
  const auto timed_before = Statistics(points, times.timed_before);
  const auto timed_after = Statistics(points, times.timed_after);
  const auto add = [&](const std::string& title, auto member) {
    for (size_t i = 0; i < formula_before.size(); ++i) {
      if (title.empty() != (formula_before[i].name != "total")) continue;
      const ErrorStatistics& before = formula_before[i].*member;
      if (before.points == 0) continue;
      table.Add({title.empty() ? formula_before[i].title : title, fmt::format("{}", before.points),
                 ChangeText(before.rms, (formula_after[i].*member).rms),
                 ChangeText((timed_before[i].*member).rms, (timed_after[i].*member).rms)});
    }
  };
  add("", &FamilyStatistics::all);
  add("fitted to", &FamilyStatistics::fitted);
  add("held out", &FamilyStatistics::held_out);
  return "\n" + table.ToString("");
}

std::string CommentsOf(const std::string& text) {
  std::string comments;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    comments += line.empty() ? "#\n" : "# " + line + "\n";
    at = end + 1;
  }
  return comments;
}

// Whether a file of the card says it: not which card it is, nor how it is simulated.
bool IsOfCard(const std::string& key) {
  return key.rfind("card.", 0) == 0 && key != "card.preset" && key != "card.mode" &&
         key != "card.fidelity";
}

// A path of a file stands relative to that file, and the caller's is relative to where it works.
std::string TomlValue(const Field& field) {
  if (!field.is_path) return field.ValueText();
  const auto* const path = std::get_if<std::string*>(&field.value);
  if (path == nullptr || (*path)->empty()) return field.ValueText();
  return TomlString(std::filesystem::absolute(**path).lexically_normal().string());
}

}  // namespace

double RmsOf(const std::vector<CalibrationPoint>& points, const std::vector<PointResult>& results,
             bool held_out) {
  const FamilyStatistics total = Statistics(points, results).back();
  return held_out ? total.held_out.rms : total.fitted.rms;
}

bool IsOverfitted(const std::vector<CalibrationPoint>& points, const FitTimes& times) {
  constexpr double kSlack = 0.002;
  return RmsOf(points, times.formula_after, true) >
         RmsOf(points, times.formula_before, true) + kSlack;
}

std::string FitText(const CardFit& fit, const std::vector<CalibrationPoint>& points,
                    const FitTimes& times) {
  std::string text = fmt::format(
      "Numbers of the card fitted to {} measured kernel times, by the closed form. {} more were "
      "held "
      "out,\nevery third of a file, and judge the result.\n",
      fit.fitted_points, fit.held_out_points);
  text += FilesText(points) + NumbersText(fit) + ErrorsText(points, times);
  if (IsOverfitted(points, times)) {
    text +=
        "\nThe points that were held out came out worse: these numbers describe the points that "
        "they "
        "were\nfitted to, not the card. More points, of more kinds and sizes, would help.\n";
  }
  if (!fit.ChangesTimed()) {
    text +=
        "\nThe timed model reads none of the changed numbers: it times kernels by memory, ring and "
        "cores in\ndetail. With this card, the times of card.fidelity = \"fast\" are the fitted "
        "ones.\n";
  }
  return text;
}

std::string FitJson(const CardFit& fit, const std::vector<CalibrationPoint>& points,
                    const FitTimes& times) {
  FitJsonValue fitted = FitJsonValue::array(), held = FitJsonValue::array();
  for (const FittedKey& key : fit.fitted) {
    fitted.push_back({{"key", key.key},
                      {"unit", key.unit},
                      {"before", key.before},
                      {"after", key.after},
                      {"deviation", std::expm1(key.deviation)},
                      {"points", key.points}});
  }
  for (const HeldKey& key : fit.held)
    held.push_back({{"key", key.key}, {"value", key.value}, {"reason", key.reason}});
  const auto errors = [&](const std::vector<PointResult>& results) {
    return FitJsonValue({{"fitted_rms_error", RmsOf(points, results, false)},
                         {"held_out_rms_error", RmsOf(points, results, true)}});
  };
  FitJsonValue report = {
      {"fitted_points", fit.fitted_points},
      {"held_out_points", fit.held_out_points},
      {"fitted", fitted},
      {"held", held},
      {"closed_form",
       {{"before", errors(times.formula_before)}, {"after", errors(times.formula_after)}}},
      {"timed", {{"before", errors(times.timed_before)}, {"after", errors(times.timed_after)}}},
      {"overfitted", IsOverfitted(points, times)}};
  return DumpJson(report, 2) + "\n";
}

std::string FitToml(const CardFit& fit, const std::vector<CalibrationPoint>& points,
                    const FitTimes& times) {
  std::string text =
      "# A card whose numbers spyre-cosim calibrate --fit has fitted, for --card and card.preset. "
      "What "
      "is\n# not here is as in the preset \"spyre\".\n#\n" +
      CommentsOf(FitText(fit, points, times));
  std::map<std::string, const FittedKey*> fitted;
  for (const FittedKey& key : fit.fitted) fitted[key.key] = &key;
  RunConfig card = fit.card, usual;
  const std::vector<Field> defaults = Fields(usual);
  std::string table;
  size_t i = 0;
  for (const Field& field : Fields(card)) {
    const std::string default_text = defaults[i++].ValueText();
    const auto found = fitted.find(field.key);
    if (!IsOfCard(field.key) || (found == fitted.end() && field.ValueText() == default_text))
      continue;
    const size_t dot = field.key.rfind('.');
    if (field.key.substr(0, dot) != table) {
      table = field.key.substr(0, dot);
      text += fmt::format("\n[{}]\n", table);
    }
    text += fmt::format("{} = {}", field.key.substr(dot + 1), TomlValue(field));
    if (!field.unit.empty()) text += fmt::format("  # {}", field.unit);
    if (found != fitted.end()) {
      const FittedKey& key = *found->second;
      text += fmt::format("{} was {}, {}, by {} points: {}", field.unit.empty() ? "  #" : ";",
                          key.before, DeviationText(key), key.points.size(),
                          FamiliesText(points, key.points));
    }
    text += "\n";
  }
  return text;
}

}  // namespace spyre::cosim
