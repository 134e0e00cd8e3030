// SPDX-License-Identifier: Apache-2.0
// The errors of one tensor's results against float64. Not thread safe: threads have a meter each,
// and merge them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "cosim/verify/verification.h"

namespace spyre::cosim {

class ErrorMeter {
 public:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  // limit: the largest error that rounding explains. An element whose ideal is not finite is only
  // counted; one whose result alone is not finite is an error of its own.
  void Add(double result, double ideal, double limit = kNoLimit, int64_t element = 0);
  void Merge(const ErrorMeter& other);
  // Once for each tensor, when all its elements are in: the relative error is by the largest
  // magnitude of the tensor's ideals.
  void AddTo(Verification& verification, const std::string& tensor = "out") const;

 private:
  // Than what is kept; the earlier element of equals is, so that threads do not matter.
  bool IsWorse(double badness, int64_t element) const;
  void Keep(const Deviation& candidate, double badness);

  int64_t elements_ = 0, not_finite_ = 0, unjudged_ = 0, beyond_ = 0;
  double max_error_ = 0;
  double max_ideal_ = 0;
  double max_ulps_ = 0;
  Deviation worst_;
  double badness_ = -1;  // of worst_: error / limit; below 0: there is none
};

}  // namespace spyre::cosim
