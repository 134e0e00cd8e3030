// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "cosim/calibrate/calibrate_report.h"
#include "cosim/host/child_process.h"
#include "cosim/session/session.h"
#include "cosim/workload/resolve.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

uint64_t KernelPs(const RunResult& result) {
  uint64_t ps = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (result.IsKernel(operation)) ps += operation.finished_ps - operation.started_ps;
  }
  return ps;
}

PointResult RunPoint(const RunConfig& config, const std::string& directory) {
  PointResult result;
  try {
    result.device_ps = KernelPs(RunSession(config, directory));
    if (result.device_ps == 0) result.failure = "the kernel took no time";
  } catch (const std::bad_alloc&) {
    result.failure = "not enough host memory";
  } catch (const std::exception& error) {
    result.failure = error.what();
    if (result.failure.empty()) result.failure = "an error without a message";
  }
  return result;
}

// How a child says it: the time in decimal, a space, and the failure.
std::string ToBytes(const PointResult& result) {
  return fmt::format("{} {}", result.device_ps, result.failure);
}

PointResult FromChild(const ChildResult& child) {
  PointResult result;
  if (child.error) {
    result.failure = child.error->what();
    return result;
  }
  const size_t space = child.bytes.find(' ');
  result.device_ps = std::stoull(child.bytes.substr(0, space));
  result.failure = child.bytes.substr(space + 1);
  return result;
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

// "calibrate: 12 of 135 points" on a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(size_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void Update(size_t done) const {
    if (shown_) fmt::print(stderr, "\r\033[Kcalibrate: {} of {} points", done, total_);
  }

 private:
  size_t total_;
  bool shown_;
};

}  // namespace

std::vector<PointResult> RunPoints(const RunConfig& base,
                                   const std::vector<CalibrationPoint>& points, int jobs,
                                   const std::function<void(size_t done)>& progress) {
  std::vector<RunConfig> configs;
  for (const CalibrationPoint& point : points) {
    configs.push_back(PointConfig(base, point));
    try {
      ResolveWorkload(configs.back());
    } catch (const Error& error) {
      throw error.Within(point.Where());
    }
  }
  const size_t most =
      jobs > 0 ? static_cast<size_t>(jobs) : std::max(1u, std::thread::hardware_concurrency());
  const ScratchDirectory scratch("calibrate");
  std::vector<ChildWork> works;
  for (size_t i = 0; i < points.size(); ++i) {
    works.emplace_back([&configs, &scratch, i] {
      return ToBytes(RunPoint(configs[i], fmt::format("{}/{}", scratch.path(), i)));
    });
  }
  std::vector<PointResult> results;
  for (const ChildResult& child : TryInChildren(works, most, progress)) {
    results.push_back(FromChild(child));
  }
  return results;
}

std::string Calibrate(const CalibrateOptions& options, bool* all_ran) {
  const RunConfig base = BaseConfig(options);
  std::vector<CalibrationPoint> points;
  for (const std::string& file : options.files) {
    std::vector<CalibrationPoint> more = ReadCalibration(file);
    std::move(more.begin(), more.end(), std::back_inserter(points));
  }
  points = Select(points, options.family, options.every);
  std::vector<PointResult> results;
  {
    const ProgressLine line(points.size());
    const auto run = [&](const RunConfig& config) {
      return RunPoints(config, points, static_cast<int>(options.jobs),
                       [&](size_t done) { line.Update(done); });
    };
    results = run(base);
    if (base.card.fidelity == model::Fidelity::kFast) {
      RunConfig timed = base;
      timed.card.fidelity = model::Fidelity::kTimed;
      const std::vector<PointResult> whole = run(timed);
      for (size_t i = 0; i < whole.size(); ++i) {
        if (whole[i].ok() && results[i].ok()) results[i].timed_ps = whole[i].device_ps;
      }
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
