// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/range_steps.h"

#include <cmath>

#include "base/error.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kMost = 1'000'000;

std::vector<uint64_t> InSteps(const RangeSteps& steps) {
  if ((steps.to - steps.from) / steps.step >= kMost) {
    throw BadInput("a range from {} to {} in steps of {} has more than {} values", steps.from,
                   steps.to, steps.step, kMost);
  }
  std::vector<uint64_t> numbers = {steps.from};
  while (steps.to - numbers.back() >= steps.step) numbers.push_back(numbers.back() + steps.step);
  return numbers;
}

}  // namespace

std::vector<uint64_t> NumbersOf(const RangeSteps& steps) {
  if (steps.step > 0) return InSteps(steps);
  std::vector<uint64_t> numbers;
  const auto add = [&](double number) {
    const auto whole = static_cast<uint64_t>(std::llround(number));
    if (whole <= steps.to && (numbers.empty() || numbers.back() != whole)) numbers.push_back(whole);
  };
  const auto from = static_cast<double>(steps.from), to = static_cast<double>(steps.to);
  if (steps.factor > 0) {
    for (int i = 0;; ++i) {  // by the exponent, so that roundings do not add up
      const double number = from * std::pow(steps.factor, i);
      if (number > to * (1 + 1e-9)) return numbers;
      add(number);
    }
  }
  if (steps.count > kMost)
    throw BadInput("a range of {} values has more than {}", steps.count, kMost);
  for (uint64_t i = 0; i < steps.count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(steps.count - 1);
    add(steps.logarithmic ? from * std::pow(to / from, share) : from + (to - from) * share);
  }
  return numbers;
}

}  // namespace spyre::cosim
