// SPDX-License-Identifier: Apache-2.0
#include "traces/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/joined.h"
#include "base/printable.h"
#include "base/ranges.h"
#include "traces/critical_path.h"
#include "traces/export/counters.h"
#include "traces/intervals.h"
#include "traces/run_results.h"
#include "traces/summary.h"
#include "traces/text.h"
#include "traces/window.h"

namespace spyre::trace {
namespace {

using Kind = Rule::Kind;

const char* KindName(Kind kind) {
  static constexpr const char* kNames[] = {"kernel", "unit",  "wait",    "counter",
                                           "window", "order", "overlap", "baseline"};
  return kNames[static_cast<size_t>(kind)];
}

double InUs(uint64_t ps) { return static_cast<double>(ps) / 1e6; }

// Collects what a rule finds.
class Judge {
 public:
  explicit Judge(const Rule& rule) { result_.name = rule.name, result_.kind = KindName(rule.kind); }

  void Found(std::string text) { result_.found = std::move(text); }
  void Problem(std::string text) {
    result_.passed = false;
    ++result_.failures;
    if (result_.problems.size() < kProblemsShown) result_.problems.push_back(std::move(text));
  }
  void Within(const Limits& limits, double value, const std::string& what, const char* unit) {
    if (limits.least && value < *limits.least)
      Problem(fmt::format("{}: {:.3f} {}, at least {:g}", what, value, unit, *limits.least));
    if (limits.most && value > *limits.most)
      Problem(fmt::format("{}: {:.3f} {}, at most {:g}", what, value, unit, *limits.most));
  }
  void OneOf(const std::vector<std::string>& allowed, const std::string& resource,
             const std::string& what) {
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), resource) != allowed.end())
      return;
    Problem(fmt::format("{} is bound by {}, not by {}", what, resource, Joined(allowed, " or ")));
  }
  RuleResult Take() { return std::move(result_); }

 private:
  RuleResult result_;
};

std::vector<const Record*> SlicesOf(const Trace& trace, const SliceMatch& match) {
  const uint32_t mask = match.category.empty() ? kAll : CategoryMask({match.category});
  std::vector<const Record*> slices;
  for (const Record& record : trace.records) {
    const Track& track = trace.tracks[record.track];
    if ((record.category & mask) == 0) continue;
    if ((track.process + "/" + track.name).find(match.track) == std::string::npos) continue;
    if (trace.names[record.name].find(match.name) == std::string::npos) continue;
    slices.push_back(&record);
  }
  StableSort(slices, [](const Record* a, const Record* b) { return a->start_ps < b->start_ps; });
  return slices;
}

void JudgeKernels(const Trace& trace, const RunResults& results, const Rule& rule, Judge& judge) {
  uint64_t count = 0;
  uint64_t longest_ps = 0;
  for (const KernelRun& kernel : Kernels(trace)) {
    if (kernel.name.find(rule.match.name) == std::string::npos) continue;
    ++count;
    const uint64_t time_ps = kernel.end_ps - kernel.start_ps;
    longest_ps = std::max(longest_ps, time_ps);
    const std::string what = fmt::format("kernel {} ({})", kernel.number, kernel.name);
    judge.Within(rule.time_us, InUs(time_ps), what, "us");
    if (rule.bound_by.empty()) continue;
    const auto path = results.kernels.find(kernel.flow);
    const std::string bound =
        path == results.kernels.end() ? "none" : BoundOf(path->second).resource;
    judge.OneOf(rule.bound_by, bound, what);
  }
  judge.Found(fmt::format("{} kernels, the longest {:.3f} us", count, InUs(longest_ps)));
  judge.Within(rule.count, static_cast<double>(count), "kernels", "");
  if (count == 0 && rule.count.empty())
    judge.Problem(fmt::format("no kernel's name has \"{}\" in it", rule.match.name));
}

// Units of which slices are counted: union by track, mean over tracks, of the launches.
void JudgeUnits(const Trace& trace, const Interval& launches, const Rule& rule, bool waits,
                Judge& judge) {
  std::map<TrackId, std::vector<Interval>> times;
  for (const Record* record : SlicesOf(trace, rule.match)) {
    const bool is_unit = record->category != kControl && record->category != kStep;
    if (waits ? record->category != kWait : !is_unit) continue;
    std::vector<Interval>& unit = times[record->track];
    if (!waits && record->category == kWait) continue;
    const uint64_t start_ps = std::max(record->start_ps, launches.start_ps);
    const uint64_t end_ps = std::min(record->end_ps, launches.end_ps);
    if (start_ps < end_ps) unit.push_back({start_ps, end_ps});
  }
  if (times.empty() && !waits)
    return judge.Problem(fmt::format("no unit's name has \"{}\" in it", rule.match.track));
  uint64_t sum_ps = 0;
  for (auto& [track, intervals] : times) sum_ps += IntervalSet(std::move(intervals)).length_ps();
  const double mean_ps =
      times.empty() ? 0 : static_cast<double>(sum_ps) / static_cast<double>(times.size());
  const auto window_ps = static_cast<double>(launches.end_ps - launches.start_ps);
  const double percent = 100 * Ratio(mean_ps, window_ps);
  judge.Found(fmt::format("{} units, mean {:.3f} us, {:.1f} % of the launches", times.size(),
                          mean_ps / 1e6, percent));
  judge.Within(rule.percent, percent, waits ? "waits" : "busy", "%");
  judge.Within(rule.time_us, mean_ps / 1e6, "waits", "us");
}

void JudgeCounter(const Trace& trace, const Interval& launches, const Rule& rule, Judge& judge) {
  const Counters counters = CountersOf(trace, launches.start_ps, launches.end_ps);
  for (const Counter& counter : counters.counters) {
    if (counter.name != rule.counter) continue;
    const double sum = std::accumulate(counter.values.begin(), counter.values.end(), 0.0);
    const double mean = Ratio(sum, static_cast<double>(counter.values.size()));
    const double peak = *std::max_element(counter.values.begin(), counter.values.end());
    judge.Found(fmt::format("mean {:.3f} {}, peak {:.3f}", mean, counter.unit, peak));
    judge.Within(rule.percent, mean, "mean", counter.unit.c_str());
    judge.Within(rule.peak, peak, "peak", counter.unit.c_str());
    return;
  }
  std::vector<std::string> names;
  for (const Counter& counter : counters.counters) names.push_back(counter.name);
  judge.Problem(
      fmt::format("no counter \"{}\"; the trace has {}", rule.counter, Joined(names, ", ")));
}

void JudgeWindow(const RunResults& results, const Rule& rule, Judge& judge) {
  if (!results.known()) return judge.Problem("the trace does not say when its launches were");
  const uint64_t window_ps = results.launch_end_ps - results.launch_begin_ps;
  const auto percent = [window_ps](uint64_t ps) {
    return 100 * Ratio(static_cast<double>(ps), static_cast<double>(window_ps));
  };
  const std::string bound = BoundOf(results.path).resource;
  judge.Found(fmt::format("{:.3f} us: card {:.1f} %, host {:.1f} %, idle {:.1f} %; bound by {}",
                          InUs(window_ps), percent(results.card_ps), percent(results.host_ps),
                          percent(results.idle_ps), bound));
  judge.Within(rule.time_us, InUs(window_ps), "launches", "us");
  judge.Within(rule.host, percent(results.host_ps), "host", "%");
  judge.Within(rule.idle, percent(results.idle_ps), "idle", "%");
  judge.OneOf(rule.bound_by, bound, "the run");
}

// Pairs slice i of the first with slice i - shift of the others; calls judge(i, first, other).
template <typename JudgePair>
void ForEachPair(const Trace& trace, const Rule& rule, Judge& judge, JudgePair judge_pair) {
  const std::vector<const Record*> first = SlicesOf(trace, rule.match);
  const std::vector<const Record*> others = SlicesOf(trace, rule.other);
  uint64_t pairs = 0;
  for (uint64_t i = rule.shift; i < first.size() && i - rule.shift < others.size(); ++i, ++pairs)
    judge_pair(i, *first[i], *others[i - rule.shift]);
  judge.Found(fmt::format("{} pairs, of {} and {} slices", pairs, first.size(), others.size()));
  if (pairs == 0)
    judge.Problem(fmt::format("nothing to compare: {} slices of {}, {} of {}", first.size(),
                              rule.match.ToString(), others.size(), rule.other.ToString()));
}

void JudgeOrder(const Trace& trace, const Rule& rule, Judge& judge) {
  ForEachPair(trace, rule, judge, [&](uint64_t i, const Record& first, const Record& then) {
    if (first.end_ps <= then.start_ps) return;
    judge.Problem(fmt::format("slice {} ends at {}, and {} begins at {}", i,
                              FormatTime(first.end_ps), i - rule.shift, FormatTime(then.start_ps)));
  });
}

void JudgeOverlap(const Trace& trace, const Rule& rule, Judge& judge) {
  ForEachPair(trace, rule, judge, [&](uint64_t i, const Record& of, const Record& with) {
    const uint64_t start_ps = std::max(of.start_ps, with.start_ps);
    const uint64_t end_ps = std::min(of.end_ps, with.end_ps);
    const uint64_t common_ps = end_ps > start_ps ? end_ps - start_ps : 0;
    const double percent =
        100 * Ratio(static_cast<double>(common_ps), static_cast<double>(of.end_ps - of.start_ps));
    judge.Within(rule.percent, percent, fmt::format("slice {} with {}", i, i - rule.shift), "%");
  });
}

void JudgeBaseline(const Trace& trace, const RunResults& results, const Rule& rule, Judge& judge) {
  const Trace base = ReadTrace(rule.file);
  const RunResults base_results = ParseRunResults(base.results);
  uint64_t compared = 0;
  const auto compare = [&](const std::string& what, uint64_t before_ps, uint64_t now_ps) {
    ++compared;
    const double change =
        100 * (Ratio(static_cast<double>(now_ps), static_cast<double>(before_ps)) - 1);
    if (change > rule.tolerance_percent)
      judge.Problem(fmt::format("{}: {} instead of {}, {:+.1f} %, at most {:+g} %", what,
                                FormatTime(now_ps), FormatTime(before_ps), change,
                                rule.tolerance_percent));
  };
  if (results.known() && base_results.known()) {
    compare("launches", base_results.launch_end_ps - base_results.launch_begin_ps,
            results.launch_end_ps - results.launch_begin_ps);
  }
  const Summary before = Summarize(base), now = Summarize(trace);
  for (const OperationSummary& old : before.operations) {
    const auto found = FindIf(now.operations, [&old](const OperationSummary& operation) {
      return operation.name == old.name;
    });
    if (!old.is_kernel) continue;
    if (found == now.operations.end()) {
      judge.Problem(fmt::format("{} is not in the trace any more", old.name));
    } else {
      compare(old.name, old.total_ps, found->total_ps);
    }
  }
  judge.Found(fmt::format("{} times compared with {}", compared, rule.file));
  if (compared == 0) judge.Problem("the baseline has neither launches nor kernels");
}

RuleResult CheckRule(const Trace& trace, const RunResults& results, const Rule& rule) {
  Judge judge(rule);
  const Interval launches = LaunchWindow(trace);
  switch (rule.kind) {
    case Kind::kKernel:
      JudgeKernels(trace, results, rule, judge);
      break;
    case Kind::kUnit:
      JudgeUnits(trace, launches, rule, false, judge);
      break;
    case Kind::kWait:
      JudgeUnits(trace, launches, rule, true, judge);
      break;
    case Kind::kCounter:
      JudgeCounter(trace, launches, rule, judge);
      break;
    case Kind::kWindow:
      JudgeWindow(results, rule, judge);
      break;
    case Kind::kOrder:
      JudgeOrder(trace, rule, judge);
      break;
    case Kind::kOverlap:
      JudgeOverlap(trace, rule, judge);
      break;
    case Kind::kBaseline:
      JudgeBaseline(trace, results, rule, judge);
      break;
  }
  return judge.Take();
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::vector<RuleResult> CheckRules(const Trace& trace, const std::vector<Rule>& rules) {
  const RunResults results = ParseRunResults(trace.results);
  std::vector<RuleResult> checked;
  checked.reserve(rules.size());
  for (const Rule& rule : rules) checked.push_back(CheckRule(trace, results, rule));
  return checked;
}

bool AllPassed(const std::vector<RuleResult>& results) {
  return AllFit(results, [](const RuleResult& result) { return result.passed; });
}

std::string ToText(const std::vector<RuleResult>& results) {
  std::string text;
  for (const RuleResult& result : results) {
    text += fmt::format("{} {}: {}\n", result.passed ? "ok    " : "FAILED", Printable(result.name),
                        Printable(result.found));
    for (const std::string& problem : result.problems)
      text += fmt::format("         {}\n", Printable(problem));
    if (result.failures > result.problems.size())
      text += fmt::format("         ... {} more\n", result.failures - result.problems.size());
  }
  const auto failed = std::count_if(results.begin(), results.end(),
                                    [](const RuleResult& result) { return !result.passed; });
  return text + (failed == 0 ? fmt::format("all {} rules kept\n", results.size())
                             : fmt::format("{} of {} rules FAILED\n", failed, results.size()));
}

nlohmann::json ToJson(const std::vector<RuleResult>& results) {
  auto rules = nlohmann::json::array();
  for (const RuleResult& result : results) {
    rules.push_back({{"name", result.name},
                     {"kind", result.kind},
                     {"passed", result.passed},
                     {"found", result.found},
                     {"failures", result.failures},
                     {"problems", result.problems}});
  }
  return {{"passed", AllPassed(results)}, {"rules", std::move(rules)}};
}

std::string ToJunit(const std::vector<RuleResult>& results, const std::string& suite) {
  const auto failed = std::count_if(results.begin(), results.end(),
                                    [](const RuleResult& result) { return !result.passed; });
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
      Escaped(Printable(suite)), results.size(), failed);
  for (const RuleResult& result : results) {
    xml += fmt::format("<testcase classname=\"{}\" name=\"{}\">", Escaped(result.kind),
                       Escaped(Printable(result.name)));
    if (!result.passed) {
      xml += fmt::format("<failure message=\"{} of the rule\">{}</failure>", result.failures,
                         Escaped(Printable(fmt::format("{}", Joined(result.problems, "; ")))));
    }
    xml +=
        fmt::format("<system-out>{}</system-out></testcase>\n", Escaped(Printable(result.found)));
  }
  return xml + "</testsuite>\n</testsuites>\n";
}

}  // namespace spyre::trace
