// SPDX-License-Identifier: Apache-2.0
// The result of `tune` for people.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/terminal.h"
#include "cosim/tune/history.h"
#include "cosim/tune/tune.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

constexpr size_t kBestRows = 5;
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
  return text + "\n";
}

std::string VerifiedText(const TuneResult& result) {
  std::string text;
  for (const VerifiedPlan& plan : result.verified) {
    if (plan.result.right()) continue;
    text += fmt::format("WRONG: {}: {}\n", TextOf(result.search.trials[plan.trial].plan),
                        plan.result.reason);
  }
  for (const std::string& unmet : result.judged.unmet) text += "NOT MET " + unmet + "\n";
  if (!result.functional) return text + "not verified: timing only (workload.functional = false)\n";
  return text + (result.is_right() ? "verified: the best plan was run with data\n"
                                   : "no plan that was run with data is right\n");
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
       at != best.end() && shown.size() < kBestRows; ++at) {
    const TuneTrial& trial = result.search.trials[*at];
    if (*at != 0 && value(trial) != value(result.given()) && shown.insert(value(trial)).second)
      add(trial);
  }
  add(result.given());
  return "Best plans:\n" + table.ToString("  ", width);
}

// On one line, and not all of a long list of tables.
std::string OneLine(const std::string& reason) {
  constexpr size_t kMost = 240;
  std::string line;
  for (const char c : reason) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return line.size() <= kMost ? line : line.substr(0, kMost) + " ...";
}

std::string ReasonsText(const TuneResult& result) {
  const auto reasons = ReasonsOf(result);
  if (reasons.empty()) return "";
  uint64_t count = 0;
  for (const auto& [reason, plans] : reasons) count += plans;
  std::string text = fmt::format("\nInfeasible, {} {}:\n", count, count == 1 ? "plan" : "plans");
  for (size_t i = 0; i < std::min(reasons.size(), kReasons); ++i)
    text += fmt::format("  {} x {}\n", reasons[i].second, OneLine(reasons[i].first));
  if (reasons.size() > kReasons)
    text += fmt::format("  ... {} more reasons\n", reasons.size() - kReasons);
  return text;
}

}  // namespace

std::string ToText(const TuneResult& result, const std::string& program, size_t width) {
  const TuneTrial& best = result.best_trial();
  const char* const figure = NumberFigures()[result.objective].name;
  const std::string history = fmt::format("History: {}\n         {}\nPage:    {}\n",
                                          result.csv_path, result.lines_path, result.page_path);
  if (!result.is_right()) {
    return Wrap(fmt::format("{}: {} {} as given; no plan to take\n", result.config, figure,
                            FigureText(result, result.given())) +
                    CountsText(result) + VerifiedText(result) + ReasonsText(result),
                width) +
           "\n" + history;
  }
  std::string text = result.best == 0
                         ? fmt::format("{}: {} {} as given; no plan is better\n", result.config,
                                       figure, FigureText(result, best))
                         : fmt::format("{}: {} {} as given, {} at best ({})\n", result.config,
                                       figure, FigureText(result, result.given()),
                                       FigureText(result, best), ChangeText(result, best));
  text = Wrap(text + CountsText(result) + VerifiedText(result), width) + "\n";
  text += BestTable(result, width) + Wrap(ReasonsText(result), width);
  // Names of files are not broken: they are there to be copied.
  return text + fmt::format("\nPlan:    {0}\n{1}\nNext:\n\n  {2} run {0}\n", result.plan_path,
                            history, program);
}

}  // namespace spyre::cosim
