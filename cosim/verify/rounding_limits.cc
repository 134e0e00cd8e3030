// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/rounding_limits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cosim/verify/error_meter.h"

namespace spyre::cosim {
namespace {

// In a normal distribution no element of any tensor lies beyond 8 times its root mean square; twice
// that is for roundings at more places than the evaluation has.
constexpr double kSpreads = 16;
constexpr double kOwnDifferences = 4;
constexpr double kLeastSpread = 1.0 / (1 << 12);          // a quarter of a rounding to SEN169_FP16
constexpr double kLeastSpreadOfSingle = 1.0 / (1 << 26);  // a quarter of one to float32
constexpr double kSmallestStep = 1.0 / (1 << 24);         // of float16 on the host

double RootMean(double sum, int64_t count) {
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

RoundingLimits::RoundingLimits(const DoubleTensor& ideal, const DoubleTensor& rounded,
                               DataFormat format)
    : ideal_(ideal),
      rounded_(rounded),
      single_(format == DataFormat::kIeeeFp32),
      whole_(format == DataFormat::kIeeeInt32) {
  double sum = 0;
  int64_t count = 0;
  for (const double value : ideal) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    ++count;
  }
  magnitude_ = RootMean(sum, count);
  sum = 0;
  count = 0;
  for (size_t i = 0; i < ideal.size(); ++i) {
    if (!std::isfinite(ideal[i]) || !std::isfinite(rounded[i]) || Scale(i) == 0) continue;
    const double relative = (rounded[i] - ideal[i]) / Scale(i);
    sum += relative * relative;
    ++count;
  }
  // Integers that follow from nothing rounded are exact.
  const double least = whole_ ? 0 : single_ ? kLeastSpreadOfSingle : kLeastSpread;
  spread_ = std::max(least, RootMean(sum, count));
}

double RoundingLimits::Scale(size_t element) const {
  return std::hypot(ideal_[element], magnitude_);
}

double RoundingLimits::Of(size_t element) const {
  const double own = std::fabs(rounded_[element] - ideal_[element]);
  return kSpreads * spread_ * Scale(element) + (std::isfinite(own) ? kOwnDifferences * own : 0) +
         (whole_    ? 0
          : single_ ? std::numeric_limits<float>::min()
                    : kSmallestStep);
}

void MeasureRounded(const WorkloadTensor& tensor, const HostData& got,
                    const std::vector<int64_t>& elements, const DoubleTensor& ideal,
                    const DoubleTensor& rounded, Verification& result,
                    const OtherDecisions* others) {
  const RoundingLimits limits(ideal, rounded, tensor.host_format);
  std::optional<RoundingLimits> other_limits;
  if (others != nullptr) other_limits.emplace(others->ideal, others->rounded, tensor.host_format);
  ErrorMeter meter;
  for (size_t i = 0; i < ideal.size(); ++i) {
    const int64_t at = elements.empty() ? static_cast<int64_t>(i) : elements[i];
    double limit = result.tolerance > 0 ? ErrorMeter::kNoLimit : limits.Of(i);
    const double value =
        HostValue(tensor.host_format, HostBits(tensor.host_format, got.data(), at));
    double expected = ideal[i];
    if (others != nullptr && std::isfinite(ideal[i]) &&
        (others->low[i] < ideal[i] - limit || others->high[i] > ideal[i] + limit)) {
      ++result.undecided;
      limit = std::max(limit, other_limits->Of(i));
      if (std::isfinite(value))
        expected = others->several[i] ? value : std::clamp(value, others->low[i], others->high[i]);
    }
    meter.Add(value, expected, limit, at);
  }
  meter.AddTo(result, tensor.name);
}

}  // namespace spyre::cosim
