// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/fit_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/calibrate/fit_numbers.h"
#include "cosim/estimate/kernel_estimate.h"
#include "cosim/workload/resolve.h"

namespace spyre::cosim {
namespace {

constexpr const char* kFormulaTable = "card.fast.";
constexpr const char* kSharedTable = "card.core.";
constexpr double kMoves = 0.05;       // elasticity from which on a point depends on a number
constexpr size_t kLeastPoints = 3;    // that must depend on a number
constexpr double kDetermined = 0.15;  // the largest standard deviation of a number's log

bool IsIn(const std::string& key, const char* table) { return key.rfind(table, 0) == 0; }

// The closed form of all points at any numbers of the card. Compiling the points does not depend on
// them, and is done once.
class Formula {
 public:
  Formula(const RunConfig& base, const std::vector<CalibrationPoint>& points) : config_(base) {
    for (const CalibrationPoint& point : points) {
      try {
        kernels_.push_back(ResolveWorkload(PointConfig(base, point))->Work().kernels);
      } catch (const Error& error) {
        throw error.Within(point.Where());
      }
      measured_ns_.push_back(point.reference_us * 1000);
    }
  }

  // Of the configuration that is evaluated; pointers into it.
  std::vector<Field> fields() { return Fields(config_); }

  std::vector<double> Errors() const {
    std::vector<double> errors;
    errors.reserve(kernels_.size());
    for (size_t i = 0; i < kernels_.size(); ++i) {
      double ns = 0;
      for (const KernelLaunches& kernel : kernels_[i])
        ns += static_cast<double>(kernel.launches) * Estimate(kernel, config_.card).ns;
      errors.push_back(std::log(std::max(ns, 1e-3) / measured_ns_[i]));
    }
    return errors;
  }

 private:
  RunConfig config_;
  std::vector<std::vector<KernelLaunches>> kernels_;
  std::vector<double> measured_ns_;
};

struct Candidate {
  Field field;
  StartingNumber number;
  std::vector<size_t> points;
  double deviation = 0;
};

class CardFitter {
 public:
  CardFitter(const RunConfig& base, const std::vector<CalibrationPoint>& points)
      : formula_(base, Fitted(points)) {
    fit_.card = base;
    for (size_t i = 0; i < points.size(); ++i)
      if (!points[i].held_out()) places_.push_back(i);
    fit_.fitted_points = places_.size();
    fit_.held_out_points = points.size() - places_.size();
  }

  CardFit Run(const std::string& hold_shared) {
    FindCandidates(hold_shared);
    DropIndependent();
    while (true) {
      const NumbersFit numbers = Solve();
      // One at a time: what explains the same differences as another may stay without it.
      const auto worst = std::max_element(numbers.deviations.begin(), numbers.deviations.end());
      if (worst == numbers.deviations.end() || *worst <= kDetermined) {
        Take(numbers);
        StableSort(fit_.held, [](const HeldKey& a, const HeldKey& b) { return a.key < b.key; });
        return std::move(fit_);
      }
      Hold(static_cast<size_t>(worst - numbers.deviations.begin()),
           fmt::format("the points determine it to {:.0f} % only, beside the other numbers",
                       std::expm1(*worst) * 100));
    }
  }

 private:
  static std::vector<CalibrationPoint> Fitted(const std::vector<CalibrationPoint>& points) {
    std::vector<CalibrationPoint> fitted;
    std::copy_if(points.begin(), points.end(), std::back_inserter(fitted),
                 [](const CalibrationPoint& point) { return !point.held_out(); });
    if (fitted.size() < kLeastPoints) {
      throw BadInput(
          "calibrate --fit: {} points to fit to, and at least {} are needed (every third point of "
          "a file is held out, to judge the result)",
          fitted.size(), kLeastPoints);
    }
    return fitted;
  }

  void FindCandidates(const std::string& hold_shared) {
    for (Field& field : formula_.fields()) {
      const bool shared = IsIn(field.key, kSharedTable);
      if (!(shared || IsIn(field.key, kFormulaTable)) || field.source != "fit") continue;
      const auto* const number = std::get_if<uint64_t*>(&field.value);
      if (number == nullptr) continue;
      const StartingNumber start = {**number, std::max<uint64_t>(1, field.min), field.max};
      candidates_.push_back({std::move(field), start, {}});
      if (start.value == 0) {
        Hold(candidates_.size() - 1, "it is 0, and the fit changes numbers by ratios");
      } else if (shared && !hold_shared.empty()) {
        Hold(candidates_.size() - 1, hold_shared);
      }
    }
  }

  void Hold(size_t i, std::string reason) {
    const Candidate& held = candidates_[i];
    *std::get<uint64_t*>(held.field.value) = held.number.value;
    fit_.held.push_back({held.field.key, held.number.value, std::move(reason)});
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void DropIndependent() {
    const std::vector<StartingNumber> numbers = Numbers();
    std::vector<uint64_t> values;
    values.reserve(numbers.size());
    for (const StartingNumber& number : numbers) values.push_back(number.value);
    const auto slopes = Elasticities(numbers, values, ErrorsOf());
    for (size_t j = candidates_.size(); j-- > 0;) {
      std::vector<size_t>& points = candidates_[j].points;
      for (size_t i = 0; i < slopes[j].size(); ++i)
        if (std::abs(slopes[j][i]) >= kMoves) points.push_back(places_[i]);
      if (points.size() >= kLeastPoints) continue;
      Hold(j, points.empty()
                  ? "no point's time depends on it in the closed form"
                  : fmt::format("only {} of the points depend{} on it, and {} are needed",
                                points.size(), points.size() == 1 ? "s" : "", kLeastPoints));
    }
  }

  std::vector<StartingNumber> Numbers() const {
    std::vector<StartingNumber> numbers;
    for (const Candidate& candidate : candidates_) numbers.push_back(candidate.number);
    return numbers;
  }
  LogErrors ErrorsOf() {
    return [this](const std::vector<uint64_t>& values) {
      for (size_t j = 0; j < values.size(); ++j)
        *std::get<uint64_t*>(candidates_[j].field.value) = values[j];
      return formula_.Errors();
    };
  }
  NumbersFit Solve() { return FitNumbers(Numbers(), ErrorsOf()); }

  void Take(const NumbersFit& numbers) {
    std::vector<Field> fields = Fields(fit_.card);
    for (size_t j = 0; j < candidates_.size(); ++j) {
      Candidate& from = candidates_[j];
      const auto field =
          FindIf(fields, [&](const Field& one) { return one.key == from.field.key; });
      *std::get<uint64_t*>(field->value) = numbers.values[j];
      fit_.fitted.push_back({from.field.key, std::string(from.field.unit), from.number.value,
                             numbers.values[j], numbers.deviations[j], std::move(from.points)});
    }
  }

  std::vector<size_t> places_;  // of the points that are fitted to
  Formula formula_;
  std::vector<Candidate> candidates_;
  CardFit fit_;
};

}  // namespace

bool CardFit::ChangesTimed() const {
  return AnyFits(fitted, [](const FittedKey& key) {
    return !IsIn(key.key, kFormulaTable) && key.after != key.before;
  });
}

CardFit FitCard(const RunConfig& base, const std::vector<CalibrationPoint>& points,
                const std::string& hold_shared) {
  return CardFitter(base, points).Run(hold_shared);
}

}  // namespace spyre::cosim
