// SPDX-License-Identifier: Apache-2.0
#include "cosim/what_if/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "base/verdict.h"
#include "cosim/config/effect.h"
#include "cosim/trials/progress.h"
#include "cosim/what_if/resources.h"
#include "traces/path_causes.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kSimulated = 5;
constexpr size_t kRows = 12;
constexpr uint64_t kMaxReportBytes = uint64_t{1} << 30;
constexpr const char* kDivision = "workload.division";

// A change of the whole card or of the compilation, of which the effect on one kernel is looked at.
struct Question {
  std::string what;
  std::vector<std::string> sets;
};

std::vector<std::string> Both(std::vector<std::string> sets, const std::vector<std::string>& own) {
  sets.insert(sets.end(), own.begin(), own.end());
  return sets;
}

const trace::Need* NeedOf(const std::string& name) {
  for (const trace::Need& need : trace::Needs())
    if (name == need.name) return &need;
  return nullptr;
}

std::string LessOf(const trace::Need& need, double factor) {
  return factor == 2 ? fmt::format("half the {}", need.text)
                     : fmt::format("1/{:g} of the {}", factor, need.text);
}

// Less of each need: the resources that serve it are faster. A need of which nothing can become
// faster on this card is no question.
std::vector<Question> NeedQuestions(const RunConfig& config, double factor) {
  std::vector<Question> questions;
  for (const trace::Need& need : trace::Needs()) {
    Question question{LessOf(need, factor), {}};
    for (const ResourceParameters& resource : Resources()) {
      const std::vector<std::string>& served = need.resources;
      if (std::find(served.begin(), served.end(), resource.resource) == served.end()) continue;
      question.sets = Both(std::move(question.sets), FasterSets(config, resource, factor));
    }
    if (!question.sets.empty()) questions.push_back(std::move(question));
  }
  return questions;
}

// And the other rule of division, if there is one.
std::vector<Question> QuestionsOf(const RunConfig& config, double factor) {
  std::vector<Question> questions = NeedQuestions(config, factor);
  const std::string& cost =
      compiler::SplitRuleNames().at(static_cast<size_t>(compiler::SplitRule::kCost));
  if (HasEffect(config, kDivision) && config.workload.division != compiler::SplitRule::kCost)
    questions.push_back(
        {fmt::format("{} = {}", kDivision, cost), {fmt::format("{}={}", kDivision, cost)}});
  return questions;
}

const TrialKernel* Find(const std::vector<TrialKernel>& kernels, const std::string& name) {
  const auto found =
      FindIf(kernels, [&](const TrialKernel& kernel) { return kernel.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

void SortByGain(KernelsAnswer& answer) {
  for (KernelAnswer& kernel : answer.kernels) {
    StableSort(kernel.changes,
               [](const KernelChange& a, const KernelChange& b) { return a.gain > b.gain; });
  }
  StableSort(answer.kernels, [](const KernelAnswer& a, const KernelAnswer& b) {
    if (a.changes.empty() != b.changes.empty()) return b.changes.empty();
    return a.Gain() > b.Gain();
  });
}

std::vector<TrialResult> Simulate(const WhatIfOptions& options, size_t count,
                                  const TrialConfig& config, std::ostream& messages) {
  std::vector<TrialResult> results(count);
  TrialOptions trials;
  trials.jobs = options.jobs;
  trials.kernels = true;
  TrialProgress progress("what-if", count, messages);
  RunTrials(count, config, trials, [&](size_t number, TrialResult result) {
    results[number] = std::move(result);
    progress.Ended();
  });
  return results;
}

// The whole program is simulated again for each question, which answers it for every kernel.
KernelsAnswer AskConfiguration(const WhatIfOptions& options, const ConfigReader& reader,
                               std::ostream& messages) {
  const RunConfig config = reader(options.config, options.sets);
  const TrialResult base =
      Simulate(
          options, 1, [&](size_t) -> const RunConfig& { return config; }, messages)
          .front();
  RequireEnded(base);
  KernelsAnswer answer;
  // Cards are alike and work side by side: what counts is a card's part.
  const double cards = std::max(1.0, static_cast<double>(config.cards.count));
  answer.window_ns = base.Number(cards > 1 ? "program_ns" : "launch_ns");
  answer.overlap = base.Number("device_ns") / cards > answer.window_ns;
  const std::vector<Question> questions = QuestionsOf(config, options.factor);
  const std::vector<TrialResult> results = Simulate(
      options, questions.size(),
      [&](size_t number) {
        return reader(options.config, Both(options.sets, questions[number].sets));
      },
      messages);
  for (const TrialKernel& kernel : base.kernels) {
    KernelAnswer& one = answer.kernels.emplace_back();
    one.kernel = kernel;
    one.share = kernel.device_ns / cards / answer.window_ns;
    if (answer.kernels.size() > kSimulated) continue;
    for (size_t i = 0; i < questions.size(); ++i) {
      KernelChange change{questions[i].what, questions[i].sets, results[i].status,
                          results[i].reason, 0};
      const TrialKernel* const changed = Find(results[i].kernels, kernel.name);
      if (changed == nullptr && results[i].ended()) continue;  // it has become another kernel
      if (changed != nullptr)
        change.gain = (kernel.device_ns - changed->device_ns) / cards / answer.window_ns;
      one.changes.push_back(std::move(change));
    }
  }
  return answer;
}

// A kernel of a program, as `exec` reports it.
struct ProgramKernel {
  TrialKernel kernel;
  std::string kept;  // directory of its bundle
};

// By `kernel_ranking`, which has the largest estimate first.
std::vector<ProgramKernel> ProgramKernelsOf(const Json& report) {
  std::vector<ProgramKernel> kernels;
  for (const Json& ranked : report.at("kernel_ranking")) {
    ProgramKernel& one = kernels.emplace_back();
    TrialKernel& kernel = one.kernel;
    kernel.name = ranked.at("name").get<std::string>();
    kernel.launches = ranked.at("launches").get<uint64_t>();
    kernel.device_ns = ranked.at("device_ns").get<double>();
    if (ranked.at("bound_by").is_string()) kernel.bound_by = ranked["bound_by"].get<std::string>();
    if (ranked.at("half_of").is_string()) kernel.half_of = ranked["half_of"].get<std::string>();
    kernel.estimate = -ranked.at("change").get<double>();
    for (const Json& json : report.at("kernels")) {
      if (json.at("name") != ranked["name"]) continue;
      one.kept = json.value("kept", "");
      const Json operations = json.value("operations", Json::array());
      if (!operations.empty()) kernel.parts = operations.front().get<std::string>();
    }
  }
  return kernels;
}

// The kept bundle of each kernel is simulated alone; its program launches it so many times.
KernelsAnswer AskProgram(const WhatIfOptions& options, const Json& report,
                         const ConfigReader& reader, std::ostream& messages) {
  KernelsAnswer answer;
  answer.window_ns = report.at("window").at("window_ns").get<double>();
  if (!(answer.window_ns > 0))
    throw BadInput("what-if: the program of {} has launched nothing", options.config)
        .Subject(options.config);
  const std::vector<ProgramKernel> kernels = ProgramKernelsOf(report);
  struct Trial {
    size_t kernel;
    Question question;  // without sets: the bundle as it is
  };
  std::vector<Trial> trials;
  double device_ns = 0;
  for (const ProgramKernel& kernel : kernels) {
    KernelAnswer& one = answer.kernels.emplace_back();
    one.kernel = kernel.kernel;
    one.share = kernel.kernel.device_ns / answer.window_ns;
    device_ns += kernel.kernel.device_ns;
    const size_t number = answer.kernels.size() - 1;
    if (number >= kSimulated) continue;
    if (kernel.kept.empty() || !fs::is_directory(kernel.kept)) {
      one.not_simulated = "its bundle is not kept";
      continue;
    }
    const RunConfig config = reader(kernel.kept, options.sets);
    trials.push_back({number, {}});
    for (Question& question : NeedQuestions(config, options.factor))
      trials.push_back({number, std::move(question)});
  }
  answer.overlap = device_ns > answer.window_ns;
  const std::vector<TrialResult> results = Simulate(
      options, trials.size(),
      [&](size_t number) {
        const Trial& trial = trials[number];
        return reader(kernels[trial.kernel].kept, Both(options.sets, trial.question.sets));
      },
      messages);
  double alone_ns = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    KernelAnswer& one = answer.kernels[trials[i].kernel];
    const double ns = results[i].ended() ? results[i].Number("device_ns") : 0;
    if (trials[i].question.sets.empty()) {
      alone_ns = ns;
      if (!results[i].ended()) one.not_simulated = results[i].reason;
      continue;
    }
    if (!(alone_ns > 0)) continue;
    const double gain = results[i].ended() ? one.share * (1 - ns / alone_ns) : 0;
    one.changes.push_back({trials[i].question.what, trials[i].question.sets, results[i].status,
                           results[i].reason, gain});
  }
  return answer;
}

// What `exec` has left in that directory; null: it is none of those.
Json ProgramReportIn(const std::string& directory) {
  const fs::path path = fs::path(directory) / "report.json";
  std::error_code error;
  if (!fs::is_directory(directory, error) || !fs::is_regular_file(path, error)) return nullptr;
  Json report = JsonIfAny(ReadFile(path.string(), "report", kMaxReportBytes));
  if (!report.is_object() || !report.contains("program")) return nullptr;
  return report;
}

// "batchmatmul 64x512x256 (sdsc_0.json and 7 more)".
std::string NameOf(const TrialKernel& kernel) {
  return kernel.name + (kernel.parts.empty() ? "" : " (" + kernel.parts + ")");
}

std::string GainText(double gain) { return fmt::format("{:+.1f} %", -100 * gain); }

Verdict VerdictOf(const KernelsAnswer& answer) {
  Verdict verdict;
  const auto simulated = static_cast<size_t>(
      std::count_if(answer.kernels.begin(), answer.kernels.end(),
                    [](const KernelAnswer& kernel) { return !kernel.changes.empty(); }));
  verdict.ran = fmt::format("{}, {} kernels ranked, {} of them simulated with changes",
                            answer.config, answer.kernels.size(), simulated);
  verdict.checked = "times only";
  verdict.time = fmt::format("{} of the program",
                             trace::FormatTime(static_cast<uint64_t>(answer.window_ns * 1000)));
  for (const KernelAnswer& kernel : answer.kernels) {
    if (kernel.changes.empty() || verdict.next.size() == 2) break;
    const KernelChange& best = kernel.changes.front();
    if (!(best.gain > 0)) break;
    verdict.next.push_back(fmt::format(
        "{} {}, with {}: {}{:.1f} % less time (simulated)", verdict.next.empty() ? "first" : "then",
        NameOf(kernel.kernel), best.what, answer.overlap ? "at most " : "", 100 * best.gain));
  }
  if (answer.overlap)
    verdict.notes.emplace_back(
        "kernels run beside each other: one that gets shorter may be hidden");
  return verdict;
}

}  // namespace

double KernelAnswer::Gain() const {
  return changes.empty() ? kernel.estimate : changes.front().gain;
}

KernelsAnswer AskKernels(const WhatIfOptions& options, const ConfigReader& reader,
                         std::ostream& messages) {
  if (!(options.factor > 1))
    throw BadInput("--factor {}: must be above 1", options.factor).Subject("--factor");
  const Json report = ProgramReportIn(options.config);
  KernelsAnswer answer;
  try {
    answer = report.is_object() ? AskProgram(options, report, reader, messages)
                                : AskConfiguration(options, reader, messages);
  } catch (const Json::exception& error) {
    throw BadInput("{}/report.json: {}", options.config, error.what()).Subject(options.config);
  }
  answer.config = options.config;
  answer.factor = options.factor;
  SortByGain(answer);
  return answer;
}

Json ToJson(const KernelsAnswer& answer) {
  Json kernels = Json::array();
  for (const KernelAnswer& kernel : answer.kernels) {
    Json changes = Json::array();
    for (const KernelChange& change : kernel.changes) {
      changes.push_back({{"what", change.what},
                         {"set", change.sets},
                         {"status", Name(change.status)},
                         {"reason", change.reason},
                         {"change", -change.gain}});
    }
    kernels.push_back({{"name", kernel.kernel.name},
                       {"launches", kernel.kernel.launches},
                       {"device_ns", kernel.kernel.device_ns},
                       {"share", kernel.share},
                       {"parts", kernel.kernel.parts},
                       {"bound_by", kernel.kernel.bound_by},
                       {"change", -kernel.Gain()},
                       {"estimate", kernel.changes.empty()},
                       {"estimated_change", -kernel.kernel.estimate},
                       {"changes", std::move(changes)}});
    if (!kernel.not_simulated.empty()) kernels.back()["not_simulated"] = kernel.not_simulated;
  }
  return {{"config", answer.config},
          {"factor", answer.factor},
          {"window_ns", answer.window_ns},
          {"at_most", answer.overlap},
          {"kernels", std::move(kernels)}};
}

std::string ToText(const KernelsAnswer& answer, size_t width) {
  trace::Table table({"program", "kernel", "with", "of all", "launches", "time"}, 3);
  size_t shown = 0;
  for (const KernelAnswer& kernel : answer.kernels) {
    if (shown++ == kRows) break;
    const trace::Need* const need = NeedOf(kernel.kernel.half_of);
    const bool simulated = !kernel.changes.empty();
    table.Add({GainText(kernel.Gain()), NameOf(kernel.kernel),
               simulated         ? kernel.changes.front().what
               : need == nullptr ? "(estimate)"
                                 : LessOf(*need, answer.factor) + " (estimate)",
               trace::FormatPercent(kernel.share), std::to_string(kernel.kernel.launches),
               trace::FormatTime(static_cast<uint64_t>(kernel.kernel.device_ns * 1000))});
  }
  std::string text = "Kernels, by what a change of each would take off the program:\n" +
                     table.ToString("  ", width);
  if (answer.kernels.size() > kRows)
    text += fmt::format("  and {} more: --json lists them\n", answer.kernels.size() - kRows);
  for (const KernelAnswer& kernel : answer.kernels) {
    if (!kernel.not_simulated.empty())
      text += Wrap(
          fmt::format("  {} was not simulated: {}\n", NameOf(kernel.kernel), kernel.not_simulated),
          width);
  }
  TextStyle style;
  style.width = width;
  return text + "\n" + ToText(VerdictOf(answer), style);
}

}  // namespace spyre::cosim
