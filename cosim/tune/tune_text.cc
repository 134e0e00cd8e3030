// SPDX-License-Identifier: Apache-2.0
// The result of `tune` for people.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/verdict.h"
#include "cosim/tune/history.h"
#include "cosim/tune/tune.h"
#include "traces/path_causes.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

constexpr size_t kBestPlans = 5;
constexpr size_t kReasons = 3;

std::string CountsText(const TuneResult& result) {
  std::map<Stage, size_t> counts;
  for (const TuneTrial& trial : result.search.trials) ++counts[trial.stage];
  std::string text = fmt::format("{} plans; trials: ", result.search.plans);
  const char* separator = "";
  for (const auto& [stage, count] : counts) {
    text += fmt::format("{}{} {}", separator, count, Name(stage));
    separator = ", ";
  }
  return text;
}

std::vector<std::string> ProblemsOf(const TuneResult& result) {
  std::vector<std::string> problems;
  for (const VerifiedPlan& plan : result.verified) {
    if (!plan.result.right())
      problems.push_back(fmt::format("WRONG: {}: {}", TextOf(result.search.trials[plan.trial].plan),
                                     plan.result.reason));
  }
  for (const std::string& unmet : result.judged.unmet) problems.push_back("NOT MET " + unmet);
  return problems;
}

// Plans of the same figure as one above are left out: most of them differ in what has no influence.
std::string BestTable(const TuneResult& result, size_t width) {
  trace::Table table({"plan", NumberFigures()[result.objective].name, "change", "expected"});
  const auto value = [&](const TuneTrial& trial) { return trial.result.numbers[result.objective]; };
  const auto add = [&](const TuneTrial& trial) {
    const auto& expected = trial.plan.expected_ns;
    table.Add({TextOf(trial.plan), FigureText(result, trial), ChangeText(result, trial),
               expected ? trace::FormatTime(static_cast<uint64_t>(*expected * 1000)) : "-"});
  };
  const std::vector<size_t>& best = result.search.best;
  std::set<double> shown;
  for (auto at = std::find(best.begin(), best.end(), result.best);
       at != best.end() && shown.size() < kBestPlans; ++at) {
    const TuneTrial& trial = result.search.trials[*at];
    if (*at != 0 && value(trial) != value(result.given()) && shown.insert(value(trial)).second)
      add(trial);
  }
  add(result.given());
  return "Best plans:\n" + table.ToString("  ", width);
}

// On one line, and not all of a long list of tables.
std::string OneLine(const std::string& reason) {
  constexpr size_t kMostCharacters = 240;
  std::string line;
  for (const char c : reason) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return line.size() <= kMostCharacters ? line : line.substr(0, kMostCharacters) + " ...";
}

// Plans that did not run, by their reasons.
std::vector<std::string> NotesOf(const TuneResult& result) {
  std::vector<std::string> notes;
  const auto reasons = ReasonsOf(result);
  for (size_t i = 0; i < std::min(reasons.size(), kReasons); ++i) {
    notes.push_back(fmt::format("{} {} infeasible: {}", reasons[i].second,
                                reasons[i].second == 1 ? "plan is" : "plans are",
                                OneLine(reasons[i].first)));
  }
  return notes;
}

std::string ComparedText(const TuneResult& result) {
  const std::string given = FigureText(result, result.given());
  if (!result.is_right()) return fmt::format("{} as given; no plan to take", given);
  if (result.best == 0) return fmt::format("{} as given; no plan is better", given);
  return fmt::format("{} as given, {} at best ({})", given, FigureText(result, result.best_trial()),
                     ChangeText(result, result.best_trial()));
}

Verdict VerdictOf(const TuneResult& result, const std::string& program) {
  Verdict verdict;
  const std::string figure = NumberFigures()[result.objective].name;
  verdict.ran = fmt::format("{}: {}", result.config, CountsText(result));
  verdict.checked = "timing only (workload.functional = false)";
  if (result.functional) {
    verdict.right = result.is_right() ? Rightness::kRight : Rightness::kWrong;
    verdict.checked = result.is_right() ? "the best plan was run with data"
                                        : "no plan that was run with data is right";
  }
  verdict.problems = ProblemsOf(result);
  verdict.notes = NotesOf(result);
  verdict.time =
      fmt::format("{}{}", figure == "launch_ns" ? "" : figure + " ", ComparedText(result));
  verdict.trust = "that of the run of a plan, which says it";
  if (const std::vector<std::string>& texts = result.best_trial().result.texts; !texts.empty())
    verdict.bound = fmt::format("{} with the best plan", trace::ResourceText(texts[0]));
  if (result.is_right()) {
    verdict.files.emplace_back("next", fmt::format("{} run {}", program, result.plan_path));
    verdict.files.emplace_back("plan", result.plan_path);
  }
  verdict.files.emplace_back("history", result.csv_path);
  verdict.files.emplace_back("page", result.page_path);
  return verdict;
}

}  // namespace

std::string ToText(const TuneResult& result, const std::string& program, size_t width) {
  TextStyle style;
  style.width = width;
  return (result.is_right() ? BestTable(result, width) + "\n" : "") +
         ToText(VerdictOf(result, program), style);
}

}  // namespace spyre::cosim
