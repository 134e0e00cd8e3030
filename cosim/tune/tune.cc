// SPDX-License-Identifier: Apache-2.0
#include "cosim/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/joined.h"
#include "cosim/session/output_directory.h"
#include "cosim/trials/progress.h"
#include "cosim/tune/history.h"
#include "cosim/tune/plan_file.h"
#include "cosim/tune/space_of.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

// A program of fewer launches is simulated on the timed card in no more time than on the fast one.
constexpr double kManyKernels = 16;
// Wrong numbers are a defect of the compiler; so many plans have it before the search gives up.
constexpr size_t kMostVerified = 8;

size_t ObjectiveOf(const std::string& name) {
  std::string figure = name;
  if (name == "time") figure = "launch_ns";
  if (name == "energy") figure = "energy_uj";
  if (name == "edp") figure = "energy_delay_uj_us";
  std::vector<std::string> names;
  for (const Figure& known : NumberFigures()) {
    if (figure == known.name) return names.size();
    names.emplace_back(known.name);
  }
  throw BadInput("--objective {}: there is no figure '{}'; there are {}", name, figure,
                 Joined(names, ", "))
      .Subject("--objective")
      .Value(name);
}

class Tuner {
 public:
  Tuner(const TuneOptions& options, const ConfigReader& reader, std::ostream& messages)
      : options_(options), reader_(reader), messages_(messages) {
    result_.config = options.config;
    result_.objective = ObjectiveOf(options.objective);
    result_.budget = options.budget;
    result_.seed = options.seed;
  }

  TuneResult Run() {
    const RunConfig base = Apply({});
    result_.functional = base.workload.functional;
    const auto space =
        SpaceOf(base, FixedKeys(options_.sets), [&](const Plan& plan) { return Apply(plan); });
    const std::string out = options_.out.empty()
                                ? "out/tune-" + fs::path(options_.config).stem().string()
                                : options_.out;
    const OutputDirectory directory(out);  // before the search, which may take hours
    result_.plan_path = out + "/best.toml";
    result_.csv_path = out + "/history.csv";
    result_.lines_path = out + "/history.jsonl";
    result_.page_path = out + "/index.html";
    const OutputClaim claim(result_.plan_path);

    SearchOptions search;
    search.budget = options_.budget;
    search.seed = options_.seed;
    search.score = [&](const TrialResult& result) { return ScoreOf(result); };
    // Pipelined hardware is refused there, and a card that is not timed has no better.
    search.may_be_fast = [&](const TrialResult& given) {
      return base.card.fidelity == model::Fidelity::kTimed &&
             base.card.concurrency == model::Concurrency::kSerial &&
             !NumberFigures()[result_.objective].is_energy &&  // of which there is no closed form
             given.Number("kernels") >= kManyKernels;
    };
    {
      TrialProgress progress("tune", options_.budget, messages_);
      result_.search = Search(*space, search, [&](Stage stage, const std::vector<Plan>& plans) {
        return Try(stage, plans, progress);
      });
    }
    ChooseBest();
    WriteFile(result_.csv_path, HistoryCsv(result_), "history");
    WriteFile(result_.lines_path, HistoryLines(result_), "history");
    WriteFile(result_.page_path, HistoryPage(result_), "page");
    return std::move(result_);
  }

 private:
  RunConfig Apply(const Plan& plan, Stage stage = Stage::kGiven) const {
    std::vector<std::string> sets = options_.sets;
    for (std::string& set : SetsOf(plan)) sets.push_back(std::move(set));
    if (stage == Stage::kFast) sets.emplace_back("card.fidelity=fast");
    return reader_(options_.config, sets);
  }

  double ScoreOf(const TrialResult& result) const {
    if (!result.ended()) return INFINITY;
    const double value = result.numbers[result_.objective];
    if (std::isnan(value)) return INFINITY;  // the workload has no such figure
    return NumberFigures()[result_.objective].more_is_better ? -value : value;
  }

  std::vector<TrialResult> Try(Stage stage, const std::vector<Plan>& plans,
                               TrialProgress& progress) const {
    std::vector<TrialResult> results(plans.size());
    TrialOptions trials;
    trials.jobs = options_.jobs;
    RunTrials(
        plans.size(), [&](size_t number) { return Apply(plans[number], stage); }, trials,
        [&](size_t number, TrialResult result) {
          if (stage != Stage::kFast && result.ended()) progress.Ended();
          results[number] = std::move(result);
        });
    if (stage == Stage::kGiven) RequireGiven(results.front());
    return results;
  }

  // Called before anything else is tried.
  void RequireGiven(const TrialResult& given) const {
    RequireEnded(given);
    if (std::isnan(given.numbers[result_.objective])) {
      throw BadInput("--objective {}: a run of {} has no {}", options_.objective, options_.config,
                     NumberFigures()[result_.objective].name)
          .Subject("--objective");
    }
  }

  // What was written is what is verified: the file is read again.
  void ChooseBest() {
    const std::vector<size_t>& candidates = result_.search.best;
    for (size_t i = 0; i < std::min(candidates.size(), kMostVerified); ++i) {
      result_.best = candidates[i];
      WriteFile(result_.plan_path, PlanFile(Apply(result_.best_trial().plan), result_), "plan");
      TrialOptions trials;
      trials.verify = result_.functional;
      trials.judge = true;
      result_.judged = RunTrials({LoadConfig(result_.plan_path)}, trials).front();
      if (result_.functional) result_.verified.push_back({result_.best, result_.judged});
      if (result_.is_right()) return;
    }
    // A plan with wrong numbers is not a plan.
    std::error_code ignored;
    fs::remove(result_.plan_path, ignored);
    result_.plan_path.clear();
  }

  const TuneOptions& options_;
  const ConfigReader& reader_;
  std::ostream& messages_;
  TuneResult result_;
};

}  // namespace

TuneResult Tune(const TuneOptions& options, const ConfigReader& reader, std::ostream& messages) {
  return Tuner(options, reader, messages).Run();
}

}  // namespace spyre::cosim
