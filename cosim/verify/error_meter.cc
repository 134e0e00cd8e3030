// SPDX-License-Identifier: Apache-2.0
#include "cosim/verify/error_meter.h"

#include <algorithm>
#include <cmath>

#include "cosim/tensors/reference_numbers.h"

namespace spyre::cosim {
namespace {

constexpr int kSmallestHalfExponent = -24;  // float16's smallest step is 2 to this power

}  // namespace

void ErrorMeter::Add(double result, double ideal, double limit, int64_t element) {
  if (!std::isfinite(ideal)) {
    ++unjudged_;
    return;
  }
  if (!std::isfinite(result)) {
    ++not_finite_;
    if (IsWorse(kNoLimit, element)) Keep({"", element, result, ideal, limit}, kNoLimit);
    return;
  }
  const double error = std::fabs(result - ideal);
  ++elements_;
  if (error > limit) ++beyond_;
  const double badness = error == 0 ? 0 : error / limit;
  if (IsWorse(badness, element)) Keep({"", element, result, ideal, limit}, badness);
  max_error_ = std::max(max_error_, error);
  max_ideal_ = std::max(max_ideal_, std::fabs(ideal));
  const double ulp = std::max(SenUlp(ideal), std::ldexp(1, kSmallestHalfExponent));
  max_ulps_ = std::max(max_ulps_, error / ulp);
}

bool ErrorMeter::IsWorse(double badness, int64_t element) const {
  return !(badness < badness_ || (badness == badness_ && element >= worst_.element));
}

void ErrorMeter::Keep(const Deviation& candidate, double badness) {
  worst_ = candidate;
  badness_ = badness;
}

void ErrorMeter::Merge(const ErrorMeter& other) {
  elements_ += other.elements_;
  not_finite_ += other.not_finite_;
  unjudged_ += other.unjudged_;
  beyond_ += other.beyond_;
  if (other.badness_ >= 0 && IsWorse(other.badness_, other.worst_.element))
    Keep(other.worst_, other.badness_);
  max_error_ = std::max(max_error_, other.max_error_);
  max_ideal_ = std::max(max_ideal_, other.max_ideal_);
  max_ulps_ = std::max(max_ulps_, other.max_ulps_);
}

void ErrorMeter::AddTo(Verification& verification, const std::string& tensor) const {
  verification.error_elements += elements_;
  verification.not_finite += not_finite_;
  verification.unjudged += unjudged_;
  verification.beyond += beyond_;
  const auto badness = [](const Deviation& d) {
    return std::isfinite(d.got) ? std::fabs(d.got - d.expected) / d.limit : kNoLimit;
  };
  if (badness_ >= 0 && (!verification.worst || badness(*verification.worst) < badness_)) {
    verification.worst = worst_;
    verification.worst->tensor = tensor;
  }
  verification.max_abs_error = std::max(verification.max_abs_error, max_error_);
  verification.max_ulp_error = std::max(verification.max_ulp_error, max_ulps_);
  if (max_ideal_ > 0) {
    verification.max_relative_error =
        std::max(verification.max_relative_error, max_error_ / max_ideal_);
  }
}

}  // namespace spyre::cosim
