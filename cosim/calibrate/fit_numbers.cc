// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/fit_numbers.h"

#include <algorithm>
#include <cmath>

namespace spyre::cosim {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

constexpr double kFarOff = 0.1;          // in logs: from here on the size of an error counts
constexpr double kExpectedError = 0.05;  // of a point, until it is known what the fit leaves
constexpr double kFreedom = 0.5;      // in logs: how far a number may go as easily as a point errs
constexpr double kStep = 0.03;        // in logs, of a difference
constexpr double kLeastNoise = 0.01;  // measurements repeat to about that
constexpr int kMostSteps = 60;
constexpr double kDamping = 1e-3;  // of the first step
constexpr double kEnough = 1e-7;   // of the cost, that a step gains

double LogOf(uint64_t value) { return std::log(static_cast<double>(value)); }

uint64_t ValueOf(double log, const StartingNumber& number) {
  const double most = std::min(static_cast<double>(number.max), 9e18);
  return static_cast<uint64_t>(
      std::llround(std::clamp(std::exp(log), static_cast<double>(number.min), most)));
}

// a x = b for a symmetric positive a, by Cholesky's factors.
Vector Solve(Matrix a, Vector b) {
  const size_t n = b.size();
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], 1e-300));
    for (size_t i = j + 1; i < n; ++i) {
      for (size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

// Of Huber's function, so that the weighted square has its slope.
double Weight(double error) { return std::min(1.0, kFarOff / std::max(std::abs(error), 1e-12)); }

class LogFit {
 public:
  LogFit(const std::vector<StartingNumber>& numbers, const LogErrors& errors)
      : numbers_(numbers), errors_(errors) {
    for (const StartingNumber& number : numbers) start_.push_back(LogOf(number.value));
    at_ = start_;
  }

  // The second time, with what the first has left of the errors.
  NumbersFit Run() {
    Descend();
    prior_ = PriorOf(NoiseAt(at_));
    damping_ = kDamping;
    Descend();
    return {ValuesAt(at_), DeviationsAt(at_)};
  }

 private:
  // The equations of a step: matrix times step is the slope.
  struct Normal {
    Matrix matrix;
    Vector slope;
  };

  static double PriorOf(double noise) { return (noise / kFreedom) * (noise / kFreedom); }

  void Descend() {
    double cost = CostAt(at_);
    for (int step = 0; step < kMostSteps && !numbers_.empty(); ++step) {
      const double before = cost;
      cost = Step(cost);
      if (before - cost <= kEnough * before) break;
    }
  }
  // Returns the cost behind it. A step that does not help is taken again, shorter and more
  // downhill.
  double Step(double cost) {
    constexpr int kMostTries = 24;
    const Normal normal = NormalAt(at_);
    for (int i = 0; i < kMostTries; ++i) {
      Matrix damped = normal.matrix;
      for (size_t j = 0; j < damped.size(); ++j) damped[j][j] *= 1 + damping_;
      const Vector change = Solve(std::move(damped), normal.slope);
      Vector next = at_;
      for (size_t j = 0; j < next.size(); ++j) next[j] = Bounded(at_[j] - change[j], j);
      const double next_cost = CostAt(next);
      if (next_cost < cost) {
        at_ = std::move(next);
        damping_ = std::max(damping_ / 10, 1e-9);
        return next_cost;
      }
      damping_ = std::min(damping_ * 4, 1e9);
    }
    return cost;
  }

  double Bounded(double log, size_t j) const {
    const double low = std::log(std::max(0.5, static_cast<double>(numbers_[j].min)));
    return std::clamp(log, low, LogOf(numbers_[j].max));
  }
  std::vector<uint64_t> ValuesAt(const Vector& at) const {
    std::vector<uint64_t> values;
    for (size_t j = 0; j < at.size(); ++j) values.push_back(ValueOf(at[j], numbers_[j]));
    return values;
  }
  // What whole numbers give, and so a step that changes none gains nothing.
  double CostAt(const Vector& at) const {
    double cost = 0;
    for (const double error : errors_(ValuesAt(at))) {
      const double size = std::abs(error);
      cost += size <= kFarOff ? size * size : kFarOff * (2 * size - kFarOff);
    }
    for (size_t j = 0; j < at.size(); ++j)
      cost += prior_ * (at[j] - start_[j]) * (at[j] - start_[j]);
    return cost;
  }
  Normal NormalAt(const Vector& at) const {
    const std::vector<uint64_t> values = ValuesAt(at);
    const Vector errors = errors_(values);
    const Matrix slopes = Elasticities(numbers_, values, errors_);
    Normal normal = {Matrix(at.size(), Vector(at.size())), Vector(at.size())};
    for (size_t j = 0; j < at.size(); ++j) {
      for (size_t i = 0; i < errors.size(); ++i) {
        const double weighted = Weight(errors[i]) * slopes[j][i];
        normal.slope[j] += weighted * errors[i];
        for (size_t k = 0; k <= j; ++k) normal.matrix[j][k] += weighted * slopes[k][i];
      }
      normal.matrix[j][j] += prior_;
      normal.slope[j] += prior_ * (at[j] - start_[j]);
      for (size_t k = 0; k < j; ++k) normal.matrix[k][j] = normal.matrix[j][k];
    }
    return normal;
  }
  // What is left of the errors, whatever the few that are farthest off.
  double NoiseAt(const Vector& at) const {
    Vector sizes = errors_(ValuesAt(at));
    for (double& size : sizes) size = std::abs(size);
    std::sort(sizes.begin(), sizes.end());
    constexpr double kDeviationOfMedian = 1.4826;  // of errors with a normal distribution
    return std::max(kLeastNoise, kDeviationOfMedian * sizes[sizes.size() / 2]);
  }
  // From the inverse of the matrix, times what is left of the errors.
  Vector DeviationsAt(const Vector& at) const {
    if (at.empty()) return {};
    const Matrix matrix = NormalAt(at).matrix;
    const double noise = NoiseAt(at);
    Vector deviations;
    for (size_t j = 0; j < at.size(); ++j) {
      Vector unit(at.size());
      unit[j] = 1;
      deviations.push_back(noise * std::sqrt(std::max(0.0, Solve(matrix, std::move(unit))[j])));
    }
    return deviations;
  }

  const std::vector<StartingNumber>& numbers_;
  const LogErrors& errors_;
  Vector start_, at_;
  double prior_ = PriorOf(kExpectedError);
  double damping_ = kDamping;
};

}  // namespace

std::vector<std::vector<double>> Elasticities(const std::vector<StartingNumber>& numbers,
                                              const std::vector<uint64_t>& values,
                                              const LogErrors& errors) {
  Matrix slopes;
  for (size_t j = 0; j < numbers.size(); ++j) {
    std::vector<uint64_t> low = values, high = values;
    const double log = LogOf(values[j]);
    high[j] = std::min(numbers[j].max, std::max(values[j] + 1, ValueOf(log + kStep, numbers[j])));
    low[j] = std::max<uint64_t>(
        std::max<uint64_t>(1, numbers[j].min),
        std::min(values[j] - (values[j] > 1 ? 1 : 0), ValueOf(log - kStep, numbers[j])));
    Vector slope = errors(high);
    const Vector at_low = errors(low);
    const double width = LogOf(high[j]) - LogOf(low[j]);
    for (size_t i = 0; i < slope.size(); ++i)
      slope[i] = width > 0 ? (slope[i] - at_low[i]) / width : 0;
    slopes.push_back(std::move(slope));
  }
  return slopes;
}

NumbersFit FitNumbers(const std::vector<StartingNumber>& numbers, const LogErrors& errors) {
  return LogFit(numbers, errors).Run();
}

}  // namespace spyre::cosim
