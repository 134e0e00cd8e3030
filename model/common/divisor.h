// SPDX-License-Identifier: Apache-2.0
// Division by a number that stays the same, such as a clock's rate or an interleave: a
// multiplication in place of the divide instruction, which would be most of what pricing a burst
// costs. Exact for every dividend. Any thread, constant after construction.
#pragma once

#include <cstdint>

namespace spyre::model {

class Divisor {
 public:
  struct Result {
    uint64_t quotient;
    uint64_t rest;
  };

  explicit constexpr Divisor(uint64_t divisor)  // not 0
      : divisor_(divisor),
        // The analyser loses sight of what a clock has divided by its gcd.
        // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
        reciprocal_(UINT64_MAX / divisor) {}

  constexpr uint64_t value() const { return divisor_; }
  constexpr Result Divide(uint64_t dividend) const {
    // The reciprocal is less than 1 below 2^64 / divisor, or equal to that, so the estimate is
    // right or one too small.
    const auto estimate = static_cast<uint64_t>(static_cast<Wide>(dividend) * reciprocal_ >> 64);
    const uint64_t rest = dividend - estimate * divisor_;
    const bool short_by_one = rest >= divisor_;
    return {estimate + (short_by_one ? 1 : 0), short_by_one ? rest - divisor_ : rest};
  }
  constexpr uint64_t Quotient(uint64_t dividend) const { return Divide(dividend).quotient; }
  constexpr uint64_t RoundedUp(uint64_t dividend) const {
    return Quotient(dividend + divisor_ - 1);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  uint64_t divisor_;
  uint64_t reciprocal_;
};

}  // namespace spyre::model
