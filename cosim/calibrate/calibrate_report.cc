// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/calibrate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/ranges.h"
#include "cosim/calibrate/error_reasons.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;
using Points = std::vector<CalibrationPoint>;
using Results = std::vector<PointResult>;

std::string Signed(double error) { return fmt::format("{:+.1f} %", error * 100); }

// "matmul 2048x2048x4352 split 4x8, 32 cores +12.3 %"
std::string WorstText(const CalibrationPoint& point, const PointResult& result) {
  return fmt::format("{}, {} core{} {}", point.Describe(), point.cores, point.cores == 1 ? "" : "s",
                     Signed(result.ErrorOf(point)));
}

// Rows of cells, for either kind of table.
using Rows = std::vector<std::vector<std::string>>;

// There are two more columns if the times are of a card that skips repeated work (card.fidelity).
std::vector<std::string> PointHeader(bool fast) {
  std::vector<std::string> header = {"kernel", "cores", "reference us", "simulated us", "error"};
  if (fast) header.insert(header.end(), {"timed us", "fast against timed"});
  return header;
}

std::vector<std::string> PointRow(const CalibrationPoint& point, const PointResult& result,
                                  bool fast) {
  std::vector<std::string> row = {point.Describe(), fmt::format("{}", point.cores),
                                  fmt::format("{:.2f}", point.reference_us),
                                  result.ok() ? fmt::format("{:.2f}", result.simulated_us()) : "-",
                                  result.ok() ? Signed(result.ErrorOf(point)) : "failed"};
  if (!fast) return row;
  const bool both = result.timed_ps != 0;
  row.push_back(both ? fmt::format("{:.2f}", result.timed_us()) : "-");
  row.push_back(both ? Signed(result.ErrorOfFast()) : "-");
  return row;
}

// "fast against timed: RMS 1.2 %, mean -0.4 %, farthest off add 64x64, 32 cores -3.0 %"; empty if
// the card is not fast.
std::string FastText(const Points& points, const Results& results) {
  const FastError error = ErrorOfFast(results);
  if (error.points == 0) return "";
  const CalibrationPoint& worst = points[error.worst];
  return fmt::format(
      "Fast against timed, {} points: RMS {:.1f} %, mean {}, farthest off {}, {} core{} {}\n",
      error.points, error.rms * 100, Signed(error.mean), worst.Describe(), worst.cores,
      worst.cores == 1 ? "" : "s", Signed(results[error.worst].ErrorOfFast()));
}

std::string RmsText(const ErrorStatistics& errors) {
  return errors.points > 0 ? fmt::format("{:.1f} %", errors.rms * 100) : "-";
}

std::vector<std::string> FamilyRow(const FamilyStatistics& family) {
  const std::string failed = family.failed > 0 ? fmt::format(" ({} failed)", family.failed) : "";
  return {family.title,
          fmt::format("{}{}", family.all.points, failed),
          RmsText(family.all),
          RmsText(family.fitted),
          RmsText(family.held_out),
          family.all.points > 0 ? Signed(family.all.mean) : "-",
          family.all.points > 0 ? fmt::format("{:.1f} %", family.all.median * 100) : "-",
          family.all.points > 0 ? fmt::format("{:.1f} %", family.all.two_of_three * 100) : "-"};
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string FailuresText(const Points& points, const Results& results) {
  std::string text;
  for (size_t i = 0; i < points.size(); ++i) {
    if (results[i].ok()) continue;
    text += fmt::format("{} ({}): {}\n", points[i].Where(), points[i].Describe(),
                        Printable(results[i].failure));
  }
  return text;
}

}  // namespace

std::string CalibrationText(const Points& points, const Results& results) {
  const bool fast = ErrorOfFast(results).points > 0;
  trace::Table point_table(PointHeader(fast));
  for (size_t i = 0; i < points.size(); ++i) point_table.Add(PointRow(points[i], results[i], fast));
  trace::Table family_table(
      {"family", "points", "RMS", "fitted", "held out", "mean", "median", "two of three", "worst"},
      1);
  std::string worst;
  for (const FamilyStatistics& family : Statistics(points, results)) {
    std::vector<std::string> row = FamilyRow(family);
    row.push_back(family.worst.empty()
                      ? "-"
                      : Signed(results[family.worst[0]].ErrorOf(points[family.worst[0]])));
    family_table.Add(std::move(row));
    if (family.worst.empty() || family.name == "total") continue;
    worst += fmt::format("  {}\n", family.title);
    for (const size_t i : family.worst)
      worst += fmt::format("    {}\n", WorstText(points[i], results[i]));
  }
  std::string text = point_table.ToString("") + "\n" + family_table.ToString("");
  if (!worst.empty()) text += "\nFarthest off\n" + worst;
  if (fast) text += "\n" + FastText(points, results);
  const std::string failures = FailuresText(points, results);
  if (!failures.empty()) text += "\nFailed\n" + failures;
  return text;
}

std::string CalibrationJson(const Points& points, const Results& results) {
  Json families = Json::array();
  for (const FamilyStatistics& family : Statistics(points, results)) {
    Json worst = Json::array();
    for (const size_t i : family.worst) {
      worst.push_back({{"point", i},
                       {"kernel", points[i].Describe()},
                       {"cores", points[i].cores},
                       {"error", results[i].ErrorOf(points[i])}});
    }
    const auto rms = [](const ErrorStatistics& errors) {
      return errors.points > 0 ? Json(errors.rms) : Json();
    };
    const bool any = family.all.points > 0;
    families.push_back({{"name", family.name},
                        {"title", family.title},
                        {"points", family.all.points},
                        {"failed", family.failed},
                        {"rms_error", rms(family.all)},
                        {"mean_error", any ? Json(family.all.mean) : Json()},
                        {"median_error", any ? Json(family.all.median) : Json()},
                        {"two_of_three_error", any ? Json(family.all.two_of_three) : Json()},
                        {"worst_error", any ? worst[0]["error"] : Json()},
                        {"worst", worst},
                        {"fitted_points", family.fitted.points},
                        {"fitted_rms_error", rms(family.fitted)},
                        {"held_out_points", family.held_out.points},
                        {"held_out_rms_error", rms(family.held_out)}});
  }
  Json list = Json::array();
  for (size_t i = 0; i < points.size(); ++i) {
    const CalibrationPoint& point = points[i];
    const PointResult& result = results[i];
    Json json = {{"file", point.file}, {"index", point.index}, {"op", point.op}};
    const Dims& size = point.size;
    if (size.m != 0) {
      json.update({{"m", size.m}, {"k", size.k}, {"n", size.n}});
      if (point.split.m != 0) json.update({{"split_m", point.split.m}, {"split_n", point.split.n}});
      if (point.split.k > 1) json["split_k"] = point.split.k;
    } else {
      json.update({{"rows", size.rows}, {"cols", size.cols}});
      if (point.coarse_tiles > 1) json["coarse_tiles"] = point.coarse_tiles;
    }
    json.update({{"cores", point.cores},
                 {"family", point.Family()},
                 {"held_out", point.held_out()},
                 {"reference_us", point.reference_us},
                 {"simulated_us", result.ok() ? Json(result.simulated_us()) : Json()},
                 {"error", result.ok() ? Json(result.ErrorOf(point)) : Json()}});
    if (result.timed_ps != 0) {
      json["timed_us"] = result.timed_us();
      json["fast_error"] = result.ErrorOfFast();
    }
    if (!point.source.empty()) json["source"] = point.source;
    if (!result.ok()) json["failure"] = Printable(result.failure);
    list.push_back(std::move(json));
  }
  Json report = {{"families", families}, {"points", list}};
  if (const FastError error = ErrorOfFast(results); error.points > 0) {
    report["fast"] = {{"points", error.points},
                      {"rms_error", error.rms},
                      {"mean_error", error.mean},
                      {"worst_error", results[error.worst].ErrorOfFast()},
                      {"worst_point", error.worst}};
  }
  return DumpJson(report, 2) + "\n";
}

std::string CalibrationMarkdown(const Points& points, const Results& results) {
  std::string text =
      "| Family | Points | RMS | Fitted | Held out | Mean | Median | Two of three | Farthest off "
      "|\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|---|\n";
  for (const FamilyStatistics& family : Statistics(points, results)) {
    std::vector<std::string> row = FamilyRow(family);
    std::string worst;
    for (const size_t i : family.worst)
      worst += (worst.empty() ? "" : "<br>") + WorstText(points[i], results[i]);
    row.push_back(worst);
    text += MarkdownRow(row);
  }
  const bool fast = ErrorOfFast(results).points > 0;
  if (fast) text += "\n" + FastText(points, results);
  text += "\n| Kernel | Cores | Reference us | Simulated us | Error |";
  text += fast ? " Timed us | Fast against timed |\n" : "\n";
  text += fast ? "|---|--:|--:|--:|--:|--:|--:|\n" : "|---|--:|--:|--:|--:|\n";
  for (size_t i = 0; i < points.size(); ++i)
    text += MarkdownRow(PointRow(points[i], results[i], fast));
  const std::string failures = FailuresText(points, results);
  if (!failures.empty()) text += "\nFailed:\n\n```\n" + failures + "```\n";
  return text;
}

std::string WorstMarkdown(const Points& points, const Results& results, size_t most) {
  constexpr double kNear = 0.05;  // an error that needs no reason
  std::string text =
      "| Family | Kernel | Cores | Held out | Error | What is known of the reason |\n"
      "|---|---|--:|---|--:|---|\n";
  for (const FamilyStatistics& family : Statistics(points, results)) {
    std::vector<size_t> worst;
    for (size_t i = 0; i < points.size(); ++i) {
      if (points[i].Family() == family.name && results[i].ok() &&
          std::abs(results[i].ErrorOf(points[i])) > kNear)
        worst.push_back(i);
    }
    const auto size = [&](size_t i) { return std::abs(results[i].ErrorOf(points[i])); };
    StableSort(worst, [&](size_t a, size_t b) { return size(a) > size(b); });
    worst.resize(std::min(worst.size(), most));
    for (const size_t i : worst) {
      const double error = results[i].ErrorOf(points[i]);
      text += MarkdownRow({family.title, points[i].Describe(), fmt::format("{}", points[i].cores),
                           points[i].held_out() ? "yes" : "", Signed(error),
                           ReasonOf(points[i], error)});
    }
  }
  return text;
}

}  // namespace spyre::cosim
