// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/calibrate_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "base/ranges.h"

namespace spyre::cosim {
namespace {

constexpr size_t kWorst = 3;
constexpr const char* kMatmul = "matmul";

struct Family {
  std::string name;
  std::string title;
};

bool IsMatmul(const CalibrationPoint& point) {
  return point.operation != nullptr && point.operation->kind == compiler::OperationKind::kMatmul;
}

bool IsMember(const CalibrationPoint& point, const std::string& family) {
  return point.Family() == family || (family == kMatmul && IsMatmul(point));
}

// In the order of the tables, those that have points.
std::vector<Family> FamiliesOf(const std::vector<CalibrationPoint>& points) {
  std::vector<Family> families = {{"unary", "pointwise, one input"},
                                  {"binary", "pointwise, two inputs"},
                                  {"constant", "pointwise, a constant"},
                                  {"broadcast", "pointwise, a row for all rows"},
                                  {"transpose", "transpose"},
                                  {"reduction", "row reductions"},
                                  {"softmax", "softmax"}};
  std::set<uint64_t> cores;
  for (const CalibrationPoint& point : points)
    if (point.Family() == fmt::format("matmul-{}", point.cores)) cores.insert(point.cores);
  for (const uint64_t count : cores) {
    families.push_back({fmt::format("matmul-{}", count),
                        fmt::format("matmul, {} core{}", count, count == 1 ? "" : "s")});
  }
  families.push_back({"matmul-k", "matmul, k divided"});
  families.push_back({"matmul-compiler", "matmul, divided by the compiler"});
  families.push_back({kMatmul, "matmul, all"});
  const auto is_empty = [&](const Family& family) {
    return NoneFits(points,
                    [&](const CalibrationPoint& point) { return IsMember(point, family.name); });
  };
  families.erase(std::remove_if(families.begin(), families.end(), is_empty), families.end());
  return families;
}

// Gathers errors one by one.
class ErrorSum {
 public:
  void Add(double error) {
    ++points_;
    sum_ += error;
    squares_ += error * error;
    sizes_.push_back(std::abs(error));
  }
  ErrorStatistics statistics() const {
    if (points_ == 0) return {};
    const auto count = static_cast<double>(points_);
    std::vector<double> sizes = sizes_;
    std::sort(sizes.begin(), sizes.end());
    return {points_, std::sqrt(squares_ / count), sum_ / count, sizes[sizes.size() / 2],
            sizes[(2 * sizes.size() + 2) / 3 - 1]};
  }

 private:
  size_t points_ = 0;
  double sum_ = 0, squares_ = 0;
  std::vector<double> sizes_;
};

template <class Predicate>
FamilyStatistics Summarise(const Family& family, const std::vector<CalibrationPoint>& points,
                           const std::vector<PointResult>& results, Predicate is_member) {
  FamilyStatistics statistics;
  statistics.name = family.name;
  statistics.title = family.title;
  ErrorSum all, fitted, held_out;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!is_member(points[i])) continue;
    if (!results[i].ok()) {
      ++statistics.failed;
      continue;
    }
    const double error = results[i].ErrorOf(points[i]);
    all.Add(error);
    (points[i].held_out() ? held_out : fitted).Add(error);
    statistics.worst.push_back(i);
  }
  statistics.all = all.statistics();
  statistics.fitted = fitted.statistics();
  statistics.held_out = held_out.statistics();
  const auto size = [&](size_t i) { return std::abs(results[i].ErrorOf(points[i])); };
  StableSort(statistics.worst, [&](size_t a, size_t b) { return size(a) > size(b); });
  statistics.worst.resize(std::min(statistics.worst.size(), kWorst));
  return statistics;
}

}  // namespace

std::vector<FamilyStatistics> Statistics(const std::vector<CalibrationPoint>& points,
                                         const std::vector<PointResult>& results) {
  std::vector<FamilyStatistics> all;
  for (const Family& family : FamiliesOf(points)) {
    all.push_back(Summarise(family, points, results, [&](const CalibrationPoint& point) {
      return IsMember(point, family.name);
    }));
  }
  all.push_back(Summarise({"total", "total"}, points, results, [](const auto&) { return true; }));
  return all;
}

std::vector<CalibrationPoint> Select(const std::vector<CalibrationPoint>& points,
                                     const std::string& family, size_t every) {
  std::vector<CalibrationPoint> selected;
  size_t members = 0;
  for (const CalibrationPoint& point : points) {
    if (!family.empty() && !IsMember(point, family)) continue;
    if (members++ % every == 0) selected.push_back(point);
  }
  if (!selected.empty()) return selected;
  std::vector<std::string> known;
  for (const Family& f : FamiliesOf(points)) known.push_back(f.name);
  throw BadInput("--family {}: no point is of this family (there are: {}){}", family,
                 Joined(known, ", "), DidYouMean(family, known));
}

FastError ErrorOfFast(const std::vector<PointResult>& results) {
  FastError error;
  double squares = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].timed_ps == 0) continue;
    const double of_point = results[i].ErrorOfFast();
    if (error.points == 0 || std::fabs(of_point) > std::fabs(results[error.worst].ErrorOfFast()))
      error.worst = i;
    ++error.points;
    error.mean += of_point;
    squares += of_point * of_point;
  }
  if (error.points == 0) return error;
  error.mean /= static_cast<double>(error.points);
  error.rms = std::sqrt(squares / static_cast<double>(error.points));
  return error;
}

}  // namespace spyre::cosim
