// SPDX-License-Identifier: Apache-2.0
// Numbers of the oracles of random lists: a value, and a bound for what rounding may add up to.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace spyre::fuzz {

// A value, and how far from it the card's may be. An infinite bound: nothing is known.
struct Bounded {
  double value = 0;
  double error = 0;

  bool known() const { return std::isfinite(value) && std::isfinite(error); }
};

// One rounding to 9 bits of mantissa is 2^-10; operations that take several instructions round
// more.
inline Bounded Rounded(double value, double error) {
  constexpr double kRoundings = 4.0 / 1024;
  constexpr double kSmallest = 1.0 / (1 << 14);  // near and below the least number of float16
  constexpr double kLargest = 3e4;               // float16 ends at 65,504
  Bounded result{value, error + kRoundings * (std::fabs(value) + error) + kSmallest};
  if (!result.known() || std::fabs(value) + result.error > kLargest)
    result.error = std::numeric_limits<double>::infinity();
  return result;
}

struct OracleTensor {
  std::vector<std::string> dims;
  std::vector<Bounded> data;  // C order of dims
  bool whole = false;         // integers
};

}  // namespace spyre::fuzz
