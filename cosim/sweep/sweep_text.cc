// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_text.h"
#include "base/ranges.h"
#include "base/verdict.h"
#include "cosim/slurm/shell_quote.h"
#include "traces/path_causes.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kBestRows = 5;

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

// "38 of 38 points: 36 done, 2 infeasible".
std::string CountsText(const SweepResults& results) {
  std::map<TrialStatus, size_t> counts;
  for (const SweepRow& row : results.rows) ++counts[row.result.status];
  std::string text = fmt::format("{} of {} points", results.rows.size(), results.points);
  const char* separator = ": ";
  for (const auto& [status, count] : counts) {
    text += fmt::format("{}{} {}", separator, count, Name(status));
    separator = ", ";
  }
  return text;
}

// Why points did not come to right numbers, the most frequent first.
std::vector<std::string> ReasonsOf(const SweepResults& results, bool infeasible) {
  std::map<std::string, size_t> counts;
  for (const SweepRow& row : results.rows) {
    const TrialStatus status = row.result.status;
    if (status != TrialStatus::kDone && (status == TrialStatus::kInfeasible) == infeasible)
      ++counts[fmt::format("{}: {}", Name(row.result.status), row.result.reason)];
  }
  std::vector<std::pair<std::string, size_t>> reasons(counts.begin(), counts.end());
  StableSort(reasons, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  texts.reserve(reasons.size());
  for (const auto& [reason, count] : reasons)
    texts.push_back(fmt::format("{} x {}", count, reason));
  return texts;
}

// The points on the front, sorted by the first objective.
std::vector<const SweepRow*> Front(const SweepResults& results) {
  std::vector<const SweepRow*> front;
  for (const SweepRow& row : results.rows)
    if (row.on_front) front.push_back(&row);
  const std::string first = results.objectives.front().name;
  const bool by_figure =
      std::find(results.keys.begin(), results.keys.end(), first) == results.keys.end();
  if (by_figure) {
    const double sign = results.objectives.front().more_is_better ? -1 : 1;
    StableSort(front, [&](const SweepRow* a, const SweepRow* b) {
      return sign * a->result.Number(first) < sign * b->result.Number(first);
    });
  }
  return front;
}

std::string BestText(const SweepResults& results, const std::vector<const SweepRow*>& front) {
  if (front.empty()) return "";
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
                         ? "Best by " + results.objectives.front().name + ":\n"
                         : fmt::format("Pareto front, {} points:\n", front.size());
  text += table.ToString("  ");
  if (front.size() > kBestRows)
    text += fmt::format("  ... {} more, column pareto of the results\n", front.size() - kBestRows);
  return text;
}

Verdict VerdictOf(const PlannedSweep& planned, const SweepResults& results,
                  const std::vector<const SweepRow*>& front, bool has_files) {
  Verdict verdict;
  verdict.ran = fmt::format("{}: {}", planned.grid.path, CountsText(results));
  const auto wrong = [](const SweepRow& row) { return row.result.status == TrialStatus::kWrong; };
  verdict.checked = "points are times only; `run` a point to verify its numbers";
  if (planned.grid.verify) {
    verdict.right = Rightness::kRight;
    verdict.checked = "every point that ended was run with data and compared";
  }
  if (AnyFits(results.rows, wrong)) {
    verdict.right = Rightness::kWrong;
    verdict.checked = "numbers of points are wrong";
  }
  verdict.problems = ReasonsOf(results, false);
  verdict.notes = ReasonsOf(results, true);
  if (planned.unmet > 0)
    verdict.notes.push_back(
        fmt::format("{} combinations do not meet the conditions", planned.unmet));
  if (planned.duplicate > 0)
    verdict.notes.push_back(fmt::format("{} drawn points were there already", planned.duplicate));
  if (!front.empty()) {
    const SweepRow& best = *front.front();
    verdict.time = fmt::format(
        "{} from first to last launch operation at point {}, the best by {}",
        FigureText(NumberFigures()[NumberFigure("launch_ns")], best.result.Number("launch_ns")),
        best.point, results.objectives.front().name);
    verdict.trust = "that of the run of a point, which says it";
    verdict.bound = fmt::format("{} at that point", trace::ResourceText(best.result.texts[0]));
    std::vector<std::string> words = {"run", planned.grid.config};
    for (std::string& set : SetsOf(planned.grid, planned.points[best.point]))
      words.insert(words.end(), {"--set", std::move(set)});
    for (const std::string& set : planned.sets) words.insert(words.end(), {"--set", set});
    verdict.files.emplace_back("next", "spyre-cosim " + ShellLine(words));
  }
  if (!has_files) {
    verdict.files.emplace_back("journal", planned.out);
    verdict.more = "the results are made when no point is missing, or by --collect";
    return verdict;
  }
  verdict.files.emplace_back("table", planned.out + "/results.csv");
  verdict.files.emplace_back("database", planned.out + "/results.sqlite");
  verdict.files.emplace_back("page", planned.out + "/index.html");
  verdict.more = "results.jsonl beside the table has the same, a point a line";
  return verdict;
}

}  // namespace

std::string SweepText(const PlannedSweep& planned, const SweepResults& results, bool has_files) {
  const std::vector<const SweepRow*> front = Front(results);
  const std::string best = BestText(results, front);
  return best + (best.empty() ? "" : "\n") +
         ToText(VerdictOf(planned, results, front, has_files), {});
}

}  // namespace spyre::cosim
