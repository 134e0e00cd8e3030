// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "cosim/calibrate/calibrate_report.h"
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
  std::vector<PointResult> results = RunPoints(base, points, options.jobs, messages);
  if (options.both && base.card.fidelity == model::Fidelity::kFast) {
    RunConfig timed = base;
    timed.card.fidelity = model::Fidelity::kTimed;
    const std::vector<PointResult> whole = RunPoints(timed, points, options.jobs, messages);
    for (size_t i = 0; i < whole.size(); ++i) {
      if (whole[i].ok() && results[i].ok()) results[i].timed_ps = whole[i].device_ps;
    }
  }
  *all_ran = std::all_of(results.begin(), results.end(), [](const auto& r) { return r.ok(); });
  switch (options.format) {
    case CalibrateOptions::Format::kJson:
      return CalibrationJson(points, results);
    case CalibrateOptions::Format::kMarkdown:
      return CalibrationMarkdown(points, results);
    case CalibrateOptions::Format::kText:
      break;
  }
  return CalibrationText(points, results);
}

}  // namespace spyre::cosim
