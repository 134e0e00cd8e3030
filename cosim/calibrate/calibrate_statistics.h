// SPDX-License-Identifier: Apache-2.0
// How far simulated kernel times are from their references, by family of points. Pure functions,
// any thread. An error is (simulated - reference) / reference; a family's RMS is over its points,
// each counting the same. The points that are held out are summed up by themselves as well.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cosim/calibrate/calibrate_points.h"

namespace spyre::cosim {

// What became of a point: a time, or the reason why there is none.
struct PointResult {
  uint64_t device_ps = 0;  // of the kernel, from start to finish on the card
  uint64_t timed_ps =
      0;                // the same on a card of fidelity "timed", if device_ps is of another; or 0
  std::string failure;  // empty: it ran

  bool ok() const { return failure.empty(); }
  double simulated_us() const { return static_cast<double>(device_ps) * 1e-6; }
  double ErrorOf(const CalibrationPoint& point) const {
    return simulated_us() / point.reference_us - 1;
  }
  double timed_us() const { return static_cast<double>(timed_ps) * 1e-6; }
  double ErrorOfFast() const { return simulated_us() / timed_us() - 1; }
};

// Of the points that have both times, fast against timed.
struct FastError {
  size_t points = 0;
  double rms = 0, mean = 0;
  size_t worst = 0;  // index of the point farthest off
};
FastError ErrorOfFast(const std::vector<PointResult>& results);

// The errors of some points.
struct ErrorStatistics {
  size_t points = 0;         // that ran
  double rms = 0, mean = 0;  // 0 if none ran
  // Of the sizes of the errors: what half of them stay below, and what two of three do.
  double median = 0, two_of_three = 0;
};

struct FamilyStatistics {
  std::string name;   // "unary", "matmul-32", "matmul", "total"
  std::string title;  // "pointwise, one input"
  size_t failed = 0;
  ErrorStatistics all;
  ErrorStatistics fitted, held_out;  // the two parts of all (calibrate_points.h)
  std::vector<size_t> worst;         // the three points farthest off, the farthest first
};

// Every family that has points: pointwise, reductions, softmax, matmul by number of cores, all
// matmul, and the total, which is always there. results[i] is what became of points[i].
std::vector<FamilyStatistics> Statistics(const std::vector<CalibrationPoint>& points,
                                         const std::vector<PointResult>& results);

// The points of one family ("matmul": of any number of cores), in order; of these every `every`-th,
// beginning with the first. An empty family: all. Throws Error(kBadInput) if none is left, naming
// the families there are.
std::vector<CalibrationPoint> Select(const std::vector<CalibrationPoint>& points,
                                     const std::string& family, size_t every);

}  // namespace spyre::cosim
