// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/calibrate.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/files.h"
#include "base/ranges.h"
#include "cosim/calibrate/calibrate_report.h"
#include "cosim/calibrate/fit_report.h"
#include "cosim/calibrate/saved_times.h"
#include "cosim/calibrate/scatter_plot.h"
#include "cosim/estimate/kernel_estimate.h"
#include "cosim/trials/progress.h"
#include "cosim/trials/run_trials.h"
#include "cosim/workload/resolve.h"

namespace spyre::cosim {
namespace {

PointResult PointOf(const TrialResult& trial) {
  PointResult point;
  if (!trial.ended()) {
    point.failure = trial.reason;
    return point;
  }
  constexpr double kPsPerNs = 1000;
  point.device_ps = static_cast<uint64_t>(std::llround(trial.Number("device_ns") * kPsPerNs));
  if (point.device_ps == 0) point.failure = "the kernel took no time";
  return point;
}

// By the closed form, which needs no process of its own.
PointResult EstimatePoint(const RunConfig& config) {
  PointResult point;
  try {
    double ns = 0;
    for (const KernelLaunches& kernel : ResolveWorkload(config)->Work().kernels)
      ns += static_cast<double>(kernel.launches) * Estimate(kernel, config.card).ns;
    constexpr double kPsPerNs = 1000;
    point.device_ps = static_cast<uint64_t>(std::llround(ns * kPsPerNs));
  } catch (const Error& error) {
    point.failure = error.what();
  }
  return point;
}

RunConfig BaseConfig(const CalibrateOptions& options) {
  std::vector<std::string> sets;
  if (!options.card.empty()) sets.push_back("card.preset=" + TomlString(options.card));
  for (const std::string& set : options.sets) {
    if (set.rfind("workload", 0) == 0) {
      throw BadInput("--set {}: the workload is the calibration point; set card, host or runtime",
                     set);
    }
    sets.push_back(set);
  }
  return LoadConfig("", sets);
}

RunConfig WithFidelity(RunConfig config, model::Fidelity fidelity) {
  config.card.fidelity = fidelity;
  return config;
}

// Fits, and confirms by the timed model before anything is written.
class FitOfCard {
 public:
  FitOfCard(const RunConfig& base, const std::vector<CalibrationPoint>& points, uint64_t jobs,
            std::ostream& messages)
      : base_(base), points_(points), jobs_(jobs), messages_(messages) {}

  void Run() {
    fit_ = FitCard(base_, points_);
    times_.formula_before = Times(base_, model::Fidelity::kFast);
    times_.timed_before = Times(base_, model::Fidelity::kTimed);
    Time();
    const double before = RmsOf(points_, times_.timed_before, false);
    const double after = RmsOf(points_, times_.timed_after, false);
    constexpr double kSlack = 0.0005;
    if (after <= before + kSlack) return;
    fit_ = FitCard(base_, points_,
                   fmt::format("with numbers that the timed model reads too, its RMS error grows "
                               "from {:.1f} to {:.1f} %",
                               before * 100, after * 100));
    Time();
  }

  const CardFit& fit() const { return fit_; }
  const FitTimes& times() const { return times_; }

 private:
  void Time() {
    times_.formula_after = Times(fit_.card, model::Fidelity::kFast);
    times_.timed_after =
        fit_.ChangesTimed() ? Times(fit_.card, model::Fidelity::kTimed) : times_.timed_before;
  }
  std::vector<PointResult> Times(const RunConfig& card, model::Fidelity fidelity) {
    std::vector<PointResult> results =
        RunPoints(WithFidelity(card, fidelity), points_, jobs_, messages_);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].ok()) continue;
      throw BadInput("{} ({}) cannot be timed, so nothing is fitted: {}", points_[i].Where(),
                     points_[i].Describe(), results[i].failure);
    }
    return results;
  }

  const RunConfig& base_;
  const std::vector<CalibrationPoint>& points_;
  const uint64_t jobs_;
  std::ostream& messages_;
  CardFit fit_;
  FitTimes times_;
};

std::string WriteFit(const CalibrateOptions& options, const RunConfig& base,
                     const std::vector<CalibrationPoint>& points, std::ostream& messages) {
  // Before the fit, which takes minutes: a card that cannot be written, or that would take the
  // place of a file that was read.
  OutputFile card(options.fit, "card");
  FitOfCard fit(base, points, options.jobs, messages);
  fit.Run();
  card.stream() << FitToml(fit.fit(), points, fit.times());
  card.Commit();
  if (options.format == CalibrateOptions::Format::kJson)
    return FitJson(fit.fit(), points, fit.times());
  return FitText(fit.fit(), points, fit.times()) + "\nWritten: " + options.fit + "\n";
}

std::vector<PointResult> Simulate(const CalibrateOptions& options, const RunConfig& base,
                                  const std::vector<CalibrationPoint>& points,
                                  std::ostream& messages) {
  std::vector<PointResult> results = RunPoints(base, points, options.jobs, messages);
  if (!options.both || base.card.fidelity != model::Fidelity::kFast) return results;
  const std::vector<PointResult> whole =
      RunPoints(WithFidelity(base, model::Fidelity::kTimed), points, options.jobs, messages);
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].ok() && results[i].ok()) results[i].timed_ps = whole[i].device_ps;
  }
  return results;
}

}  // namespace

std::vector<PointResult> RunPoints(const RunConfig& base,
                                   const std::vector<CalibrationPoint>& points, uint64_t jobs,
                                   std::ostream& messages) {
  if (base.card.fidelity == model::Fidelity::kFast) {
    std::vector<PointResult> results;
    results.reserve(points.size());
    for (const CalibrationPoint& point : points)
      results.push_back(EstimatePoint(PointConfig(base, point)));
    return results;
  }
  std::vector<RunConfig> configs;
  for (const CalibrationPoint& point : points) {
    configs.push_back(PointConfig(base, point));
    try {
      ResolveWorkload(configs.back());
    } catch (const Error& error) {
      throw error.Within(point.Where());
    }
  }
  TrialOptions options;
  options.jobs = jobs;
  TrialProgress progress("calibrate", points.size(), messages);
  std::vector<PointResult> results;
  for (const TrialResult& trial : RunTrials(configs, options, [&](size_t) { progress.Ended(); }))
    results.push_back(PointOf(trial));
  return results;
}

std::string Calibrate(const CalibrateOptions& options, std::ostream& messages, bool* all_ran) {
  const RunConfig base = BaseConfig(options);
  std::vector<CalibrationPoint> points;
  for (const std::string& file : options.files) {
    std::vector<CalibrationPoint> more = ReadCalibration(file);
    std::move(more.begin(), more.end(), std::back_inserter(points));
  }
  points = Select(points, options.family, options.every);
  if (!options.times.empty() && !options.sets.empty())
    throw BadInput("calibrate --times: nothing is simulated, so --set has nothing to change");
  if (!options.fit.empty()) {
    *all_ran = true;
    return WriteFit(options, base, points, messages);
  }
  const std::vector<PointResult> results = options.times.empty()
                                               ? Simulate(options, base, points, messages)
                                               : ReadSavedTimes(options.times, points);
  *all_ran = AllFit(results, [](const auto& r) { return r.ok(); });
  switch (options.format) {
    case CalibrateOptions::Format::kJson:
      return CalibrationJson(points, results);
    case CalibrateOptions::Format::kMarkdown:
      return CalibrationMarkdown(points, results);
    case CalibrateOptions::Format::kWorst:
      return WorstMarkdown(points, results, options.worst);
    case CalibrateOptions::Format::kSvg:
      return ScatterSvg(points, results);
    case CalibrateOptions::Format::kText:
      break;
  }
  return CalibrationText(points, results);
}

}  // namespace spyre::cosim
